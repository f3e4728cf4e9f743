"""Audits of pipelines beside the systems of a sweep that are these pipelines, in whatever formats.

A system is the pipeline of an audit if the two are the same with every number format float32 (`reference_of`), over the
same documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Final

from trueval.comparison.budget.shared_doubt import OF_TIES
from trueval.errors import InputError
from trueval.precision.stage_formats import reference_of
from trueval.precision.stages_result import PipelineAudit
from trueval.report.json_fields import encode
from trueval.report.result_inputs import read_result
from trueval.tradeoff.frontier.frontier_result import SystemPrecision
from trueval.tradeoff.quality.sweep_loader import SweepArrays

AUDIT: Final = "trueval precision audit --pipeline"
STAGES_FILE: Final = "precision-stages.json"
ABSENT: Final = "none"


def match_audits(
    measured: SweepArrays, audits: Sequence[PipelineAudit | str | PathLike[str]]
) -> tuple[SystemPrecision, ...]:
    """What each audit says of the systems that it is of.

    Args:
        measured: the sweep.
        audits: results of `audit_pipeline`, or their files or folders.

    Raises:
        InputError: there is none, or one is of other documents, under another policy, or of a pipeline that the sweep
            does not have.
    """
    several = (
        each if isinstance(each, PipelineAudit) else read_result(each, STAGES_FILE, PipelineAudit, AUDIT)
        for each in audits
    )
    return tuple(_match(measured, each) for each in several)


def _match(measured: SweepArrays, audit: PipelineAudit) -> SystemPrecision:
    known = measured.result["collection"]
    if audit.sha256["documents"] != known["sha256"].get("documents"):
        raise InputError(
            f"The audit of {audit.pipeline} is of other documents ({audit.collection}, {audit.documents:,}) than the "
            f"sweep ({known['name']}, {known['documents']:,}). Audit a pipeline over the collection of the sweep."
        )
    policy, own = measured.result["policy"], encode(audit.policy)
    for name in sorted(policy.keys() & own.keys() - OF_TIES):
        if own[name] != policy[name]:
            raise InputError(
                f"The audit of {audit.pipeline} is of values with {name}={own[name]!r}, and the sweep has "
                f"{name}={policy[name]!r}. Audit the pipeline with the options of the sweep."
            )
    wanted = _flat(encode(audit.settings))
    found = {str(each["name"]): _flat(reference_of(each["settings"])) for each in measured.systems}
    systems = tuple(name for name, settings in found.items() if settings == wanted)
    if not systems:
        apart = {name: _differences(settings, wanted) for name, settings in found.items()}
        name = min(apart, key=lambda each: len(apart[each]))
        key = apart[name][0]
        raise InputError(
            f"No system of the sweep is the pipeline {audit.pipeline} of the audit: {name}, the nearest, has "
            f"{key} {found[name].get(key, ABSENT)}, and the audit {wanted.get(key, ABSENT)}. Audit a pipeline whose "
            "tables are those of a system, whatever their formats."
        )
    return SystemPrecision(systems, audit.pipeline, audit.queries, audit.measures, audit.ladder)


def _flat(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Settings by their place in a file, such as "[rerank] depth"."""
    return {f"[{table}] {key}": value for table, values in settings.items() for key, value in values.items()}


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Places of settings that differ, of those that both have first."""
    both = [key for key in one if key in other and one[key] != other[key]]
    return [*both, *(key for key in {**one, **other} if (key in one) != (key in other))]
