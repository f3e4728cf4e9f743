"""The result kinds of `trueval sweep`, `trueval frontier` and `trueval route`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trueval.report.kinds import Kind, kind_of_view

if TYPE_CHECKING:
    from trueval.report.page_content import Part
    from trueval.report.result_directory import Directory, ResultFile

_ALONE: Final = kind_of_view(
    "sweep",
    "trueval.tradeoff.runner.sweep_result:SweepResult",
    "trueval.tradeoff.views.sweep:view",
    format=1,
    order=4,
    stem="sweep",
)


def _beside_a_frontier(file: ResultFile, directory: Directory) -> Part:
    """The part of a sweep, without the frontier of its measured values if that of `trueval frontier` is on the page."""
    from dataclasses import replace

    part: Part = _ALONE.page(file, directory)  # type: ignore[misc]
    beside = bool(directory.of("frontier"))
    return replace(part, blocks=tuple(each for each in part.blocks if not (beside and each.id == "frontier")))


SWEEP: Final[Kind] = _ALONE._replace(page=_beside_a_frontier)

FRONTIER: Final = kind_of_view(
    "frontier",
    "trueval.tradeoff.frontier.frontier_result:FrontierResult",
    "trueval.tradeoff.views.frontier:view",
    format=1,
    order=3,  # the recommendation comes before the quality of each configuration
    stem="frontier",
)

DRIFT: Final = kind_of_view(
    "route-check",
    "trueval.tradeoff.route.drift:DriftCheck",
    "trueval.tradeoff.views.drift:view",
    format=1,
    order=5,
    stem="route-check",
)
