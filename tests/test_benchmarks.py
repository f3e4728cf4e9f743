"""Every script of benchmarks/ still runs: nobody calls them for months, and what they import changes meanwhile."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# The smallest that each takes, and words of what it prints.
SMALL = {
    "command_memory.py --queries 20 40": "| `explain` |",
    "compare.py --runs 3 --queries 20 --resamples 100": "the results are identical",
    "corrected.py --draws 2": "'weight': 'untuned'",
    "evaluator.py --queries 5 --only ready": "ready            ranx",
    "exhaustive.py --documents 2000 --queries 20 --rounds 1": "exhaustive, near",
    "fusion.py --corpus 3000 --queries 5": "loop over dictionaries",
    "growth.py --queries 220": "time grows with the lines to the power",
    "growth.py --work --sizes 1": "| one tie (documents) | 250,000 |",
    "hostile_ties.py --only AP --lists judged --sizes 50 100": "0 over 5 s or 1024 MiB",
    "hps.py --batches 1 --lengths 32 --pairs 1000": "1000 pairs scored in float32",
    "hps_gpu.py --batches 1 --lengths 128": "torch",
    "judge_bounds.py --runs 3 --queries 10 --documents 20": "nDCG@10: 2 pairs in ",
    "judged.py --answers 5 --at-once 2 --seconds 0.05": "| 2 | 15 | 0 | 40 | ",
    "large_corpus.py --passages 2000": "| bm25 | 2,000 |",
    "live.py --calls 20 --rounds 1 --at-once 2": "| 2 | ",
    "many_runs.py --runs 4 --queries 10": "| leaderboard --out |",
    "names_of_titles.py {titles} {table}": "1 of 2 titles: Jakob Böhme\n",
    "old_releases.py --help": "--documents DOCUMENTS",  # pip installs old releases, models run for minutes
    "probe_names.py --group bm25 --queries 5 --runs 2": "| author_position_shift |",
    "routing.py --help": "--cache CACHE",  # one collection takes an hour
    "scale.py --documents 100000 --queries 5 --only standings --rounds 1 --on processes": "| standings | processes |",
    "small_calls.py --calls 5": "pytrec_eval, from arrays",
    "tie_cost.py --most 30": "30 documents, ",
    "traces.py --spans 20 --rounds 1": "| gen_ai documents | ",
}


def test_each_script_is_among_them() -> None:
    assert {call.split()[0] for call in SMALL} == {each.name for each in (ROOT / "benchmarks").glob("*.py")}


@pytest.mark.evidence
@pytest.mark.parametrize("call", SMALL)
def test_it_runs(call: str, tmp_path: Path) -> None:
    titles, table = tmp_path / "corpus.jsonl", tmp_path / "names.csv"
    titles.write_text('{"title": "Jakob Böhme"}\n{"title": "Bataille de Savenay"}\n', encoding="utf-8")
    script, *words = (word.format(titles=titles, table=table) for word in call.split())
    line = [sys.executable, f"benchmarks/{script}", *words]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert SMALL[call] in done.stdout or "nothing measured" in done.stdout
    if table.exists():
        assert table.read_text(encoding="utf-8") == "author,topic\nJakob Böhme,article 1\n"
