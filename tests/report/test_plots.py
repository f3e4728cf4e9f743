"""Plots that several rooms draw: what is on them, where axes end, and that colors follow the page."""

import re

import pytest

from trueval.report.figures import LIGHT, THEME, apply_light_colors, axis_domain, specification, tone
from trueval.report.inline_svg import inline
from trueval.report.plots import (
    Bracket,
    DifferenceInterval,
    TieInterval,
    brackets_of,
    dot_plot,
    shorten_name,
    span_plot,
)


def layers(chart: object) -> list[dict]:
    spec = specification(chart)
    return spec["hconcat"][0]["layer"] if "hconcat" in spec else spec["layer"]


DOTS = [
    TieInterval("one", 0.75, 0.5, 1.0, 0.6),
    TieInterval("two", 0.5, 0.5, 0.5, 0.500001),
    TieInterval("three", 0.25, 0.25, 0.25),
]


def test_the_tie_broken_value_is_a_hollow_tick_only_where_it_differs() -> None:
    ticks = [each for each in layers(dot_plot(DOTS)) if "M" in str(each["mark"].get("shape", ""))]
    assert [each["mark"]["filled"] for each in ticks] == [False]
    svg = inline(dot_plot(DOTS))
    assert svg.count(f'stroke="{tone("text")}"') == 1
    assert "tie-broken" not in "".join(re.findall(r"<title>(two|three).*?</title>", svg))


def test_one_color_serves_all_runs() -> None:
    many = [TieInterval(f"run {place}", 0.9 - place / 50, 0.9 - place / 50, 0.9 - place / 50) for place in range(17)]
    colors = set(re.findall(r'fill="(var[^"]*)"', inline(dot_plot(many)))) - {tone("text")}
    assert colors == {tone("expected")}


@pytest.mark.parametrize("values", [[0.0, 1.0], [0.98, 1.0], [0.0, 0.01], [1.0], [0.0], [-1.0, 1.0], [-0.99, 0.5]])
def test_axes_end_where_measures_end(values: list[float]) -> None:
    low, high = axis_domain(values)
    assert low < high
    assert low <= min(values)
    assert high >= max(values)
    assert low >= (0 if min(values) >= 0 else -1)
    assert high <= 1


def test_a_measure_without_an_end_has_room() -> None:
    low, high = axis_domain([3.0, 7.0])
    assert low < 3
    assert high > 7


def test_axis_of_a_plot_ends_where_the_measure_ends() -> None:
    domains = [
        each["encoding"]["x"]["scale"]["domain"] for each in layers(dot_plot(DOTS)) if "scale" in each["encoding"]["x"]
    ]
    assert domains
    assert all(domain == [0.2125, 1.0] for domain in domains)


def test_brackets_join_runs_that_share_a_letter() -> None:
    brackets = brackets_of(["a", "ab", "b", "ba1", None])
    assert brackets == (Bracket("a", (0, 1)), Bracket("b", (1, 2, 3)), Bracket("a1", (3,)))
    svg = inline(dot_plot(DOTS, brackets=brackets_of(["a", "ab", "b"])))
    assert re.findall(r">([ab])</text>", svg) == ["a", "b"]


def test_a_separated_difference_is_filled() -> None:
    spans = [
        DifferenceInterval("a − b", 0.2, (0.2, 0.2), (0.1, 0.3), True),
        DifferenceInterval("b − c", 0.1, (0.0, 0.2), (-0.1, 0.3), False),
        DifferenceInterval("c − d", 0.1, (0.1, 0.1), (None, None), False),
    ]
    dots = re.findall(r'<path [^>]*fill="([^"]*)"[^>]*><title>(.)', inline(span_plot(spans)))
    assert dots == [(tone("expected"), "a"), (tone("ground"), "b"), (tone("ground"), "c")]


def test_names_that_are_alike_have_rows_of_their_own() -> None:
    svg = inline(dot_plot([TieInterval("same", 0.5, 0.5, 0.5), TieInterval("same", 0.4, 0.4, 0.4)]))
    assert ">same</text>" in svg
    assert ">same (2)</text>" in svg


def test_a_long_name_is_cut_in_the_middle() -> None:
    name = "bm25+rm3+monobert-large-finetuned-v2"
    assert len(shorten_name(name)) == 26
    assert shorten_name(name)[:8] == name[:8]
    assert shorten_name(name)[-8:] == name[-8:]


def test_an_unknown_color_is_an_error() -> None:
    with pytest.raises(KeyError):
        tone("purple")


def test_colors_have_names_on_the_page_and_values_in_papers() -> None:
    assert "var(--" in str(THEME)
    svg = inline(dot_plot(DOTS))
    assert not re.findall(r"#[0-9a-f]{3,6}", svg)
    assert LIGHT["expected"] in apply_light_colors(svg)
    assert "var(--" not in apply_light_colors(svg)
