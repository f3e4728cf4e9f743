"""A number format of another package: TensorFloat-32, what tensor cores multiply float32 in (NVIDIA A100, 2020)."""

from __future__ import annotations

from trueval.numerics import Format

TF32 = Format("tf32", exponent_bits=8, mantissa_bits=10, largest=(2 - 2**-10) * 2.0**127)
