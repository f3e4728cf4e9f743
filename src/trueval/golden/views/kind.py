"""The result kinds of this package: golden sets, label agreement, and judges under stress."""

from trueval.golden.build import golden_set
from trueval.report.kinds import Kind, files_of, forms_of, late

GOLDEN = Kind(
    golden_set.KIND,
    format=golden_set.FORMAT_VERSION,
    order=55,
    text=forms_of("trueval.golden.views.golden"),
    files={golden_set.ABOUT: "json"},
    page=late("trueval.golden.views.golden_page:build"),
)


def _kind(name: str, module: str, stem: str, order: int) -> Kind:
    """A kind with tables and page in their own modules, and JSON of format 1."""
    return Kind(
        name,
        format=1,  # that of the result; a test holds the two together
        order=order,
        text=forms_of(f"trueval.golden.views.{module}"),
        files=files_of(stem),
        page=late(f"trueval.golden.views.{module}_page:build"),
    )


AGREE = _kind("golden-agree", "agree", "agree", 56)
STRESS = _kind("golden-stress", "stress", "stress", 57)
GULLIBILITY = _kind("golden-gullibility", "gullibility", "gullibility", 58)
