import csv
import json

import pytest
from tests.report.results import results, value

from trueval.evaluation.views.kind import EVALUATE
from trueval.report.formats import to_json


def written(form: str, held: dict) -> str:
    """What the command prints, which is also what its parts are together."""
    text = EVALUATE.write(held, form)
    assert "".join(EVALUATE.write_parts(held, form)) == text
    return str(text)


RESULTS = results({"a_1 & b|c": {"nDCG@10": value(0.1, 0.2, 0.3, None), "RR": value(0.5, 0.5, 0.5, 0.5)}})


def test_json_is_the_results() -> None:
    assert json.loads(to_json(RESULTS)) == RESULTS


def test_json_refuses_what_is_not_json() -> None:
    with pytest.raises(ValueError, match="JSON"):
        to_json(results({"a": {"RR": value(0.1, float("nan"), 0.3, 0.1)}}))


def test_csv_keeps_full_precision_and_leaves_out_what_is_missing() -> None:
    first, second = csv.DictReader(
        written("csv", results({"a": {"RR": value(0.1, 1 / 3, 0.5, None), "P@1": value(0, 0, 0, 0)}})).splitlines()
    )
    assert float(first["expected"]) == 1 / 3
    assert (first["tie_broken"], first["bias"], first["exact"]) == ("", "", "True")
    assert second["measure"] == "P@1"


def test_names_are_escaped_for_latex_and_markdown() -> None:
    assert r"a\_1 \& b|c & nDCG@10 & 0.2000 & [0.1000, 0.3000] & 0.2000 & -- & -- & 0.0100 &  \\" in written(
        "latex", RESULTS
    )
    assert r"| a_1 & b\|c | nDCG@10 | 0.2000 | [0.1000, 0.3000] | 0.2000 | – | – | 0.0100 |  |" in written(
        "markdown", RESULTS
    )


def test_markdown_lists_the_findings() -> None:
    tied, clear = value(0.2, 0.3, 0.4, 0.3), value(0.35, 0.35, 0.35, 0.35)
    text = written("markdown", results({"a": {"RR": tied}, "b": {"RR": clear}}))
    assert "- \\* not separated, because the order of ties decides which is higher: RR: a and b.\n" in text


def test_trec_prints_queries_before_means_and_na_for_what_is_missing() -> None:
    with_queries = results({"a": {"RR": value(0.5, 0.5, 0.5, None)}})
    row = {"query": "7", "measure": "RR", "expected": 0.5, "lowest": 0.5, "highest": 0.5, "tie_broken": None, "sd": 0.0}
    with_queries["runs"][0]["per_query"] = [row]
    lines = [tuple(field.strip() for field in line.split("\t")) for line in written("trec", with_queries).splitlines()]
    assert lines[:2] == [("runid", "all", "a"), ("recip_rank", "7", "0.5000")]
    assert ("recip_rank.tie_broken", "7", "NA") in lines
    assert lines.index(("recip_rank.sd", "7", "0.0000")) < lines.index(("recip_rank", "all", "0.5000"))


def test_under_a_convention_trec_lines_are_the_tools_own() -> None:
    content = results({"a": {"RR": value(0.2, 0.25, 0.4, 0.3), "RA-nWG@10": value(0.5, 0.5, 0.5, None)}})
    content["policy"] = {"convention": "trec_eval"}
    assert written("trec", content).splitlines() == [
        "recip_rank            \tall\t0.3000",
        "RA-nWG@10             \tall\tNA",
    ]
    content["runs"].append({**content["runs"][0], "name": "b"})
    assert [line.split()[0] for line in written("trec", content).splitlines()] == [
        "runid",
        "recip_rank",
        "RA-nWG@10",
    ] * 2


def test_a_value_below_zero_that_reads_as_zero_is_marked_in_latex() -> None:
    text = written("latex", results({"a": {"RR": value(-1e-6, -1e-6, 0.0, -0.0)}}))
    assert "& $>$-.0001 & [$>$-.0001, 0.0000] & $<$.0001 & 0.0000 &" in text
    assert "-0.0000" not in text
