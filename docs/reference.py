"""Writes the API reference from docstrings: an entry for each public name, with its parameters and examples."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from docs.numpydoc import SECTIONS, Doc, Entry, doc_of, parameters, signature_text
from tapec import config
from tapec.api.compiled.explain import Explanation
from tapec.api.compiled.function import CompiledFunction
from tapec.api.tape.gradient_tape import GradientTape
from tapec.api.transforms.directional import TangentMap
from tapec.api.transforms.sparse_jacobians import SparseFunction
from tapec.api.transforms.vjp import Pullback
from tapec.ops import ArrayLike
from tapec.runtime.memory_cache import CacheInfo
from tapec.scipy.interpolate import BarycentricInterpolator, BSpline, PPoly, RegularGridInterpolator, interp1d
from tapec.scipy.stats import Continuous, Discrete, dirichlet, multivariate_normal

__all__ = ["FAMILIES", "Name", "REFERENCE", "anchor", "members", "names_of", "properties"]


class Family(NamedTuple):
    """A page of the reference: its title, and its names by heading."""

    title: str
    headings: dict[str, str]


def scipy_names(module: str) -> str:
    """What a module of tapec.scipy has of its own: the rest is NumPy's and SciPy's."""
    found = import_module(f"tapec.scipy.{module}")
    own = [n for n in found.__all__ if getattr(found, n).__module__.startswith("tapec.")]
    return " ".join([f"scipy.{module}.{n}" for n in own])


FAMILIES = {
    "transforms": Family(
        "Transforms",
        {
            "First derivatives": "grad value_and_grad vjp jvp linearize jacobian jacrev jacfwd sparsity",
            "Second derivatives": "hessian hvp ggn_vp",
            "Batches, and code": "vmap per_example_grad compile checkpoint",
            "Control flow that is one operation": "cond scan fori_loop while_loop",
        },
    ),
    "compiled": Family(
        "Compiled functions",
        {
            "Methods of compiled functions": "f",
            "More methods of functions that return sparse matrices": "sparse",
            "What the methods return": "Explanation CacheInfo",
            "What vjp and linearize return": "pullback tangent_map",
        },
    ),
    "custom": Family(
        "Derivatives of your own",
        {
            "Rules": "custom_gradient custom_jvp stop_gradient",
            "Solvers": "custom_root fixed_point custom_linear_solve",
            "Checks": "check_grads",
        },
    ),
    "tape": Family(
        "Tapes, tensors and Variables",
        {
            "The tape": "GradientTape UnconnectedGradients",
            "Values": "Variable Tensor IndexedSlices",
            "Making tensors": "constant convert_to_tensor zeros ones full empty",
        },
    ),
    "settings": Family("Settings and caches", {"Settings": "settings", "Caches of tapes": "cache_info cache_clear"}),
    "testing": Family(
        "Help for tests",
        {"Compilations": "testing.assert_compiles", "Rewrite rules": "testing.check_rewrite testing.check_unchanged"},
    ),
    "ir": Family(
        "Graphs",
        {
            "The package": "ir",
            "Graphs and nodes": "ir.Graph ir.Node ir.Type ir.type_of ir.broadcast_shapes",
            "Making graphs": "ir.Builder ir.input_node ir.constant ir.is_literal ir.parse",
            "Checking and running": "ir.verify ir.interpret ir.compute ir.by_python",
            "Changing": "ir.prune ir.replaced ir.rebuilt",
            "Ops": "ir.Op ir.get_op ir.register ir.OpSet ir.OpTable",
        },
    ),
    "scipy-special": Family("scipy.special", {"Functions": scipy_names("special")}),
    "scipy-linalg": Family("scipy.linalg", {"Functions": scipy_names("linalg")}),
    "scipy-fft": Family("scipy.fft", {"Functions": scipy_names("fft")}),
    "scipy-signal": Family("scipy.signal", {"Functions": scipy_names("signal")}),
    "scipy-ndimage": Family("scipy.ndimage", {"Functions": scipy_names("ndimage")}),
    "scipy-interpolate": Family(
        "scipy.interpolate",
        {
            "Curves and tables": scipy_names("interpolate"),
            "Calling a PPoly, or one of the cubic curves": "ppoly",
            "Calling a BSpline": "bspline",
            "Calling an interp1d": "curve",
            "Calling a RegularGridInterpolator": "grid",
            "Calling a BarycentricInterpolator": "polynomial",
        },
    ),
    "scipy-integrate": Family("scipy.integrate", {"Differential equations": scipy_names("integrate")}),
    "scipy-spatial": Family("scipy.spatial.distance", {"Functions": scipy_names("spatial.distance")}),
    "scipy-stats": Family(
        "scipy.stats",
        {
            "Distributions": scipy_names("stats"),
            "Methods of continuous distributions": "continuous",
            "Methods of discrete distributions": "discrete",
            "Methods of distributions of vectors": "dirichlet multivariate_normal",
        },
    ),
}

# classes that users meet, but do not name: what the entries of their methods begin with, and the classes
UNNAMED: dict[str, Any] = {
    "f": CompiledFunction,
    "sparse": SparseFunction,
    "Explanation": Explanation,
    "CacheInfo": CacheInfo,
    "pullback": Pullback.__call__,
    "tangent_map": TangentMap.__call__,
    "ppoly": PPoly.__call__,
    "bspline": BSpline.__call__,
    "curve": interp1d.__call__,
    "grid": RegularGridInterpolator.__call__,
    "polynomial": BarycentricInterpolator.__call__,
    "continuous": Continuous,
    "discrete": Discrete,
    "dirichlet": type(dirichlet),
    "multivariate_normal": type(multivariate_normal),
}
METHODS_ALONE = {"f", "sparse", "continuous", "discrete", "dirichlet", "multivariate_normal"}
MOST_USED: dict[type, str] = {  # methods that stand first
    CompiledFunction: "source explain ir export cache_info cache_clear",
    GradientTape: "watch gradient jacobian batch_jacobian source ir",
}
CALLS = {"pullback", "tangent_map", "ppoly", "bspline", "curve", "grid", "polynomial"}
NOT_FOR_USERS = {"accessed", "of"}  # what other code of tapec calls


class Name(NamedTuple):
    """A public name: as users write it, the object, and whether it is a method."""

    shown: str
    object: Any
    is_method: bool = False

    @property
    def is_called(self) -> bool:
        """Return whether users call it: no Enum, and no class whose objects tapec makes."""
        x = self.object
        return callable(x) and not (inspect.isclass(x) and (issubclass(x, Enum) or self.shown in UNNAMED))

    @property
    def parameters(self) -> list[inspect.Parameter]:
        return parameters(self.object, self.is_method) if self.is_called else []

    @property
    def doc(self) -> Doc:
        doc = doc_of(self.object)
        if self.object is not config.settings:
            return doc
        sections = {**doc.sections, "Attributes": settings_entries()}
        return doc._replace(sections={s: sections[s] for s in SECTIONS if s in sections})


def settings_entries() -> list[Entry]:
    """Each setting, from the docstring of its property."""
    told = {n: inspect.getdoc(getattr(config.Settings, n)) or "" for n in config.Values._field_defaults}
    kinds = {n: type(default).__name__ for n, default in config.Values._field_defaults.items()}
    defaults = {n: repr(default) for n, default in config.Values._field_defaults.items()}
    return [Entry((n,), kinds[n], defaults[n], f"{text[0].upper()}{text[1:]}.") for n, text in told.items()]


def found(name: str) -> Any:
    """The object of a name: of tapec, or below one of its modules."""
    module, _, last = f"tapec.{name}".rpartition(".")
    return getattr(import_module(module), last)


def names_of(family: str) -> Iterator[tuple[str, list[Name]]]:
    """Each heading of a page, and its names in their order: classes with their methods behind them."""
    for heading, listed in FAMILIES[family].headings.items():
        names: list[Name] = []
        for name in listed.split():
            x, shown = (UNNAMED[name], name) if name in UNNAMED else (found(name), f"tapec.{name}")
            names += [*([] if name in METHODS_ALONE else [Name(shown, x, name in CALLS)]), *members(shown, x)]
        yield heading, names


def members(shown: str, x: Any) -> list[Name]:
    """The public methods that a class of tapec adds to those of arrays."""
    if not inspect.isclass(x) or issubclass(x, Enum):
        return []
    return [Name(f"{shown}.{n}", getattr(x, n), True) for n in _own(x) if callable(getattr(x, n, None))]


def properties(x: Any) -> list[str]:
    """The fields of a class of tapec, and the public properties that it adds to those of arrays."""
    fields = [f.name for f in dataclasses.fields(x)] if dataclasses.is_dataclass(x) else list(getattr(x, "_fields", ()))
    return fields + [n for n in _own(x) if isinstance(getattr(x, n, None), property)]


def _own(x: type) -> list[str]:
    """The public names of a class, in the order of their definition, that arrays do not have."""
    classes = [c for c in reversed(x.__mro__) if c.__module__.startswith("tapec.")]
    if x.__module__.startswith("tapec.scipy."):  # what it inherits stands at the class that it is from
        classes = [x]
    names = dict.fromkeys([n for c in classes for n in vars(c) if not n.startswith("_")])
    if issubclass(x, ArrayLike):
        of_arrays = {*dir(np.ndarray), *dir(np.float64), *dir(np)}
        names = {n: None for n in names if n not in of_arrays}
    if x is SparseFunction:
        names = {n: None for n in names if not hasattr(CompiledFunction, n)}
    first = MOST_USED.get(x, "").split()
    return [n for n in dict.fromkeys([*first, *names]) if n not in NOT_FOR_USERS]


# -- Markdown ----------------------------------------------------------------------------------------------------------
def anchor(shown: str) -> str:
    """Where a name stands: its page, and the anchor that its heading gets."""
    return PAGE_OF[shown] + "#" + shown.replace(".", "").lower()


def entry(name: Name) -> str:
    """A heading, the signature, and the docstring with its sections."""
    x, doc = name.object, name.doc
    below = name.is_method and name.shown.partition(".")[0] not in METHODS_ALONE | CALLS
    lines = [f"{'####' if below else '###'} {name.shown}\n"]
    if name.is_called:
        lines.append(f"```text\n{signature_text(name.shown, name.parameters)}\n```\n")
    lines += [doc.summary, "", blocks(doc.extended)] if doc.extended else [doc.summary]
    if inspect.isclass(x) and issubclass(x, Enum):
        lines += ["", *[f"- `{m}`: `{m.value!r}`" for m in x]]
    for section, body in doc.sections.items():
        if section == "See Also":
            lines.append("\n**See also:** " + ", ".join([sibling(n, e.kind) for e in body for n in e.names]))
        elif isinstance(body, str):
            lines.append(f"\n**{section}**\n\n{blocks(body)}")
        else:
            lines.append(f"\n**{section}**\n\n" + "\n".join(map(item, body)))
    return "\n".join(lines) + "\n"


def item(e: Entry) -> str:
    names = ", ".join([f"`{n}`" for n in e.names])
    kind = e.kind + ("" if e.default is None else f"{', ' if e.kind else ''}default `{e.default}`")
    kind = re.sub(r"^compiled function\b", "[compiled function](api-compiled.md)", kind)
    head = f"{names} ({kind})" if names and kind else names or kind
    return f"- {head}: {' '.join(e.text.split())}"


def sibling(name: str, text: str) -> str:
    link = f"[`{name}`]({anchor(name)})" if name in PAGE_OF else f"`{name}`"
    return f"{link} ({text.rstrip('.')})" if text else link


def blocks(text: str) -> str:
    """Text of a docstring as Markdown: examples become blocks."""
    out: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.lstrip().startswith(">>> ") and not inside:
            out += ["", "```pycon"] if out and out[-1] else ["```pycon"]
            inside = True
        elif inside and not line.strip():
            out.append("```")
            inside = False
        out.append("" if line.strip() == "<BLANKLINE>" else line)
    return "\n".join([*out, "```"] if inside else out)


def page(family: str) -> str:
    parts = [f"## {h}\n\n" + "\n".join(map(entry, names)) for h, names in names_of(family)]
    return "\n".join(parts)


def index() -> str:
    """All names, with their first sentences, by page."""
    parts = []
    for family, about in FAMILIES.items():
        rows = [f"- [`{n.shown}`]({anchor(n.shown)}): {n.doc.summary}" for _, names in names_of(family) for n in names]
        parts.append(f"## [{about.title}](api-{family}.md)\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


PAGE_OF = {n.shown: f"api-{f}.md" for f in FAMILIES for _, names in names_of(f) for n in names}
REFERENCE: dict[str, Callable[[], str]] = {
    "api": index,
    **{f"api_{f.replace('-', '_')}": partial(page, f) for f in FAMILIES},
}
