"""Run portable code on arrays of other libraries, and hold it against what NumPy gives."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tapec.codegen import Compiled, compile_graph
from tapec.errors import UnsupportedError
from tapec.ir import Graph, interpret
from tapec.ir.checks.sample_values import sample_values

os.environ.setdefault("JAX_ENABLE_X64", "1")  # its own default is single precision

LIBRARIES = {
    "numpy": "numpy",
    "strict": "array_api_strict",
    "dask": "array_api_compat.dask.array",
    "jax": "jax.numpy",
    "torch": "array_api_compat.torch",
}
# what libraries lack of the array API, by the words of their errors
LACKS = {
    "numpy": ("has no attribute 'cumulative_",),  # before version 2.1
    "dask": (
        "has no attribute",
        "has no function that",
        "NotImplementedError",
        "not implemented",
        "unknown",
        "item assignment",
        "keyword argument",
    ),
    "jax": ("has no attribute",),
    "torch": ("has no attribute", "not implemented for", "is not supported"),
}


def namespace(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module(LIBRARIES[name])


def check(name: str, function: Any, values: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Return whether a library has all that a function needs; its results must be NumPy's."""
    xp = namespace(name)
    given = [x if type(x) in (int, float, complex, bool) else xp.asarray(x) for x in values]
    try:
        found = [np.asarray(y) for y in function(xp, *given)]
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        if any(word in said for word in LACKS.get(name, ())):
            return False
        raise
    for y, z in zip(found, expected, strict=True):
        assert (y.shape, y.dtype) == (np.shape(z), np.asarray(z).dtype), name
        single = y.dtype.name in ("float32", "complex64")
        np.testing.assert_allclose(y, z, rtol=1e-4 if single else 1e-9, atol=1e-5 if single else 1e-9)
    return True


def portable(graph: Graph) -> Any:
    """Return the function for other libraries; None where an operation has none there."""
    try:
        return compile_graph(graph, "f", target="portable").function
    except UnsupportedError:
        return None


def interpreted(graph: Graph, values: Sequence[Any]) -> list[Any] | None:
    """Return what NumPy gives; None for numbers that the program is not made for, or at which rounding decides."""
    near = [x * (1 + 1e-13) if np.asarray(x).dtype.kind in "fc" else x for x in values]
    try:
        with np.errstate(all="ignore"):
            found, other = [interpret(graph, *given) for given in (values, near)]
    except Exception:  # such as that of a matrix that has no inverse
        return None
    alike = [np.allclose(a, b, rtol=1e-10, atol=1e-10, equal_nan=True) for a, b in zip(found, other, strict=True)]
    return found if all(alike) else None


class Counts:
    """Counts the programs that a page or an example has compiled: written, refused, and run by each library."""

    def __init__(self, libraries: Sequence[str]):
        self.libraries = libraries
        self.seen: set[str] = set()
        self.codes: list[Compiled] = []
        self.ran = dict.fromkeys(libraries, 0)
        self.written = self.refused = 0

    def add(self, code: Compiled) -> None:
        if code.graph.fingerprint not in self.seen and sum(o.type.size for o in code.graph.outputs) < 10**5:
            self.seen.add(code.graph.fingerprint)
            self.codes.append(code)

    def run(self) -> None:
        for code in self.codes:
            function = portable(code.graph)
            self.refused += function is None
            self.written += function is not None
            values = sample_values(code.graph)
            expected = interpreted(code.graph, values)
            if function is not None and expected is not None:
                for name in [
                    name for name in self.libraries if name not in ("dask", "jax") or function.compiled.lines < 150
                ]:
                    self.ran[name] += check(name, function, values, expected)


def main(libraries: Sequence[str], paths: Sequence[str]) -> None:
    """Run pages and examples, and then what they have compiled on each library; print the counts."""
    import runpy

    from docs.blocks import run_page
    from tapec.runtime.compile import WATCHERS

    counts = Counts(libraries)
    WATCHERS.append(counts.add)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # examples write pictures
        for path in map(Path, paths):
            if path.suffix == ".md":
                run_page(path)
            else:
                sys.path.insert(0, str(path.parent))
                runpy.run_path(str(path), run_name="__main__")
    WATCHERS.clear()
    counts.run()
    print("counts", counts.written, counts.refused, *counts.ran.values())


if __name__ == "__main__":
    main(sys.argv[1].split(","), sys.argv[2:])
