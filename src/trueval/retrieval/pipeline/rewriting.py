"""Rewriting: the forms in which queries are searched, one or several, whose lists are then fused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from trueval.collection import read_queries
from trueval.errors import InputError, nearest
from trueval.retrieval.indexes.analysis import one_writing
from trueval.retrieval.pipeline.denoise import denoise

AS_IS, NORMALISED, DENOISED = "as is", "normalised", "denoise"
FORMS: Final = (AS_IS, NORMALISED, DENOISED)
# Those that a language model writes; the first by the prompt that every judge has. Any other value is a file of texts.
MODEL_FORMS: Final = ("model", "step-back", "hyde")
PLAIN_FORM: Final = MODEL_FORMS[0]
BETWEEN: Final = " + "  # between the forms of a query that are all searched
SHOWN: Final = 3  # maximum number of ids in a message


def forms_of(way: str) -> tuple[str, ...]:
    """The forms that a value of [queries] rewrite names, in order; rerankers and features see the first.

    >>> forms_of("as is + denoise")
    ('as is', 'denoise')
    """
    return tuple(form.strip() for form in way.split(BETWEEN))


def is_written_before(way: str) -> bool:
    """Whether the queries of a sweep can be written before its pipelines: in one form, which no model writes.

    >>> is_written_before("denoise"), is_written_before("as is + denoise"), is_written_before("hyde")
    (True, False, False)
    """
    return len(forms_of(way)) == 1 and way not in MODEL_FORMS


def place_forms(way: str, folder: Path) -> str:
    """The value of [queries] rewrite with its files found from a folder; an absolute path stays as it is.

    Raises:
        InputError: the path of a file would be read as two forms.
    """
    placed = [form if form in (*FORMS, *MODEL_FORMS) else str(folder / form) for form in forms_of(way)]
    wrong = next((each for each in placed if BETWEEN in each), None)
    if wrong is not None:
        raise InputError(f"{wrong}: its folder has {BETWEEN!r} in its name, which stands between forms. Rename it.")
    return BETWEEN.join(placed)


def name_form(form: str) -> str:
    """What results call a form: a file by its name alone."""
    return form if form in (*FORMS, *MODEL_FORMS) else Path(form).name


def name_forms(way: str) -> str:
    """What results call a value of [queries] rewrite.

    >>> name_forms("as is + /home/me/written.jsonl")
    'as is + written.jsonl'
    """
    return BETWEEN.join(map(name_form, forms_of(way)))


def rewritten(texts: Mapping[str, str], way: str) -> dict[str, str]:
    """The queries in one form.

    Args:
        texts: query id → text.
        way: one form: "as is"; "normalised", with one form of equivalent characters; "denoise", without the chatter
            around a question (denoise.py); or the path of a file like queries.jsonl.

    Raises:
        InputError: the file is bad, or lacks some of the queries.

    >>> rewritten({"q": "it’s"}, "normalised")
    {'q': "it's"}
    >>> rewritten({"q": "Hi! Quick question: who measures drag? Thanks"}, "denoise")
    {'q': 'who measures drag?'}
    """
    if way == AS_IS:
        return dict(texts)
    if way == NORMALISED:
        return {query: one_writing(text) for query, text in texts.items()}
    if way == DENOISED:
        return {query: denoise(text) for query, text in texts.items()}
    if not Path(way).exists():
        known = (*FORMS, *MODEL_FORMS)
        hint = nearest(Path(way).name, known)
        raise InputError(f"{way}: no such file, and no form of queries: {', '.join(map(repr, known))}.{hint}")
    found = read_queries(Path(way))
    lacking = [query for query in texts if query not in found]
    if lacking:
        raise InputError(
            f"{way}: {len(lacking)} of {len(texts)} queries have no text there, such as "
            f"{', '.join(map(repr, lacking[:SHOWN]))}. It must hold every query, as queries.jsonl does."
        )
    return {query: found[query] for query in texts}
