"""The view of retrieval: the answer says what a pipeline won or lost, and every number is the one of its JSON."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from tests.extras import need

from trueval.evaluation.evaluation_result import MeasureMeans
from trueval.report.number_texts import FRACTIONS
from trueval.report.result_directory import Directory, ResultFile
from trueval.report.view_texts import write
from trueval.retrieval.pipeline.retrieve_result import (
    JudgedStages,
    PipelineRun,
    PipelineStage,
    Retrieval,
    RunRecord,
    SearchedCollection,
    StageGain,
)
from trueval.retrieval.views.kind import RETRIEVE
from trueval.retrieval.views.stages import view

COLUMNS = "name,queries,given,documents,tied_fraction,seconds,made_seconds,cached"


def mean(value: float, low: float = 0.01, high: float = 0.02) -> MeasureMeans:
    return MeasureMeans(value, value - low, value + high, low + high, value, 0.0, 0.001, 12)


def stage(name: str, given: int | None, documents: int, tied: float, relevant: tuple[int, int], value: float) -> Any:
    return PipelineStage(
        name=name,
        seconds=0.5,
        made_seconds=75.25,
        cached=name == "sparse",
        queries=12,
        given=given,
        documents=documents,
        tied_fraction=tied,
        notes=(f"a remark of {name}",),
        index=None,
        relevant=relevant[1],
        relevant_given=relevant[0],
        measures={"R": mean(relevant[1] / 40), "nDCG@10": mean(value)},
    )


def gain(name: str, difference: float, *, separated: bool, p: float = 0.0004, ties: float = 0.01) -> StageGain:
    verdict = "separated" if separated else "not separated by these queries"
    ends = (difference - ties, difference + ties, difference - 0.02, difference + 0.02)
    return StageGain(name, "dense", "nDCG@10", difference, *ends, p, separated, verdict)


def result(*, low: bool = True, gains: tuple[StageGain, ...] = (gain("fuse", -0.057, separated=True),)) -> Retrieval:
    judged = JudgedStages(1, 40, ("a remark on judgments",), gains)
    high = (
        stage("dense", None, 1200, 0.001, (40, 30), 0.5),
        stage("sparse", None, 1000, 0.0, (40, 20), 0.4),
        stage("fuse", 1900, 1200, 0.25, (35, 32), 0.55),
    )
    lower = (*high[:2], stage("fuse", 1900, 1200, 0.5, (35, 31), 0.54))
    run = RunRecord(12, "0" * 64)
    return Retrieval(
        name="mine",
        collection=SearchedCollection("wings", "wings", 2000, 12, {}),
        settings={"fuse": {"method": "rrf", "weights": None}, "deduplicate": {"duplicates": True}},
        stages=high,
        judged=judged,
        run=run,
        low=PipelineRun(stages=lower, judged=judged, run=run) if low else None,
    )


def shown(found: Retrieval, form: str) -> str:
    return str(RETRIEVE.write(found.to_dict(), form))


def answered(found: Retrieval) -> tuple[str, str, str]:
    answer = view(found).answer
    return write(answer.sentence, FRACTIONS), write(answer.change, FRACTIONS), answer.next


def of(*gains: StageGain) -> tuple[str, str, str]:
    return answered(result(gains=gains))


def test_the_answer_says_what_fusion_and_reranking_won_or_lost() -> None:
    lost = gain("fuse", -0.057, separated=True)
    assert of(lost) == (
        "dense is best: fusion lost 0.0570 of nDCG@10 to it, separated, p 0.0004.",
        "Use dense alone, or weigh the lists ([fuse] weights).",
        "trueval retrieve COLLECTION --pipeline FILE --out DIR",
    )
    won = "Fusion is best: it gained 0.0570 of nDCG@10 over dense, the best single list, separated, p 0.0004"
    up = gain("fuse", 0.057, separated=True)
    assert of(up)[0] == f"{won}."
    assert of(up, gain("rerank", 0.02, separated=True))[0] == f"{won}; reranking, at the end, gained only 0.0200."
    assert of(up, gain("rerank", -0.02, separated=False))[0] == f"{won}; reranking, at the end, lost 0.0200."
    assert of(lost, gain("rerank", -0.01, separated=True))[0].startswith("dense is best: reranking lost 0.0100")
    assert of(gain("fuse", 0.004, separated=False, p=0.3)) == (
        "Fusion against dense, the best single list: +0.0040 nDCG@10, not separated by these queries, p 0.3.",
        "More judged queries may decide it; trueval power says how many, of two runs.",
        "trueval evaluate QRELS RUN",
    )
    same = "Deduplication changes nothing: nDCG@10 is that of dense, the best single list."
    assert of(gain("deduplicate", 0.0, separated=False, p=1.0)) == (same, "", "trueval evaluate QRELS RUN")


def test_the_answer_says_how_sure_it_is() -> None:
    sure = write(view(result()).answer.sure, FRACTIONS)
    assert sure == (
        "Over queries the difference lies in [-0.0770, -0.0370]. Equal scores can make it -0.0670 to -0.0470."
    )
    nan = float("nan")
    alone = replace(gain("fuse", 0.1, separated=False, p=nan, ties=0.0), low=nan, high=nan)
    found = result(gains=(alone,))
    assert write(view(found).answer.sure, FRACTIONS) == "No tie affects it."
    assert answered(found)[0].endswith("not separated by these queries.")


def test_one_list_and_no_judgments() -> None:
    found = result(low=False, gains=())
    assert answered(replace(found, stages=found.stages[:1]))[0] == "There is one list, dense: nDCG@10 is 0.5000."
    stages = tuple(replace(each, measures=None, relevant=None, relevant_given=None) for each in found.stages)
    plain = replace(found, stages=stages, judged=None)
    assert answered(plain)[0] == (
        "mine found 1,200 candidates for 12 queries of wings; without judgments it is not known which list is best."
    )
    assert "nDCG" not in repr(plain)
    assert [figure.id for figure in [view(plain).lead, *view(plain).sections[0].figures] if figure] == [
        "stages-candidates"
    ]
    assert shown(plain, "csv").splitlines()[0] == COLUMNS


def test_the_format_that_a_model_ran_in_is_said() -> None:
    found = result(low=False)
    models = {
        "embed": {"model": "mine", "dtype": "bfloat16"},
        "rerank": {"model": "cohere:m", "price_per_million_tokens": 1},
    }
    found = replace(found, settings={**found.settings, **models})
    told = " ".join(repr(found).split())
    assert "mine ran in bfloat16; to run it in another format, set dtype in [embed]." in told
    assert "cohere:m ran" not in told
    assert "mine ran in bfloat16" in shown(found, "markdown")


def test_the_table_shows_stages_their_worth_and_what_low_precision_does() -> None:
    text = " ".join(repr(result()).split())
    assert "fuse 12 1,200 700 0.2500 32 0.5500 0.5400 0.5700 0.5 75.2 What each stage" in text
    assert "fuse 12 1,200 700 0.5000 31 0.5400" in text
    assert "sparse 12 1,000 0.0000 20 0.4000 0.3900 0.4200 0.5 75.2 kept" in text
    assert "50.00% of the candidates tie in the end, in float32 25.00%." in text
    assert "differ most at fuse: 50.00% and 25.00%, +25.0 points" in text
    assert "0.5400 [0.5300, 0.5600] in the dtype of the models and 0.5500 [0.5400, 0.5700] in float32" in text
    assert "a remark of fuse" in text
    assert "a remark on judgments" in text


def test_csv_holds_both_runs_in_full_precision() -> None:
    lines = shown(result(), "csv").splitlines()
    assert lines[0] == f"scoring,{COLUMNS},relevant_given,relevant,R,nDCG@10,lowest,highest"
    assert len(lines) == 7
    assert lines[3].startswith("float32,fuse,12,1900,1200,0.25,0.5,75.25")
    row = next(csv.DictReader(io.StringIO(shown(result(), "csv"))))
    assert (row["R"], row["nDCG@10"], row["lowest"]) == ("0.75", "0.5", "0.49")
    for form in ("markdown", "latex"):
        assert shown(result(), form).count("fuse") >= 2


def test_the_json_is_read_as_it_was_written() -> None:
    for found in (result(), result(low=False, gains=()), replace(result(low=False), judged=None)):
        assert Retrieval.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert list(result().to_dict())[3:] == ["name", "collection", "settings", "stages", "judged", "run", "low"]


def test_every_number_of_the_page_is_where_it_says(tmp_path: Path) -> None:
    need("altair", extra="report")
    data = json.loads(json.dumps(result().to_dict()))
    file = ResultFile("retrieval.json", "retrieve", data)
    assert RETRIEVE.page is not None
    part = RETRIEVE.page(file, Directory(tmp_path, (file,)))
    gains, stages = part.blocks
    tables = [*gains.tables, *stages.tables]
    assert [table.id for table in tables] == ["gains", "stages", "stages-low"]
    checked = 0
    for table in tables:
        for row in table.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                if column.field:
                    entry: Any = data
                    for key in unquote(row.source + column.field).split("/")[1:]:
                        entry = entry[int(key)] if isinstance(entry, list) else entry[key]
                    assert entry == cell.value
                    checked += 1
    assert checked >= 8 + 6 * 10
    titles = [column.title for column in stages.tables[0].columns]
    assert [row.cells[titles.index("lost")].value for row in stages.tables[0].rows] == [None, None, 700]
    assert [row.cells[titles.index("relevant lost")].value for row in stages.tables[0].rows] == [10, 20, 3]
    assert [figure.id for figure in [*part.lead, *stages.figures]] == [
        "stages-values",
        "stages-candidates",
        "stages-relevant",
    ]
    assert "+25.0 points" in str(part.said)


def test_columns_hold_what_becomes_of_the_candidates() -> None:
    pytest.importorskip("altair", reason='needs the extra "report"')
    candidates, relevant = view(result()).sections[1].figures
    rows = candidates.draw(400).to_dict()["data"]["values"]
    counts = {(row["stage"], row["part"]): row["count"] for row in rows}
    assert counts["fuse", "kept, alone"] == 900
    assert counts["fuse", "kept, tied"] == 300
    assert counts["fuse", "lost"] == 700
    assert counts["dense", "lost"] == 0
    found = {(row["stage"], row["part"]): row["count"] for row in relevant.draw(400).to_dict()["data"]["values"]}
    assert (found["dense", "lost"], found["fuse", "lost"], found["fuse", "kept"]) == (10, 3, 32)
    assert "fuse 300 of 1,200" in candidates.description
