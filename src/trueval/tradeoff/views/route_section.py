"""The section on routing: what choosing the depth of the reranker query by query gains, and what a router promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from trueval.report.units import DIFFERENCE, FRACTION, INTERVAL, TEXT, interval_of, number
from trueval.report.view import AnySheet, Column, Quantity, Section, Sentence, Sheet
from trueval.tradeoff.route.route_result import CertifiedRouter, RoutedBudget, RoutedChange, RoutedRule, RoutedSystem
from trueval.tradeoff.runner.sweep_result import SweepResult, SweptSystem
from trueval.tradeoff.views.units import MILLISECONDS, SHARE

ROUTED: Final = ", routed"  # what the name of a routed system ends with


def route_section(result: SweepResult) -> list[Section]:
    """Each rule with the share it escalates, its cost and quality, against both depths and a random router.

    Args:
        result: of the command.
    """
    route = result.route
    if route is None:
        return []
    fewer, more = route.depths
    chosen = next((each for each in route.rules if each.name == route.rule), None)
    words = (
        f"{route.name}: each query is reranked to {fewer} candidates, or to {more} if the rule says so. Thresholds are "
        f"those of cross-validation in {route.folds} folds, over {route.queries:,} queries."
    )
    sheets: list[AnySheet] = [_rules(result, route), _curve(route)]
    if chosen is None:
        return [Section("Routing of queries", sheets, words, id="route-block")]
    told = (
        f"{words} The rule {chosen.name} escalates ",
        Quantity(chosen, "share", SHARE),
        f" of them, for {route.measure} ",
        Quantity(chosen.quality, "value"),
        ".",
    )
    return [Section("Routing of queries", sheets, told, id="route-block")]


def route_finding(result: SweepResult) -> Iterator[Sentence]:
    """Whether a rule beats a router that escalates the same share by chance, and the best rule that does.

    Args:
        result: of the command.
    """
    route = result.route
    if route is None:
        return
    fewer, more = route.depths
    better = [rule for rule in route.rules if "random" in rule.over and rule.over["random"].better == "yes"]
    if not better:
        yield (
            f"No rule of routing beats random escalation of the same share of queries from {fewer} to {more} "
            "candidates: choose one depth."
        )
        return
    best = max(better, key=lambda rule: rule.over["random"].value or 0.0)
    yield (
        f"Routing by {best.name} gives ",
        Quantity(best, "share", SHARE),
        f" of the queries {more} candidates instead of {fewer}, for {route.measure} ",
        Quantity(best.quality, "value"),
        "; it beats random escalation of the same share by ",
        Quantity(best.over["random"], "value", DIFFERENCE),
        ". trueval frontier --route certifies it.",
    )


class PairTime(NamedTuple):
    """Seconds of a query at p50, by the number of its candidates: rest + pair x candidates."""

    rest: float
    pair: float


def _pair_time(result: SweepResult, route: RoutedSystem) -> PairTime | None:
    """Of the measured system with this reranker; None where it was not timed."""
    own = next((each for each in result.systems if each.name == route.name.removesuffix(ROUTED)), None)
    return None if own is None else _time_of(own)


def _time_of(system: SweptSystem) -> PairTime | None:
    stage = next((each for each in system.stages if each.name == "rerank"), None)
    depth = system.settings.get("rerank", {}).get("depth")
    if stage is None or system.latency is None or not depth:
        return None
    whole, rerank = system.latency.p50.value, stage.p50.value
    return None if whole is None or rerank is None else PairTime(max(whole - rerank, 0.0), rerank / depth)


def _rules(result: SweepResult, route: RoutedSystem) -> Sheet[RoutedRule]:
    time = _pair_time(result, route)

    def seconds(row: RoutedRule) -> float | None:
        candidates = route.depths[0] + row.share * (route.depths[1] - route.depths[0])
        return None if time is None else time.rest + time.pair * candidates

    against = {"fewer": f"always {route.depths[0]}", "more": f"always {route.depths[1]}", "random": "random"}
    columns: list[Column[RoutedRule]] = [
        Column("rule", lambda row: _name(route, row)),
        Column("escalated", lambda row: row.share, SHARE),
        Column(f"cost, {route.unit}", lambda row: row.cost, number(",.4g"), leaves=2),
        *([Column("ms p50", seconds, MILLISECONDS, leaves=1)] if time is not None else []),
        Column(route.measure, lambda row: row.quality.value, FRACTION, strong=True),
        Column("interval", lambda row: row.quality, INTERVAL, leaves=3),
        *(_change(title, name) for name, title in against.items()),
        Column("interval", lambda row: row.over.get("random"), interval_of(DIFFERENCE)),
        Column("beats random", lambda row: row.over["random"].better if "random" in row.over else "", TEXT),
    ]
    notes = (
        "Escalated: the share of queries with the larger depth. Changes are paired over queries; random escalates the "
        "same share of queries, drawn by chance, and its interval is beside it. Oracles know the gain of each query."
        + (
            ""
            if time is None
            else " Milliseconds: the time of a pair times the mean number of candidates, and the rest."
        ),
    )
    rows = [*route.constants, *route.rules, *route.oracles]
    return Sheet("Rules of routing", rows, columns, notes=notes, id="route")


def _name(route: RoutedSystem, rule: RoutedRule) -> str:
    constants = {"fewer": f"always {route.depths[0]}", "more": f"always {route.depths[1]}"}
    return constants.get(rule.name, rule.name)


def _change(title: str, name: str) -> Column[RoutedRule]:
    def value(row: RoutedRule) -> float | str | None:
        return row.over[name].value if name in row.over else ""

    return Column(f"over {title}", value, DIFFERENCE)


def _curve(route: RoutedSystem) -> Sheet[RoutedBudget]:
    columns: list[Column[RoutedBudget]] = [
        Column("at most escalated", lambda row: row.budget, SHARE),
        Column("escalated", lambda row: row.share, SHARE),
        Column(route.measure, lambda row: row.quality, FRACTION, strong=True),
        Column("random", lambda row: row.random, FRACTION),
    ]
    title = f"The rule {route.rule} at other budgets"
    return Sheet(title, route.curve, columns, folded=True, only="document", id="route-curve")


# ---- a certified router ----


class _ChangeRow(NamedTuple):
    """The change of quality against another way to choose the depth."""

    against: str
    change: RoutedChange


def router_section(found: CertifiedRouter | None) -> list[Section]:
    """The certificate of a router, and its quality against both depths and random escalation.

    Args:
        found: of `trueval frontier --route`; None without.
    """
    if found is None:
        return []
    names = {"fewer": f"always {found.depths[0]}", "more": f"always {found.depths[1]}", "random": "random escalation"}
    rows = [_ChangeRow(names[name], change) for name, change in found.over.items()]
    columns: list[Column[_ChangeRow]] = [
        Column("against", lambda row: row.against),
        Column(found.measure, lambda row: row.change.value, DIFFERENCE, strong=True),
        Column("interval", lambda row: row.change, interval_of(DIFFERENCE)),
        Column("better", lambda row: row.change.better, TEXT),
    ]
    notes = (
        f"Over the {found.queries:,} queries that certify; the rule was chosen on {found.chosen_on:,} others. Random "
        "escalates the same share of queries.",
    )
    sheet = Sheet(f"The router of {found.system}", rows, columns, notes=notes, id="router")
    return [Section("The router", [sheet], promise_of(found), open=True, id="router-block")]


def promise_of(found: CertifiedRouter) -> Sentence:
    """What a router does, saves and promises, in two sentences.

    Args:
        found: of `trueval frontier --route`.
    """
    fewer, more = found.depths
    by = "the gain predicted from " + " and ".join(found.weights) if len(found.weights) > 1 else found.rule
    does: tuple[str | Quantity, ...]
    if found.threshold is None:
        does = (f"The router always takes {fewer} candidates",)
    else:
        does = (f"The router takes {more} candidates for ", Quantity(found, "share", SHARE))
        does += (f" of the queries, by {by}, and {fewer} for the others",)
    sure = (
        "in expectation over queries of this kind, for any law of scores, if queries are exchangeable"
        if found.level is None
        else f"with a probability of {found.level:g}"
    )
    return (
        *does,
        ", which saves ",
        Quantity(found, "saved", SHARE),
        f" of the {found.unit} of always {more}. Certified on {found.queries:,} queries: its loss of {found.measure} "
        f"against always {more}, gains not counted, is at most ",
        Quantity(found, "epsilon"),
        f" {sure}; measured ",
        Quantity(found, "loss"),
        ", and ",
        Quantity(found, "net", DIFFERENCE),
        " with gains.",
    )
