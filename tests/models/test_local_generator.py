"""A tiny random model streams for real: its tokens, their moments, and the seed of what it draws."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.models import tiny

from trueval.errors import InputError
from trueval.models.generator import Generator
from trueval.models.local_generator import CUT_OFF, LocalGenerator, LocalGeneratorSettings

pytest.importorskip("torch")
pytest.importorskip("transformers")


def write(question: str, passages: object) -> list[dict[str, str]]:
    return [{"role": "system", "content": "Answer."}, {"role": "user", "content": f"{question} {passages}"}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.qwen(tmp_path_factory.mktemp("tiny"), causal=True)


def test_every_token_has_its_moment(folder: Path) -> None:
    made = LocalGenerator(LocalGeneratorSettings(str(folder), max_tokens=6), write)
    assert isinstance(made, Generator)
    found = made.generate(tiny.QUERY, tiny.DOCUMENTS)
    assert len(found.moments) == found.tokens_out == 6
    assert list(found.moments) == sorted(found.moments)
    assert 0 < found.moments[0] < found.moments[-1] <= found.seconds
    assert found.tokens_in is not None
    assert found.tokens_in > len(tiny.QUERY.split())
    assert made.generate(tiny.QUERY, tiny.DOCUMENTS).text == found.text


def test_drawn_tokens_follow_seed_and_sample(folder: Path) -> None:
    def texts(seed: int) -> list[str]:
        use = LocalGeneratorSettings(str(folder), max_tokens=8, temperature=1.0, seed=seed)
        made = LocalGenerator(use, write)
        return [made.generate(tiny.QUERY, [], sample).text for sample in range(3)]

    assert texts(1) == texts(1)
    assert len({*texts(1), *texts(2)}) > 3


def test_nothing_is_loaded_before_the_first_question() -> None:
    made = LocalGenerator(LocalGeneratorSettings("no/such/folder"), write, ["hash"])
    assert made.identity()["sha256"] == ["hash"]
    with pytest.raises(InputError, match="cannot load it"):
        made.generate("q", [])


def test_an_answer_to_a_prompt_that_is_too_long_is_not_known(folder: Path) -> None:
    made = LocalGenerator(LocalGeneratorSettings(str(folder), max_tokens=1000), write)
    found = made.generate(tiny.QUERY, tiny.DOCUMENTS)
    assert (found.text, found.problem) == (
        "",
        "the prompt and max_tokens are more than the 1,024 tokens that the model reads",
    )


def test_an_answer_that_max_tokens_cuts_is_not_known(folder: Path) -> None:
    """As from a server; where the last token is one that the model ends with, the answer is whole."""
    made = LocalGenerator(LocalGeneratorSettings(str(folder), max_tokens=1), write)
    found = made.generate(tiny.QUERY, tiny.DOCUMENTS)
    assert (found.problem, found.tokens_out) == (CUT_OFF, 1)
    model, tokenizer, _ = made._load()
    model.generation_config.eos_token_id = list(range(len(tokenizer)))
    found = made.generate(tiny.QUERY, tiny.DOCUMENTS)
    assert (found.problem, found.tokens_out) == ("", 1)


def test_other_weights_in_the_same_folder_are_another_generator(tmp_path: Path) -> None:
    """A ledger must not answer for a model that was trained on."""
    (tmp_path / "model.safetensors").write_bytes(b"one")
    first = LocalGenerator(LocalGeneratorSettings(str(tmp_path)), write).identity()
    assert first == LocalGenerator(LocalGeneratorSettings(str(tmp_path)), write).identity()
    (tmp_path / "model.safetensors").write_bytes(b"two")
    assert first != LocalGenerator(LocalGeneratorSettings(str(tmp_path)), write).identity()
