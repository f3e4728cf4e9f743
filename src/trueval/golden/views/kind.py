"""The kinds of result of the room: a golden set, and a simulation."""

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
