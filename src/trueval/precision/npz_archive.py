"""Arrays of an .npz file, whose headers are checked before memory is allocated.

np.load takes as much memory as an array's header asks for, reads the members of a damaged file until one fails, and has
a different error for each way of being damaged.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trueval.errors import InputError, Place
from trueval.files.source.memory_estimate import check_memory
from trueval.files.source.source_bytes import can_be_read_once, read_bytes
from trueval.printable import encodable

if TYPE_CHECKING:
    from numpy.typing import NDArray

SUFFIX = ".npy"
ENCRYPTED = 0x1  # bit 0 of a member's flags: APPNOTE.TXT of zip, section 4.4.4
WORDS = {"f": "real numbers", "i": "integers", "u": "integers", "U": "texts", "S": "texts"}
VALUE, PAIR = 3, 250  # bytes of memory per byte of the arrays, and per pair: docs/files.md
CURE = "Write it with numpy.savez_compressed."


class Header(NamedTuple):
    """The header of an array.

    Attributes:
        shape: shape of the array.
        dtype: dtype of its values.
        length: length of the header in bytes.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    length: int

    @property
    def bytes(self) -> int:
        """Size of the array's values in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_archive(path: str, names: Collection[str]) -> dict[str, NDArray[Any]]:
    """Read the named arrays of an .npz file; other arrays are ignored.

    Args:
        path: path of a regular file, since it is read more than once.
        names: names of the requested arrays; missing ones are skipped.

    Returns:
        Arrays of real numbers, integers or texts, by name.

    Raises:
        InputError: the file is missing, no .npz file, damaged, or holds an array twice; an array is of other values, or
            takes more memory than there is.
    """
    place = Place(encodable(path))
    if can_be_read_once(path):
        raise place.error("this is not a regular file, and stored logits are read twice. Save them to a file.")
    data = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = _members(archive, names, place)
            headers = {name: _header(archive, member, place) for name, member in members.items()}
            pairs = max((header.shape[0] for header in headers.values() if header.shape), default=0)
            needed = sum(header.bytes for header in headers.values()) * VALUE + pairs * PAIR + len(data)
            check_memory(needed, place, held=len(data))
            return {name: _read(archive, member) for name, member in members.items()}
    except InputError:  # is a ValueError, too
        raise
    # zipfile, zlib and numpy.lib.format raise a dozen kinds of errors for damaged bytes, including the tokenizer's and
    # ast's.
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise place.error(f"not an .npz file, or a damaged one ({reason}). {CURE}") from error


def _members(archive: zipfile.ZipFile, names: Collection[str], place: Place) -> dict[str, zipfile.ZipInfo]:
    found: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(SUFFIX)
        if name not in names or not member.filename.endswith(SUFFIX):
            continue
        if name in found:
            raise place.error(f"the array {name} is there twice. Nobody can say which is meant. {CURE}")
        if member.flag_bits & ENCRYPTED:
            raise place.error(f"the array {name} is encrypted. {CURE}")
        found[name] = member
    return found


def _header(archive: zipfile.ZipFile, member: zipfile.ZipInfo, place: Place) -> Header:
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
        header = Header(shape, dtype, stream.tell())
    name = member.filename.removesuffix(SUFFIX)
    if dtype.kind not in WORDS:
        raise place.error(f"the array {name} holds values of type {dtype}. It must hold numbers or texts. {CURE}")
    # A shape that contains 0 takes no memory, whatever its other numbers.
    if min(shape, default=1) < 0 or header.bytes + header.length != member.file_size:
        raise place.error(f"the array {name} has the shape {shape}, which its bytes do not have. {CURE}")
    return header


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(member) as stream:
        array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)  # a pickle could run code
        stream.read(1)  # at the end of a member, its checksum is compared
    return array
