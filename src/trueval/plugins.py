"""What other packages register by entry points, each object under its own name."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from trueval.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

T = TypeVar("T")


def load_plugins(group: str, kind: type[T], taken: Container[str]) -> Mapping[str, T]:
    """The objects of an entry point group by name.

    Args:
        group: such as "trueval.formats".
        kind: class of each object, whose `name` is that of its entry point.
        taken: names that we have.

    Raises:
        PolicyError: one cannot be imported, is no such object, or has another name or one that is taken.

    >>> dict(load_plugins("trueval.no_such_group", int, ()))
    {}
    """
    from importlib.metadata import entry_points  # reads the metadata of every installed package, so only on demand

    found: dict[str, T] = {}
    # By value: a package that is installed twice, once as a checkout, declares the same thing twice.
    for point in {each.value: each for each in entry_points(group=group)}.values():
        where = f"{point.name} = {point.value} of {group}" + (f", from {point.dist.name}," if point.dist else "")
        cure = "Mend or uninstall the package that brings it."
        try:
            known = point.load()
        except Exception as error:
            raise PolicyError(f"{where} cannot be imported: {error}. {cure}") from error
        if not isinstance(known, kind) or getattr(known, "name", None) != point.name:
            raise PolicyError(f"{where} must be a {kind.__name__} of that name. Got {known!r}. {cure}")
        if point.name in taken or point.name in found:
            raise PolicyError(f"{where} has a name that is taken. Names must differ. {cure}")
        found[point.name] = known
    return MappingProxyType(found)
