"""The page of a sweep and its frontier: recommendation, frontier, quality, losses, latency, memory, prices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from trueval.report.page_content import Block, Part, Words
from trueval.report.page_footer import policy_block
from trueval.report.result_directory import Directory, ResultFile
from trueval.tradeoff.views import choices, expense, quality_blocks, verdict
from trueval.tradeoff.views.lists import configuration_table, reason_tables
from trueval.tradeoff.views.paper_block import paper_block
from trueval.tradeoff.views.sweep_points import points_of_sweep

FRONTIER: Final = "frontier"


def build(file: ResultFile, directory: Directory) -> Part:
    """Build the page of one sweep.

    Args:
        file: the sweep.
        directory: may contain its frontier.

    Returns:
        Verdict and advice where no frontier gives them; the frontier, quality over K, headrooms, losses, latency,
        memory, prices, what failed; blocks of what was not measured are left out.
    """
    data = file.data
    alone = not directory.of(FRONTIER)
    points = points_of_sweep(data)
    chart = choices.frontier_block(file, (configuration_table(file, points),), drawn=alone)
    return Part(
        verdict=verdict.sweep_verdict(file, points) if alone else (),
        summary=(*(verdict.sweep_summary(file, points) if alone and points else ()), *_describe_omissions(data)),
        advice=tuple(verdict.headroom_advice(file, points)) if alone else (),
        lead=quality_blocks.lead_figure(file, points),
        findings=tuple((note,) for note in _notes(data)),
        blocks=(
            chart,
            *quality_blocks.contexts_block(file, points),
            *quality_blocks.headroom_block(file, points),
            *quality_blocks.ladder_block(file),
            *expense.latency_block(file, points),
            *expense.memory_block(file),
            *expense.price_block(file, points),
            *paper_block(file),
            *_reasons(file),
        ),
        closing=(policy_block(file), _about(data)),
    )


def _describe_omissions(data: Mapping[str, Any]) -> tuple[Words, ...]:
    found = {"failed": len(data["failed"]), "were left out": len(data["left_out"])}
    told = [f"{count} {what}" for what, count in found.items() if count]
    return ((f"Of the configurations, {' and '.join(told)}; the reasons are under the tables.",),) if told else ()


def _notes(data: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys([*data["notes"], *(note for system in data["systems"] for note in system["notes"])]))


def _reasons(file: ResultFile) -> tuple[Block, ...]:
    tables = reason_tables(file)
    return (Block("reasons", "Not there", tables=tables, place="details"),) if tables else ()


def _about(data: Mapping[str, Any]) -> Block:
    collection, machine, timing = data["collection"], data["machine"] or {}, data["latency"] or {}
    facts: dict[str, str] = {
        "Collection": f"{collection['name']}: {collection['documents']:,} documents, "
        f"{collection['queries']:,} queries, {collection['judged']:,} judgments",
        "Measures": ", ".join(data["measures"]),
        "Judge": _judge(data.get("judge") or {}),
        "Intervals": f"level {data['level']:g}, {data['resamples']:,} resamples, seed {data['seed']}",
        "Machine": _format_values(machine),
        "Times": _format_values(timing),
        "Limits": _format_values(data["limits"] or {}),
        "Axes": "; ".join(f"{axis['key']}: {', '.join(map(str, axis['values']))}" for axis in data["axes"]),
        "Written by": f"trueval {data['trueval']}",
    }
    return Block("about", "What was swept", facts=tuple((name, (text,)) for name, text in facts.items() if text))


def _judge(judge: Mapping[str, Any]) -> str:
    """The judge of unjudged documents; "" without on-demand judging."""
    if not judge:
        return ""
    cost = "" if judge.get("cost") is None else f", for {judge['cost']:.4g}"
    return f"{judge['name']} labelled {judge['new']:,} of {judge['unjudged']:,} documents that nobody judged{cost}"


def _format_values(values: Mapping[str, Any]) -> str:
    """Names and values in one line, without unset ones.

    >>> _format_values({"queries": 30, "band_ms": None, "rates": [1.0, 2.0]})
    'queries 30, rates 1 and 2'
    """

    def shown(value: Any) -> str:
        if isinstance(value, list):
            return " and ".join(map(shown, value))
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    kept = {name: value for name, value in values.items() if value not in (None, [], "")}
    return ", ".join(f"{name.replace('_', ' ')} {shown(value)}" for name, value in kept.items())
