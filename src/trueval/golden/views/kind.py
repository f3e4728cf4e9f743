"""The kinds of result of the room: a golden set, a simulation, agreement of labels, and judges under stress."""

from trueval.golden import golden_set
from trueval.golden.simulation import FORMAT_VERSION, KIND
from trueval.report.formats import to_json
from trueval.report.kinds import Kind, late

SIMULATE = Kind(
    KIND,
    format=FORMAT_VERSION,
    order=60,
    text={
        "table": late("trueval.golden.views.simulate:table"),
        "json": to_json,
        "csv": late("trueval.golden.views.simulate:to_csv"),
        "markdown": late("trueval.golden.views.simulate:to_markdown"),
        "latex": late("trueval.golden.views.simulate:to_latex"),
    },
    files={"simulate.json": "json", "simulate.csv": "csv", "simulate.md": "markdown", "simulate.tex": "latex"},
    page=late("trueval.golden.views.simulate_page:build"),
    figures=late("trueval.golden.views.simulate_page:write_figures"),
)

GOLDEN = Kind(
    golden_set.KIND,
    format=golden_set.FORMAT_VERSION,
    order=55,
    text={
        "table": late("trueval.golden.views.golden:table"),
        "json": to_json,
        "csv": late("trueval.golden.views.golden:to_csv"),
        "markdown": late("trueval.golden.views.golden:to_markdown"),
        "latex": late("trueval.golden.views.golden:to_latex"),
    },
    files={golden_set.ABOUT: "json"},
    page=late("trueval.golden.views.golden_page:build"),
)


def _kind(name: str, module: str, stem: str, order: int) -> Kind:
    """A kind whose tables and page are in modules of their own; its JSON is of format 1."""
    text = {form: late(f"trueval.golden.views.{module}:to_{form}") for form in ("csv", "markdown", "latex")}
    return Kind(
        name,
        format=1,  # that of the result; a test holds the two together
        order=order,
        text={"table": late(f"trueval.golden.views.{module}:table"), "json": to_json, **text},
        files={f"{stem}.json": "json", f"{stem}.csv": "csv", f"{stem}.md": "markdown", f"{stem}.tex": "latex"},
        page=late(f"trueval.golden.views.{module}_page:build"),
    )


AGREE = _kind("golden-agree", "agree", "agree", 56)
STRESS = _kind("golden-stress", "stress", "stress", 57)
GULLIBILITY = _kind("golden-gullibility", "gullibility", "gullibility", 58)
