import numpy as np

from trueval.report.tie_sizes import tie_figure, tie_histogram


def test_no_groups_make_no_histogram() -> None:
    assert tie_histogram(np.array([], dtype=np.int64)) == ()


def test_the_figure_leaves_out_documents_without_a_tie_and_names_every_size() -> None:
    """Two single documents, a pair and a group of three: shares 2/7, 2/7, 3/7."""
    rows = tie_histogram(np.array([1, 1, 2, 3]))
    figure = tie_figure("ties", "Ties.", {"none": tie_histogram(np.array([1])), "some": rows})
    assert figure is not None
    spec = figure.draw(700).to_dict()
    drawn = spec["data"]["values"]
    assert [(row["name"], row["size"], row["share"]) for row in drawn] == [("some", "2", 2 / 7), ("some", "3–4", 3 / 7)]
    assert spec["encoding"]["x"]["scale"]["domain"] == ["2", "3–4"]
    assert spec["encoding"]["y"]["scale"]["domain"] == ["none", "some"]


def test_where_nothing_ties_there_is_no_figure() -> None:
    assert tie_figure("ties", "Ties.", {"none": tie_histogram(np.array([1, 1]))}) is None
