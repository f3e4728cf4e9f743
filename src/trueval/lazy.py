"""Names that a package exports but loads on first use."""

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType


class LazyPackage(ModuleType):
    """A package whose exports are imported when they are first asked for.

    Importing a submodule binds its name in the package, which would hide an export of the same name: after
    `import trueval.evaluate` a person would find a module under `trueval.evaluate` and not the function. Such a
    binding is refused; `sys.modules` still holds the submodule.
    """

    _exports: Mapping[str, str]

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") or name not in self._exports:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        module = import_module(self._exports[name])
        value: object = getattr(module, name, module)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and self._exports.get(name) == value.__name__:
            return
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._exports})


def export_lazily(package: str, exports: Mapping[str, str]) -> None:
    """Lets a package export names that live in modules not imported yet.

    Args:
        package: name of the package, `__name__` in its `__init__.py`.
        exports: exported name → the module that defines it.

    Example:
        >>> import trueval
        >>> callable(trueval.parse)
        True
    """
    module = sys.modules[package]
    module.__dict__["_exports"] = exports
    module.__class__ = LazyPackage
