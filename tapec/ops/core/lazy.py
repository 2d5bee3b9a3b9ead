"""Load families of ops on first use: a table of their loaders and of the NumPy functions that they define.

The gate of a package, `ops/<package>/lazy.py`, enters its families here, each as a function that imports one module:

    @family("diff ediff1d gradient trapezoid trapz")
    def differences() -> ModuleType:
        from tapec.ops.signal import differences

        return differences

Together these families would be a quarter of what `import tapec` takes. The first call of `np.diff` on a stand-in, or
the first look-up of an op by its name (`ir.op.get_op`), imports them.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from tapec.ir import Op
from tapec.ir.op import FAMILIES, OPS
from tapec.ops.core.numpy_tables import FUNCTIONS

__all__ = ["HOME", "bring_in", "family", "function_table", "import_all", "ops_of_prefix"]

Loader = Callable[[], ModuleType]

HOME: dict[str, str] = {}  # name of a NumPy function -> module of its family
_LOADERS: dict[str, Loader] = {}  # module of a family -> the gate's function that imports it
_PENDING: dict[str, dict[Any, Callable[..., Any]]] = {}  # module of a family -> what it has defined so far


def family(functions: str) -> Callable[[Loader], Loader]:
    """Enter the family that a gate's function imports: the module beside the gate that has the function's name.

    `functions` lists the NumPy functions to which the family gives a meaning.
    """

    def enter(load: Loader) -> Loader:
        module = f"{load.__module__.removesuffix('.lazy')}.{load.__name__}"
        HOME.update(dict.fromkeys(functions.split(), module))
        _LOADERS[module], _PENDING[module] = load, {}
        return load

    return enter


def function_table(module: str) -> dict[Any, Callable[..., Any]]:
    """Return the table into which a module enters its functions: that of its family until all of it is imported.

    Another thread that finds a function in `FUNCTIONS` must find the whole module behind it.
    """
    return _PENDING.get(module, FUNCTIONS)


def bring_in(module: str) -> None:
    """Import a family; then publish its functions to all threads."""
    _LOADERS[module]()
    FUNCTIONS.update(_PENDING[module])


def import_all() -> None:
    """Define every op that needs only NumPy: for code that walks through the table, or looks an op up by its name."""
    for module in _LOADERS:
        bring_in(module)


def ops_of_prefix(prefix: str, *loaders: Loader) -> None:
    """Import these modules when an op whose name has this prefix is first looked up by name."""

    def find(name: str) -> Op | None:
        for load in loaders:
            load()
        return OPS.get(name)

    FAMILIES[prefix] = find


def _of_numpy(name: str) -> Op | None:
    import_all()
    return OPS.get(name)


FAMILIES[""] = _of_numpy
