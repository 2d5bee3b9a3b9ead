"""Define the stand-in for `sys`: which modules are loaded is a fact, where a function asks for one by its name."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, MutableMapping
from typing import Any

from tapec.trace.capture.captured_paths import CapturedPath, is_own_code, module_file

__all__ = ["sys_for"]

_ALL = CapturedPath("sys.modules", "_sys.modules", {"_sys": sys}, lambda: sys.modules)


class _Loaded(MutableMapping[str, Any]):
    """Stands in for `sys.modules`."""

    def __init__(self, captures: Any):
        self._captures = captures

    def __contains__(self, name: object) -> bool:
        found = name in sys.modules
        text = f"{name!r} in sys.modules"
        fact = CapturedPath(text, f"({name!r} in _sys.modules)", _ALL.names, lambda: name in sys.modules)
        self._captures.facts.add(fact, found)
        return found

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        path, module = _ALL.item(name), sys.modules[name]
        if is_own_code(module_file(module)):
            return self._whole()[name]
        self._captures.facts.add(path, module)
        return module

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())

    def __setitem__(self, name: str, module: Any) -> None:
        self._whole()[name] = self._captures.stores.plain(module)

    def __delitem__(self, name: str) -> None:
        del self._whole()[name]

    def _whole(self) -> dict[str, types.ModuleType]:
        self._captures.trace.require_retrace("it reads sys.modules")
        return sys.modules


class _Sys(types.ModuleType):
    """Stands in for `sys`: it has nothing of its own but the modules."""

    def __init__(self, captures: Any):
        super().__init__("sys")
        self.__dict__.clear()
        self.__dict__["modules"] = _Loaded(captures)

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(sys, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(sys, name)


def sys_for(captures: Any, value: Any) -> Any:
    """Return the stand-in for `sys`, or for its modules; any other value as it is."""
    if value is not sys and value is not sys.modules:
        return value
    if captures.sys is None:
        captures.sys = _Sys(captures)
        captures.identities.is_behind(sys, captures.sys)
        captures.identities.is_behind(sys.modules, captures.sys.modules)
    return captures.sys if value is sys else captures.sys.modules
