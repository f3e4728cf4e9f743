"""Presets of a precision audit: the settings of a publication, each of which a call can override."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from trueval.errors import PolicyError, nearest


@dataclass(frozen=True)
class AuditPreset:
    """Settings of an audit.

    Attributes:
        measures: text forms of the measures.
        dtypes: number formats in which models run.
        batch_size: texts or pairs per forward pass.
        max_length: maximum number of tokens; of a model with a lower limit its own.
        choices: attributes of the policy, and its convention.
        source: where the settings are published.
    """

    measures: tuple[str, ...]
    dtypes: tuple[str, ...]
    batch_size: int
    max_length: int
    choices: Mapping[str, str]
    source: str


PRESETS: Final[Mapping[str, AuditPreset]] = MappingProxyType(
    {
        # Table 1's measures and Hits of Appendix C. The paper leaves out queries without a relevant document (E.2).
        "paper": AuditPreset(
            measures=("nDCG@10", "RR@10", "AP@3", "Hits@10"),
            dtypes=("bfloat16", "float16", "float32"),
            batch_size=16,
            max_length=4096,
            choices={"convention": "paper", "empty": "skip"},
            source="arXiv 2508.03306, Appendix E.1 and E.2",
        )
    }
)


def find_preset(name: str) -> AuditPreset:
    """A preset by its name.

    Raises:
        PolicyError: there is none.

    >>> find_preset("paper").max_length
    4096
    """
    if name not in PRESETS:
        raise PolicyError(f"A preset must be one of: {', '.join(PRESETS)}. Got {name!r}.{nearest(name, list(PRESETS))}")
    return PRESETS[name]
