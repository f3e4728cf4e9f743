import numpy as np

from trueval.report.tie_sizes import tie_figure, tie_histogram


def test_no_groups_make_no_histogram() -> None:
    assert tie_histogram(np.array([], dtype=np.int64)) == []


def test_the_figure_leaves_out_documents_without_a_tie_and_names_every_size() -> None:
    """Two single documents, a pair and a group of three: shares 2/7, 2/7, 3/7."""
    rows = tie_histogram(np.array([1, 1, 2, 3]))
    data = tie_figure("ties", "Ties.", {"none": tie_histogram(np.array([1])), "some": rows}).data
    assert data["sizes"] == ["2", "3–4"]
    assert data["runs"] == [{"name": "none", "share": []}, {"name": "some", "share": [2 / 7, 3 / 7]}]
