"""Tables of people: our sample, and those of users with what can be wrong in them."""

import unicodedata
from pathlib import Path

import polars as pl
import pytest

from trueval.errors import InputError, TruevalWarning
from trueval.probes.authors import LANGUAGES, Authors, Name, read_people, sample_people, split_name

CSV = "author,title,topic\nAnn Lee,Wings,flight\nBo Ek,Sails,ships\nCy Orr,Rails,trains\nDi Moe,Roads,cars\n"


def written(folder: Path, text: str, name: str = "people.csv") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_sample_has_many_authors_written_in_many_ways(language: str) -> None:
    works = sample_people(language).works
    names = [work.author.text for work in works]
    assert len(set(names)) == len(names) >= 120
    assert len({work.topic for work in works}) == len({work.title for work in works}) == len(works)
    assert sum(unicodedata.normalize("NFD", name) != name for name in names) >= 50, "diacritics"
    assert sum("-" in name for name in names) >= 10, "hyphens"
    assert sum(" " in work.author.family for work in works) >= 20, "particles and names of two parts"
    assert sum(work.author.family_first for work in works) >= 5
    assert sum("." in work.author.given for work in works) >= 3, "initials"
    assert sum("’" in name for name in names) >= 5, "apostrophes"
    assert all(text == " ".join(unicodedata.normalize("NFC", text).split()) for work in works for text in work[1:])


def test_both_languages_have_the_same_authors() -> None:
    english, french = (sample_people(language).works for language in LANGUAGES)
    assert [work.author for work in english] == [work.author for work in french]
    assert not {work.topic for work in english} & {work.topic for work in french}


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_every_format_gives_the_same_people(suffix: str, tmp_path: Path) -> None:
    expected = read_people(written(tmp_path, CSV)).works
    frame, file = pl.read_csv(CSV.encode()), tmp_path / f"other.{suffix}"
    if suffix == "parquet":
        frame.write_parquet(file)
    elif suffix == "jsonl":
        frame.write_ndjson(file)
    else:
        frame.write_csv(file, separator="\t" if suffix == "tsv" else ",")
    assert read_people(file).works == expected
    assert expected[0] == (Name("Ann", "Lee"), "Wings", "flight")


def test_texts_are_composed_and_the_topic_stands_for_a_missing_title(tmp_path: Path) -> None:
    text = CSV.replace("Wings", "").replace("Bo Ek", "Bo\u0308  Ek")
    works = read_people(written(tmp_path, text)).works
    assert works[0].title == "flight"
    assert works[1].author == Name("Bö", "Ek")


def test_the_column_family_says_where_the_family_name_is(tmp_path: Path) -> None:
    rows = [line + end for line, end in zip(CSV.splitlines(), [",family", ",", ",Bo", ",", ",Moe"], strict=True)]
    works = read_people(written(tmp_path, "\n".join(rows))).works
    assert [work.author for work in works][1:] == [
        Name("Ek", "Bo", family_first=True),
        Name("Cy", "Orr"),
        Name("Di", "Moe"),
    ]
    wrong = "\n".join(rows).replace(",Moe", ",oe")
    with pytest.raises(InputError, match=r"people\.csv:5: the family 'oe' is not at an end of the author 'Di Moe'"):
        read_people(written(tmp_path, wrong))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CSV.replace("topic", "subject"), r"people\.csv:1: no column topic\."),
        (CSV.replace("Bo Ek,", ","), r"people\.csv:3: no author\."),
        (CSV.replace("ships", ""), r"people\.csv:3: no topic\."),
        (CSV + "Ed Ash,Waves\n", r"people\.csv:6: 2 fields\. The header line has 3\."),
        (CSV + '"Ed Ash,Waves,sea\n', r"people\.csv:6: the row cannot be read"),
        (CSV.rpartition("Di")[0], r"people\.csv: 3 authors and 3 topics\. There must be at least 4 authors"),
        ('{"author": "Ann Lee", "topic": "flight"}\n{"author": 3, "topic": "sea"}\n', r":2: the author must be a text"),
        ('{"author": "Ann Lee", "topic": "flight"}\n{"author": "B"}\n', r":2: no column topic\."),
        ("author,topic\nAnn,\udcff".encode("utf-8", "surrogateescape").decode("latin-1"), "topics"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_people(written(tmp_path, text))


def test_bytes_that_are_no_text_or_no_parquet_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "bad"
    file.write_bytes(CSV.encode() + b"\xff,a,b\n")
    with pytest.raises(InputError, match=r"bad:6: byte 0xff is not UTF-8"):
        read_people(file)
    file.write_bytes(b"PAR1 and then nothing PAR1")
    with pytest.raises(InputError, match="bad"):
        read_people(file)


def test_a_pair_of_author_and_topic_counts_once(tmp_path: Path) -> None:
    with pytest.warns(TruevalWarning, match="1 rows repeat an author and topic"):
        found = read_people(written(tmp_path, CSV + "Ann Lee,Other wings,flight\n"))
    assert [work.title for work in found.works] == ["Wings", "Sails", "Rails", "Roads"]


@pytest.mark.parametrize(
    ("author", "given", "family"),
    [
        ("Alice Dupont", "Alice", "Dupont"),
        ("Dupont, Alice", "Alice", "Dupont"),
        ("Ludwig van der Berg", "Ludwig", "van der Berg"),
        ("Raphaël Ben Soussan", "Raphaël", "Ben Soussan"),
        ("Harold Beckwith Jr.", "Harold", "Beckwith Jr."),
        ("Beckwith, Jr.", "", "Beckwith, Jr."),
        ("A. B. Carter", "A. B.", "Carter"),
        ("Plato", "", "Plato"),
        ("Van Morris", "Van", "Morris"),
    ],
)
def test_a_name_is_split_as_its_writing_tells(author: str, given: str, family: str) -> None:
    assert split_name(author) == Name(given, family)


def test_a_name_is_written_in_its_order() -> None:
    assert Name("Ágoston", "Nagy", family_first=True).text == "Nagy Ágoston"
    assert Name("Ágoston", "Nagy", family_first=True, inverted=True).text == "Nagy, Ágoston"
    assert Name("", "Plato", inverted=True).text == "Plato"


def test_people_know_all_their_names() -> None:
    assert Authors(sample_people("en").works[:3], "x").names == {
        "Manon Lefèvre",
        "Élodie Marchand-Keller",
        "Jean-Baptiste Oudinet",
    }


def test_a_table_is_called_by_its_name_and_not_by_its_folders(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(CSV, encoding="utf-8")
    assert read_people(str(tmp_path / "people.csv")).source == "people.csv"
