"""The kind of result that `trueval precision` gives."""

from trueval.precision.audit_result import FORMAT_VERSION, KIND
from trueval.report.kinds import Kind, files_of, forms_of, late

PRECISION = Kind(
    KIND,
    format=FORMAT_VERSION,
    order=5,
    text=forms_of("trueval.precision.views.formats"),
    files=files_of("precision"),
    page=late("trueval.precision.views.page:build"),
    figures=late("trueval.precision.views.figures:draw_precision"),
)
