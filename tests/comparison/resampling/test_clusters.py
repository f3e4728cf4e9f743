"""Clusters of queries: reading them, and what is refused."""

import pytest

from trueval.comparison.resampling.clusters import Clusters, read_clusters
from trueval.errors import InputError


@pytest.mark.parametrize(
    "text",
    [
        "query\tcluster\nq1\ta\nq2\ta\nq3\tb\n",
        "q1,a\nq2,a\nq3,b\n",
        '{"query": "q1", "cluster": "a"}\n{"query_id": "q2", "topic": "a"}\n{"qid": "q3", "customer": "b"}\n',
    ],
)
def test_files_of_two_columns_are_read(tmp_path, text):
    file = tmp_path / "clusters.txt"
    file.write_text(text)
    found = read_clusters(file)
    assert dict(found.members) == {"q1": "a", "q2": "a", "q3": "b"}
    assert found.codes(["q3", "q1", "q2"]).tolist() == [0, 1, 1]


def test_a_query_without_a_cluster_is_an_error_that_names_it(tmp_path):
    with pytest.raises(InputError, match=r"no cluster for the query 'q9' and 1 more"):
        Clusters({"q1": "a"}, "clusters.tsv").codes(["q1", "q9", "q8"])


def test_a_query_in_two_clusters_is_an_error_with_its_line(tmp_path):
    file = tmp_path / "clusters.tsv"
    file.write_text("q1\ta\nq1\tb\n")
    with pytest.raises(InputError, match=r"clusters.tsv:2.*two clusters, 'a' and 'b'"):
        read_clusters(file)


def test_what_people_have_becomes_clusters(tmp_path):
    file = tmp_path / "clusters.tsv"
    file.write_text("q1\ta\n")
    assert Clusters.of(None) is None
    assert Clusters.of({"q1": "a"}).codes(["q1"]).tolist() == [0]
    assert Clusters.of(file).source == str(file)
