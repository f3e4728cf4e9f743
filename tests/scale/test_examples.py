"""The job files of examples/scale are read by tools of their formats, and call what there is."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "scale"


def test_the_script_for_slurm_is_read_by_a_shell() -> None:
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("bash is not installed")
    script = EXAMPLES / "slurm.sh"
    done = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(
        r'ray symmetric-run --address "\$head" --min-nodes .* \\\n.* -- \\\n {2}trueval sweep', script.read_text()
    )


def test_ray_has_the_command_of_the_script_for_slurm() -> None:
    pytest.importorskip("ray", reason="ray, of the extra scale, is not installed")
    from ray.scripts.scripts import cli

    options = {name for each in cli.commands["symmetric-run"].params for name in each.opts}
    assert {"--address", "--min-nodes"} <= options


def test_the_job_for_kubernetes_holds_a_cluster_and_a_command() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML, which Ray brings, is not installed")
    job: dict[str, Any] = yaml.safe_load((EXAMPLES / "kuberay.yaml").read_text(encoding="utf-8"))
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    assert job["spec"]["entrypoint"].startswith("trueval retrieve ")
    assert job["spec"]["entrypoint"].endswith(" --on ray")
    cluster = job["spec"]["rayClusterSpec"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        (container,) = group["template"]["spec"]["containers"]
        mounted = {each["name"] for each in container["volumeMounts"]}
        assert mounted == {each["name"] for each in group["template"]["spec"]["volumes"]}
        assert "rayStartParams" in group
