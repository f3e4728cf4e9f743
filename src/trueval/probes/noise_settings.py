"""Settings of the noise probe: levels, templates and denoising, and the conditions that they define."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from trueval.errors import InputError, nearest
from trueval.probes.query_noise import BANKS, LEVELS

NONE: Final = "none"
RULES: Final = "rules"
JUDGE: Final = "judge"
WAYS: Final = (NONE, RULES, JUDGE)
QUERIES: Final = 100


class NoiseCondition(NamedTuple):
    """A way to write the queries.

    Attributes:
        level: level of noise, 0 to 4.
        templates: bank of noise templates; "" at level 0, which has none.
        denoised: method of denoising: "none", "rules" or "judge".
        normalised: whether the text is normalized at the end (NFC, plain spaces and apostrophes).
    """

    level: int
    templates: str
    denoised: str
    normalised: bool

    @property
    def description(self) -> str:
        """The condition in words.

        >>> NoiseCondition(3, "known", RULES, True).description
        'level 3, known templates, denoised by rules, normalised'
        """
        words = [f"level {self.level}"] if self.level else ["clean"]
        words += [f"{self.templates} templates"] if self.templates else []
        words += {RULES: ["denoised by rules"], JUDGE: ["rewritten by a judge"]}.get(self.denoised, [])
        return ", ".join([*words, *(["normalised"] if self.normalised else [])])


CLEAN: Final = NoiseCondition(0, "", NONE, False)


@dataclass(frozen=True, eq=False)
class NoiseSettings:
    """Settings of a noise probe.

    Attributes:
        language: language of the noise, "en" or "fr".
        levels: levels of noise, 0 to 4.
        templates: banks of noise templates.
        denoised: methods of denoising: "none", "rules" or "judge".
        normalised: whether texts are normalized: off, on, or both.
        queries: number of queries to sample.
        seed: seed of all random numbers.
    """

    language: str
    levels: tuple[int, ...] = tuple(range(len(LEVELS)))
    templates: tuple[str, ...] = BANKS
    denoised: tuple[str, ...] = (NONE, RULES)
    normalised: tuple[bool, ...] = (False, True)
    queries: int = QUERIES
    seed: int = 0

    def __post_init__(self) -> None:
        for name, chosen in (("levels", self.levels), ("templates", self.templates), ("denoise", self.denoised)):
            if not chosen:
                raise InputError(f"{name} must name one at least, or there is nothing to compare with. Got none.")
        for way in self.denoised:
            if way not in WAYS:
                raise InputError(f"denoise must be of {', '.join(WAYS)}. Got {way!r}.{nearest(way, WAYS)}")
        for level in self.levels:
            if level not in range(len(LEVELS)):
                raise InputError(f"levels must be from 0 to {len(LEVELS) - 1}. Got {level!r}.")
        if self.queries < 2:
            raise InputError(f"queries must be at least 2. Got {self.queries!r}.")

    def conditions(self) -> Iterator[NoiseCondition]:
        """All conditions, the clean one first."""
        yield CLEAN
        for level in self.levels:
            for bank in self.templates if level else ("",):
                for way in self.denoised:
                    for guarded in self.normalised:
                        found = NoiseCondition(level, bank, way, guarded)
                        if found != CLEAN:
                            yield found
