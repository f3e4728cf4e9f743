"""The compiled kernel (_scan.c): one pass over lines of fields, and columns for polars without a copy.

The functions let other threads run, except export.
"""

from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

Memory = Buffer | NDArray[Any]

def count_lines(text: Buffer, /) -> int:
    """Count the lines of a text; the last may lack its end."""

def scan(
    text: Buffer,
    roles: str,
    separator: int,
    part: int,
    longest: int,
    powers: Memory,
    views: Memory,
    numbers: Memory,
    ranks: Memory,
    /,
) -> tuple[int, bytes, bytes, bytes] | None:
    """Write the columns of a part of a text, if it is regular.

    Regular is a text whose lines each have one field of visible ASCII characters for each role, one separator between
    them, and none of which begins with "#". A number is -?digits[.digits][e[+-]digits] and comes out as the nearest
    double, half to even; an integer has at most 9 digits.

    Args:
        text: whole lines; only the last may lack its end.
        roles: of the fields, one character each: q query, d document, n number, r rank, anything else is not kept.
        separator: the byte between fields.
        part: which part of a larger text this is; views name it.
        longest: bytes that a line may have, but for its newline.
        powers: of five, as scan.py makes them.
        views: [row] 16 bytes; written: the Arrow view of each document.
        numbers: [row] double; written. As many rows as the text may have.
        ranks: [row] int32; written where there are ranks.

    Returns:
        rows, and for each stretch of rows with one query its first row (int64) and view, and the text of all strings
        of more than 12 bytes; None if the text is not regular, has 2 GiB or more, has more rows than there is room
        for, or holds a number whose nearest double takes more than 192 bits of arithmetic to tell.

    Raises:
        ValueError: an argument is too small for what would be written, or not aligned.
    """

def export(kind: str, values: Memory, texts: list[bytes], /) -> tuple[object, object]:
    """Give memory to whoever reads Arrow, without a copy: the two capsules of __arrow_c_array__.

    Args:
        kind: "u" for views of strings, "g" for doubles, "i" for int32.
        values: [row] them. Kept until the reader lets go.
        texts: [part] of long strings; empty for numbers.
    """
