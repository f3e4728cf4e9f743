"""The kinds of result of the room: a sweep."""

from typing import Final

from trueval.report.formats import to_json
from trueval.report.kinds import Kind, late
from trueval.tradeoff.sweep import FORMAT_VERSION, KIND

SWEEP: Final = Kind(
    KIND,
    format=FORMAT_VERSION,
    order=4,
    text={"table": late("trueval.tradeoff.views.table:table"), "json": to_json},
    files={"sweep.json": "json"},
)
