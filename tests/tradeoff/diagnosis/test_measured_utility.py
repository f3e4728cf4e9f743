"""UDCG with utilities that brittleness measures: by hand, and against list measures where questions differ in both."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.answers.stream_server import StreamServer, stream_server
from tests.extras import need
from tests.tradeoff.runner.test_sweep_answers import QUESTIONS, run, write_sweep

from trueval.answers.generation.brittle_answers import brittle_answers
from trueval.answers.generation.brittle_result import BrittleAnswers
from trueval.errors import InputError
from trueval.report.formats import to_json
from trueval.tradeoff.diagnosis.measured_utility import NAME, measured_utility, read_brittle
from trueval.tradeoff.frontier.frontier import frontier
from trueval.tradeoff.quality.sweep_loader import read_sweep

need("bm25s", extra="retrieval")
need("openai", extra="judge")
pytestmark = pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")  # notices before calls
MODEL = 'model = "served"\nbase_url = "{url}"\napi_key_env = ""\nmax_tokens = 20'


def write(question: str, passages: tuple[str, ...]) -> str:
    """It cannot read every third box; of each other third one passage too many misleads it."""
    box = int(question.removeprefix("which color has box "))
    held = [f"box {box} is" in text for text in passages]
    misled = box % 3 == 0 or (box % 3 == 1 and len(held) - sum(held) > 1)
    return f"word{box}" if any(held) and not misled else "I cannot answer."


def measure_brittleness(folder: Path, server: StreamServer) -> BrittleAnswers:
    """Of the lists that the sweep of the folder found."""
    (found,) = (folder / "out" / "runs").glob("*.parquet")
    (folder / "answers.toml").write_text(
        f'[corpus]\npath = "."\n[answers]\nrun = "{found}"\nreferences = "references.jsonl"\nmeasure = "exact-match"\n'
        f"[generate]\ncontexts = 3\n{MODEL.format(url=server.url)}\n[brittle]\ndoses = [0, 1, 2]\n"
        'kinds = ["high-scoring"]\nplaces = ["first"]\n'
    )
    return brittle_answers(folder / "answers.toml", folder / "brittle")


def test_utilities_of_each_question_predict_what_lists_alone_do_not(tmp_path: Path) -> None:
    with stream_server(write) as server:
        path = write_sweep(tmp_path, MODEL.format(url=server.url))
        path.write_text(path.read_text().replace('names = ["nDCG@K"]', 'names = ["nDCG@K", "P@K", "R@K"]'))
        run(path)
        brittle = measure_brittleness(tmp_path, server)
    utilities = {each.query: each for each in brittle.generators[0].utilities}
    for box in range(QUESTIONS):
        found = utilities[f"q{box}"]
        assert found.gold == (f"g{box}",)
        assert found.helps == float(box % 3 > 0)
        assert found.harms == pytest.approx(0.5 * (box % 3 == 1))  # 1, 1, 0 at 0, 1, 2: the slope is -1/2
    (tmp_path / "brittle" / "brittle-answers.json").write_text(to_json(brittle.to_dict()))
    assert read_brittle(tmp_path / "brittle") == brittle
    plain, measured = frontier(tmp_path / "out"), frontier(tmp_path / "out", brittle=tmp_path / "brittle")
    assert plain.result.predictions is not None
    assert measured.result.predictions is not None
    assert NAME not in {each.measure for each in plain.result.predictions[0].measures}
    best, *others = measured.result.predictions[0].measures
    assert best.measure == NAME
    assert {each.measure for each in others} == {"nDCG@K", "P@K", "R@K"}
    assert best.explained.value is not None
    assert all(best.explained.value > (each.explained.value or 0.0) + 0.2 for each in others)
    _check_by_hand(tmp_path, brittle)


def _check_by_hand(folder: Path, brittle: BrittleAnswers) -> None:
    """The first question's contexts, read from the logs of the sweep."""
    sweep = read_sweep(folder / "out")
    values = measured_utility(sweep, brittle)
    utilities = {each.query: each for each in brittle.generators[0].utilities}
    for at, each in enumerate(sweep.configurations):
        log = folder / "out" / sweep.systems[each["system"]]["answers"]["file"]
        for line in log.read_text().splitlines():
            row = json.loads(line)
            ids, utility = [passage["id"] for passage in row["contexts"]], utilities[row["query_id"]]
            held = ids.count(utility.gold[0])
            total = (utility.helps * held - utility.harms * (len(ids) - held)) / each["K"]
            assert values[sweep.query_ids.index(row["query_id"]), at] == pytest.approx(1 / (1 + np.exp(-total)))


def test_what_does_not_belong_together_is_refused(tmp_path: Path) -> None:
    def of(measure: str, model: str) -> BrittleAnswers:
        generator = {
            **{key: [] for key in ("points", "slopes", "places", "thresholds", "times", "utilities")},
            "name": model,
            "model": model,
            "usage": {"calls": 0, "invalid": 0, "tokens_in": None, "tokens_out": None, "cost": None, "models": {}},
        }
        about = {"judge": "", "measure": measure, "level": 0.95, "questions": 1, "gold": 1, "doses": [0, 1]}
        head = {"kind": BrittleAnswers.KIND, "format": 1, "trueval": "0"}
        rest = {"generators": [generator], "differences": [], "notes": []}
        return BrittleAnswers.from_dict({**head, **about, **rest})

    run(write_sweep(tmp_path, 'model = "extractive"'))
    for brittle, words in (
        (of("token-F1", "extractive"), "measured by token-F1, and the sweep's quality is exact-match"),
        (of("exact-match", "other"), "measured of 'other', and the sweep asked 'extractive'"),
        (of("exact-match", "extractive"), "holds no utilities"),
    ):
        with pytest.raises(InputError, match=words):
            frontier(tmp_path / "out", brittle=brittle).to_dict()
    with pytest.raises(InputError, match="no result of trueval answers brittle"):
        frontier(tmp_path / "out", brittle=tmp_path / "out" / "sweep.json")
