"""Lists of measures: what separates them."""

import pytest

from trueval.errors import MeasureError
from trueval.measures import parse_list


@pytest.mark.parametrize(
    "text",
    [
        "nDCG(gain='exp', base='list')@10 RR@10 AP",
        "nDCG(gain='exp', base='list')@10,RR@10,AP",
        "nDCG(gain='exp',base='list')@10 ,RR@10,\n AP,",
    ],
)
def test_spaces_or_commas_outside_brackets_separate_measures(text: str) -> None:
    assert [str(one) for one in parse_list(text)] == ["nDCG(gain='exp', base='list')@10", "RR@10", "AP"]


@pytest.mark.parametrize("text", ["", " , ", ","])
def test_a_list_of_separators_names_no_measure(text: str) -> None:
    with pytest.raises(MeasureError, match="No measure is named"):
        parse_list(text)
