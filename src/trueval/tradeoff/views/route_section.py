"""The section on routing: what choosing the depth of the reranker query by query gains."""

from __future__ import annotations

from trueval.report.units import DIFFERENCE, FRACTION, INTERVAL, TEXT, interval_of, number
from trueval.report.view import Column, Quantity, Section, Sheet
from trueval.tradeoff.route.route_result import RoutedBudget, RoutedRule, RoutedSystem
from trueval.tradeoff.runner.sweep_result import SweepResult
from trueval.tradeoff.views.units import SHARE


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
    if chosen is None:
        return [Section("Routing of queries", [_rules(route), _curve(route)], words, id="route-block")]
    told = (
        f"{words} The rule {chosen.name} escalates ",
        Quantity(chosen, "share", SHARE),
        f" of them, for {route.measure} ",
        Quantity(chosen.quality, "value"),
        ".",
    )
    return [Section("Routing of queries", [_rules(route), _curve(route)], told, id="route-block")]


def _rules(route: RoutedSystem) -> Sheet[RoutedRule]:
    against = {"fewer": f"always {route.depths[0]}", "more": f"always {route.depths[1]}", "random": "random"}
    columns: list[Column[RoutedRule]] = [
        Column("rule", lambda row: _name(route, row)),
        Column("escalated", lambda row: row.share, SHARE),
        Column(f"cost, {route.unit}", lambda row: row.cost, number(",.4g")),
        Column(route.measure, lambda row: row.quality.value, FRACTION, strong=True),
        Column("interval", lambda row: row.quality, INTERVAL),
        *(_change(title, name) for name, title in against.items()),
        Column("interval", lambda row: row.over.get("random"), interval_of(DIFFERENCE), only="page"),
        Column("beats random", lambda row: row.over["random"].better if "random" in row.over else "", TEXT),
    ]
    notes = (
        "Escalated: the share of queries with the larger depth. Changes are paired over queries; random escalates the "
        "same share of queries, drawn by chance, and its interval is beside it. Oracles know the gain of each query.",
    )
    rows = [*route.constants, *route.rules, *route.oracles]
    return Sheet("Rules of routing", rows, columns, notes=notes, only="document", id="route")


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
