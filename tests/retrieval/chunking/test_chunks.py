"""Chunks: whole sentences, overlap, headings, and every character kept track of."""

import hashlib
from itertools import pairwise

import numpy as np
import pytest

from trueval.errors import PolicyError
from trueval.retrieval.chunking.chunks import Chunker, model_tokens, words_and_marks
from trueval.retrieval.chunking.sentence_ends import sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is 3.5 m. See Fig. 2 for more.", ["It is 3.5 m. See Fig. 2 for more."]),
        ("J. R. Low won. He left.", ["J. R. Low won.", "He left."]),
        ("They ate apples, etc. The rest was lost.", ["They ate apples, etc.", "The rest was lost."]),
        ("« Venez ! » dit-il. « Non. » Elle partit.", ["« Venez ! » dit-il.", "« Non. »", "Elle partit."]),
        ("M. Dupont et Mme. Roy vinrent. Été comme hiver.", ["M. Dupont et Mme. Roy vinrent.", "Été comme hiver."]),
        ('He said "Go." Then he went.', ['He said "Go."', "Then he went."]),
        ("Title\n\nFirst line\ngoes on.", ["Title", "First line\ngoes on."]),
        ("Items:\n- one\n- two", ["Items:", "- one", "- two"]),
        ("1. One thing. 2. Another.", ["1. One thing.", "2. Another."]),
        ("これは本です。あれは何？", ["これは本です。", "あれは何？"]),
        ("Wait... what? No!", ["Wait... what?", "No!"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences(text: str, expected: list[str]):
    assert sentences(text) == expected


def made_text(rng: np.random.Generator) -> str:
    """Sentences of 1 to 40 words, some headings, some blank lines."""
    parts = []
    for _ in range(rng.integers(1, 30)):
        kind = rng.integers(0, 8)
        if kind == 0:
            parts.append(f"\n{'#' * int(rng.integers(1, 4))} Part {rng.integers(9)}\n")
        elif kind == 1:
            parts.append("\n\n")
        else:
            parts.append("A" + " word" * int(rng.integers(0, 40)) + ". ")
    return "".join(parts)


@pytest.mark.parametrize("how", ["sentences", "windows"])
@pytest.mark.parametrize(("size", "overlap"), [(30, 10), (7, 0), (60, 59), (2, 1)])
def test_chunks_hold_every_token_within_size_and_overlap(how, size, overlap):
    rng = np.random.default_rng(size)
    for _ in range(12):
        text = made_text(rng)
        chunks = list(Chunker(how, size, overlap, breadcrumbs=False).chunks("d", text))
        tokens = words_and_marks(text)
        headings = np.zeros(len(tokens), dtype=bool)
        for place, (start, _) in enumerate(tokens.tolist()):
            headings[place] = text[text.rfind("\n", 0, start) + 1 :].startswith("#")
        seen = np.zeros(len(tokens), dtype=int)
        for chunk in chunks:
            assert chunk.body == text[chunk.start : chunk.end]
            assert chunk.tokens == len(words_and_marks(chunk.body)) <= size
            seen += (tokens[:, 0] >= chunk.start) & (tokens[:, 1] <= chunk.end)
        assert ((seen > 0) == ~headings).all()
        for one, other in pairwise(chunks):
            assert one.start < other.start
            assert one.end < other.end
            assert len(words_and_marks(text[other.start : one.end])) <= overlap
        assert [chunk.number for chunk in chunks] == list(range(len(chunks)))


def test_sentences_stay_whole_where_they_fit():
    rng = np.random.default_rng(3)
    for _ in range(20):
        text = made_text(rng).replace("#", "")  # a heading would be a part of the sentence after it
        spans = sentence_spans(text)
        starts, ends = {start for start, _ in spans}, {end for _, end in spans}
        for chunk in Chunker(size=50, overlap=20, breadcrumbs=False).chunks("d", text):
            assert chunk.start in starts
            assert chunk.end in ends


def test_breadcrumbs_name_title_and_sections():
    text = "Before.\n# One\nIn one.\n## Deep\nIn deep.\n# Two\nIn two."
    chunks = list(Chunker(size=20, overlap=5).chunks("doc", text, "Book"))
    assert [chunk.text for chunk in chunks] == [
        "Book\nBefore.",
        "Book › One\nIn one.",
        "Book › One › Deep\nIn deep.",
        "Book › Two\nIn two.",
    ]
    assert [chunk.tokens for chunk in chunks] == [3, 6, 8, 6]
    row = chunks[2].to_dict()
    assert row["_id"] == "doc#2"
    assert row["sha256"] == hashlib.sha256(b"In deep.").hexdigest()
    assert text[row["start"] : row["end"]] == "In deep."


def test_a_long_breadcrumb_leaves_room_for_one_token():
    chunks = list(Chunker(size=3, overlap=2).chunks("d", "One two three.", "A very long title"))
    assert [chunk.body for chunk in chunks] == ["One", "two", "three", "."]


def test_a_model_counts_its_own_tokens():
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    words = {word: place for place, word in enumerate(["[UNK]", "one", "##s", ".", "two"])}
    inner = tokenizers.Tokenizer(tokenizers.models.WordPiece(words, unk_token="[UNK]"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="[UNK]")
    spans = model_tokens(tokenizer)("ones two.")
    assert spans.tolist() == [[0, 3], [3, 4], [5, 8], [8, 9]]
    chunks = list(Chunker(size=4, overlap=0, tokenizer=model_tokens(tokenizer)).chunks("d", "ones two. Two ones."))
    assert [chunk.body for chunk in chunks] == ["ones two.", "Two ones."]


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (5, 5), (5, -1)])
def test_sizes_that_cannot_be_are_refused(size, overlap):
    with pytest.raises(PolicyError, match="overlap"):
        Chunker(size=size, overlap=overlap)
    with pytest.raises(PolicyError, match="sentences or windows"):
        Chunker("pages")


@pytest.mark.parametrize("how", ["sentences", "windows"])
def test_blanks_alone_are_no_chunk_where_a_model_has_tokens_for_them(how):
    def characters(text: str) -> np.ndarray:
        return np.array([(place, place + 1) for place in range(len(text))], dtype=np.int64).reshape(-1, 2)

    chunker = Chunker(how=how, size=4, overlap=0, tokenizer=characters)
    assert list(chunker.chunks("d", " \n \n")) == []
    chunks = list(chunker.chunks("d", "abcd" + " " * 8 + "efgh"))
    assert [(chunk.number, chunk.start, chunk.body) for chunk in chunks] == [(0, 0, "abcd"), (1, 12, "efgh")]


class Counted(str):
    """A text that counts the characters that its slices copy."""

    copied = 0

    def __getitem__(self, key):
        found = super().__getitem__(key)
        Counted.copied += len(found)
        return found


def test_a_document_without_line_feeds_is_not_copied_at_every_full_stop():
    """4 MB took 18 s: all before was copied at every full stop, and all that followed at every abbreviation."""
    text = Counted("See Fig. 3 and etc. small, of Dr. Low, 3.5 m high. It was no. 12. Then more came. " * 200)
    Counted.copied = 0
    assert len(sentence_spans(text)) == 400
    assert Counted.copied < 4 * len(text)


def test_numbers_of_lists_end_nothing_whatever_blanks_stand_before_them():
    assert sentences("1. One. \t 2. Two: 3. Three") == ["1. One.", "2. Two: 3. Three"]
    assert sentences("It took 12. Then \n \x0b 4. Four") == ["It took 12.", "Then \n \x0b 4. Four"]
