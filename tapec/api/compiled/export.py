"""Export generated code: `f.export(path, *args)` writes a module that needs NumPy and `math` alone.

The module holds the generated function, the captured values as named constants, and a face that takes the user's
arguments: it checks that they are what the code was generated for, takes them apart, and puts the result together.
"""

from __future__ import annotations

import inspect
import os
import re
from contextlib import suppress
from typing import Any

import numpy as np

import tapec
from tapec.api import tuning
from tapec.api.compiled.export_free_axes import free_axes
from tapec.api.compiled.signature import value_of
from tapec.api.compiled.stub_table import Out
from tapec.codegen import compile_graph
from tapec.codegen.runtime_helpers import helper_text
from tapec.errors import TapecError, at_user_line
from tapec.ir.types import NUMBERS, Type
from tapec.ops.core.op_helpers import source_of_value
from tapec.pytree import LEAF, in_order

__all__ = ["Text", "by_path", "constant_text", "export_module", "module_text", "result_text", "write_module"]

_HELPERS = '''\
class Mismatch(TypeError):
    """The arguments are not what this code was generated for."""


def _array(value, name, shape, dtype):
    value = np.asarray(value)
    sizes = [n if wanted is None else wanted for n, wanted in zip(value.shape, shape)]  # None: any size
    if value.ndim != len(shape) or list(value.shape) != sizes or value.dtype != dtype:
        found = f"{value.dtype}{list(value.shape)}"
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise Mismatch(f"{name} is {found}; this code was generated for {dtype}[{wanted}]")
    return value[()]


def _number(value, name, kind):
    if isinstance(value, bool) or not isinstance(value, (int, kind)):
        raise Mismatch(f"{name} is {type(value).__name__}; this code was generated for {kind.__name__}")
    return kind(value)


def _require(holds, message):
    if not holds:
        raise Mismatch(message)
'''


class _Module:
    """Holds the parts of a module under construction."""

    def __init__(self, free: dict[Any, Any]) -> None:
        self.free = free
        self.constants: list[str] = []
        self.taken: set[str] = {"np", "math"}
        self.body: list[str] = []

    def name(self, wish: str) -> str:
        name, k = wish, 1
        while name in self.taken:
            k += 1
            name = f"{wish}{k}"
        self.taken.add(name)
        return name


def write_module(function: Any, path: Any, args: Any, kwargs: Any) -> None:
    """Write the module to a file, all of it or nothing."""
    write_text(export_module(function, args, kwargs), path)


def write_text(text: str, path: Any) -> None:
    target = os.fspath(path)
    scratch = f"{target}.part"
    try:
        with open(scratch, "w", encoding="utf-8") as f:
            f.write(text)
        os.replace(scratch, target)
    except OSError as error:  # of the file that was asked for, and nothing is left of the other
        with suppress(OSError):
            os.unlink(scratch)
        raise OSError(error.errno, error.strerror, target) from None


def export_module(function: Any, args: Any, kwargs: Any) -> str:
    """The text of the module for the signature of these arguments."""
    entry, program, _ = function.locate(*args, **kwargs)
    if program is None or program.is_retraced:
        raise TapecError(at_user_line(f"{function._name} cannot be exported: {entry.reason_to_record}"))
    return module_text(function, entry, program, free_axes(function, program, args, kwargs))


def module_text(
    function: Any, entry: Any, program: Any, free: dict[Any, Any] | None = None, results: Any = None
) -> str:
    """`free` are axes that may be of any length, each with the first one that is as long; `results(program, module)`
    writes what is given back, where that is not for NumPy alone."""
    module = _Module(free or {})
    name = module.name(_face_name(function))
    inner = module.name(f"{name}_of_leaves")
    tree = program.tree if program.branches else None
    compiled = compile_graph(program.graph, inner, tree, silenced=program.built.silenced)
    source = _named_misses(compiled.source)
    if compiled.helpers:
        source = f"{source.strip()}\n\n\n{_helpers_of(compiled)}\n"
    module.taken.update(re.findall(r"^def (\w+)", source, re.M))
    for key, value in compiled.constants.items():
        module.taken.add(key)
        module.constants.append(f"{key} = {constant_text(value)}")
    parameters, variables = _parameters(function, entry, module)
    inputs = []
    for s in program.sources.values():
        inputs.append(variables[s.key] if s.kind == "argument" else _baked(s, module))
    module.body.append(f"r = {inner}({', '.join(inputs)})")
    module.body += _results(program, function, entry) if results is None else results(program, module)
    return _assemble(function, name, source, module, parameters)


def _helpers_of(compiled: Any) -> str:
    try:
        return helper_text(compiled.helpers)
    except ValueError as error:
        raise TapecError(at_user_line(f"{compiled.name} cannot be exported: {error}")) from None


def _face_name(function: Any) -> str:
    return re.sub(r"\W", "_", function._name)


def _assemble(function: Any, name: str, source: str, module: _Module, parameters: str) -> str:
    doc = inspect.getdoc(function._function) or f"Generated from {getattr(function._function, '__qualname__', name)}."
    body = "\n".join(f"    {line}" for line in module.body)
    imports = [f"import {m}" for m in ("math",) if "math." in source]
    imports += sorted({f"import {m}" for m in re.findall(r"\bscipy\.\w+", source + body)})
    needs = "NumPy and SciPy" if "scipy." in source + body else "NumPy"
    head = f'"""{name}, generated by tapec {tapec.__version__}. It needs {needs} alone."""'
    parts = [
        head,
        "",
        *imports,
        *([""] if imports else []),
        "import numpy as np",
        "",
        f"__version__ = {tapec.__version__!r}  # of tapec, which generated this",
        f"__all__ = [{name!r}]",
        *(["", *module.constants] if module.constants else []),
        "",
        "",
        f"def {name}({parameters}):",
        *_docstring(doc),
        body,
        "",
        "",
        source.strip(),
        "",
        "",
        _HELPERS.strip(),
    ]
    return "\n".join(parts) + "\n"


def _docstring(doc: str) -> list[str]:
    lines = doc.replace("\\", "\\\\").replace('"""', '\\"\\"\\"').splitlines()
    if len(lines) == 1:
        return [f'    """{lines[0]}"""']
    return [f'    """{lines[0]}', *[f"    {line}".rstrip() for line in lines[1:]], '    """']


def _named_misses(source: str) -> str:
    """Replace each `return None` of the generated code, an unknown path, by an error that names the condition."""
    lines = source.splitlines()
    for k, line in enumerate(lines):
        if line.strip() == "return None":
            above = next((p for p in reversed(lines[:k]) if p.strip().startswith(("if ", "elif "))), "")
            condition, _, comment = above.partition("  # ")
            said = comment.strip() or condition.strip().removeprefix("if ").removesuffix(":")
            message = f"the function was never traced on this side of the branch {said}"
            lines[k] = f"{line[: len(line) - len(line.lstrip())]}raise ValueError({message!r})"
    return "\n".join(lines)


# ---------------------------------------------------------------------------------------------------------------
# arguments
# ---------------------------------------------------------------------------------------------------------------
def _parameters(function: Any, entry: Any, module: _Module) -> tuple[str, dict[int, str]]:
    """The parameter list; the body gets the lines that check and unpack. Gives the variable of each input."""
    binder, info = function._binder, entry.info
    defaults = {} if binder.signature is None else {k: p.default for k, p in binder.signature.parameters.items()}
    trees = list(info.subtrees.items())
    variables: dict[int, str] = {}
    leaves = iter(zip(info.leaves, info.position, strict=True))
    words: list[str] = []
    star = False
    extra = 0
    for key, tree in trees:
        label = binder.name_of(key) if isinstance(key, int) else key
        if isinstance(key, int) and key >= len(binder.names):
            if not star:
                words.append(f"*{binder.variadic}")
                star = True
            variable = f"{binder.variadic}[{extra}]"
            extra += 1
        else:
            if not isinstance(key, int) and not star:
                words.append("*")
                star = True
            default = defaults.get(label, inspect.Parameter.empty)
            variable = label
            words.append(f"{label}={source_of_value(default)}" if _is_plain(default) else label)
            module.taken.add(label)
        _unpack(tree, variable, label, leaves, info, variables, module)
    for axis, first in module.free.items():
        if axis != first:
            a, b = (f"{variables[k]}.shape[{number}]" for k, number in (axis, first))
            module.body.append(f"_require({a} == {b}, {f'{a} must be {b}'!r})")
    if extra:
        module.body.insert(0, f"_require(len({binder.variadic}) == {extra}, '{extra} values in *{binder.variadic}')")
    return ", ".join(words), variables


def _is_plain(x: Any) -> bool:
    return all(map(_is_plain, x)) if type(x) is tuple else x is None or type(x) in (bool, int, float, str)


def _is_text(text: str, value: Any) -> str:
    """A test for a plain value."""
    if value is None or type(value) is bool:
        return f"{text} is {value}"
    return f"{text} != {text}" if value != value else f"{text} == {source_of_value(value)}"


def _unpack(
    tree: Any, text: str, label: str, leaves: Any, info: Any, variables: dict[int, str], module: _Module
) -> None:
    if tree is LEAF:
        leaf, position = next(leaves)
        if position is None:
            if _is_plain(leaf):
                module.body.append(f"_require({_is_text(text, leaf)}, {f'{label} must be {leaf!r}'!r})")
            return
        variable = text if text.isidentifier() else module.name(_identifier(label))
        variables[position] = variable
        shape = enumerate(info.types[position].shape)
        sizes = tuple([None if (position, number) in module.free else n for number, n in shape])
        module.body.append(f"{variable} = {_leaf_check(info.types[position], text, label, sizes)}")
        return
    kind, n = tree.kind, len(tree.children)
    if kind is tuple or kind is list:
        message = f"{label} must be a {kind.__name__} of {n}"
        module.body.append(f"_require(isinstance({text}, {kind.__name__}) and len({text}) == {n}, {message!r})")
        keys = [f"[{i}]" for i in range(n)]
    elif kind is dict:
        message = f"{label} must be a dict with the keys {', '.join(map(repr, tree.meta))}"
        module.body.append(f"_require(isinstance({text}, dict) and set({text}) == {set_text(tree.meta)}, {message!r})")
        keys = [f"[{k!r}]" for k in tree.meta]
    elif hasattr(kind, "_fields"):
        keys = [f".{f}" for f in kind._fields]
    elif hasattr(kind, "__dataclass_fields__"):
        keys = [f".{f}" for f in tree.meta]
    else:
        raise _foreign("an argument", kind)
    for key, child in zip(keys, tree.children):
        _unpack(child, f"{text}{key}", f"{label}{key}", leaves, info, variables, module)


def set_text(keys: Any) -> str:
    return "{" + ", ".join(map(repr, keys)) + "}" if keys else "set()"


def _identifier(label: str) -> str:
    return re.sub(r"\W+", "_", label).strip("_")


def _leaf_check(t: Type, text: str, label: str, sizes: tuple[int | None, ...]) -> str:
    if t.weak:
        return f"_number({text}, {label!r}, {t!r})"
    return f"_array({text}, {label!r}, {sizes!r}, {t.dtype.name!r})"


# ---------------------------------------------------------------------------------------------------------------
# constants
# ---------------------------------------------------------------------------------------------------------------
def _baked(source: Any, module: _Module) -> str:
    """A captured value as a constant of the module."""
    value = value_of(source.key.get() if source.kind == "path" else source.key)
    name = module.name(_identifier(source.node.name or "captured"))
    module.constants.append(f"{name} = {constant_text(value)}")
    return name


def constant_text(value: Any) -> str:
    """A number or array as source: written out when it is small, as bytes when it is not."""
    if type(value) in NUMBERS:
        return source_of_value(value)
    array = np.asarray(value)
    if array.ndim == 0:
        return f"np.{array.dtype.name}({source_of_value(array.item())})"
    is_wide = array.dtype.itemsize > 8
    if array.size <= (tuning.WRITTEN_OUT_WIDE_MAX_ELEMENTS if is_wide else tuning.WRITTEN_OUT_MAX_ELEMENTS):
        usual = array.dtype in (np.dtype(float), np.dtype(int), np.dtype(bool))
        dtype = "" if usual else f", {array.dtype.name!r}"
        text = f"np.array({_list_text(array.tolist())}{dtype})"
        return text if array.size else f"np.zeros({array.shape!r}, {array.dtype.name!r})"
    data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes().hex()
    return f"np.frombuffer(bytes.fromhex({data!r}), {array.dtype.newbyteorder('<').str!r}).reshape({array.shape!r})"


def _list_text(x: Any) -> str:
    return f"[{', '.join(map(_list_text, x))}]" if isinstance(x, list) else source_of_value(x)


# ---------------------------------------------------------------------------------------------------------------
# results
# ---------------------------------------------------------------------------------------------------------------
class Text(str):
    """Stands for a leaf that is written as it is."""


def _results(program: Any, function: Any, entry: Any) -> list[str]:
    return by_path([result_text(p.template[0], p.template[1], function, entry) for p in program.paths])


def by_path(texts: list[str]) -> list[str]:
    """Return lines that give back the results of the path that was taken."""
    if len(texts) == 1:
        return [f"return {texts[0]}"]
    lines = []
    for k, text in enumerate(texts[:-1]):
        lines += [f"if r[-1] == {k}:", f"    return {text}"]
    return [*lines, f"return {texts[-1]}"]


def result_text(tree: Any, leaves: Any, function: Any, entry: Any) -> str:
    """An expression for the result; leaves may be texts of their own."""
    it = iter(leaves)
    owners = {} if entry is None else _class_owners(function, entry)

    def text(t: Any) -> str:
        if t is LEAF:
            leaf = next(it)
            if type(leaf) is Out:
                return f"r[{leaf.k}]"
            if type(leaf) is Text:
                return str(leaf)
            if _is_plain(leaf):
                return source_of_value(leaf)
            raise _foreign("a result", type(leaf))
        parts = [text(c) for c in t.children]
        if t.kind is tuple:
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if t.kind is list:
            return f"[{', '.join(parts)}]"
        if t.kind is dict:
            return f"{{{', '.join(f'{k!r}: {p}' for k, p in in_order(t.meta, parts))}}}"
        owner = owners.get(t.kind)
        if owner is None:
            raise _foreign("a result", t.kind)
        if hasattr(t.kind, "_fields"):
            return f"type({owner})({', '.join(parts)})"
        return f"type({owner})({', '.join(f'{n}={p}' for n, p in zip(t.meta, parts))})"

    return text(tree)


def _foreign(what: str, kind: type) -> TapecError:
    return TapecError(f"{what} of class {kind.__qualname__} cannot be exported: NumPy alone does not know that class")


def _class_owners(function: Any, entry: Any) -> dict[Any, str]:
    """Return, for each class in the structure of the arguments, an expression whose value has that class."""
    found: dict[Any, str] = {}

    def walk(tree: Any, text: str) -> None:
        if tree is LEAF:
            return
        found.setdefault(tree.kind, text)
        fields = getattr(tree.kind, "_fields", None)
        for i, child in enumerate(tree.children):
            if tree.kind is dict:
                walk(child, f"{text}[{tree.meta[i]!r}]")
            elif fields:
                walk(child, f"{text}.{fields[i]}")
            elif hasattr(tree.kind, "__dataclass_fields__"):
                walk(child, f"{text}.{tree.meta[i]}")
            else:
                walk(child, f"{text}[{i}]")

    for key, tree in entry.info.subtrees.items():
        walk(tree, function._binder.name_of(key) if isinstance(key, int) else key)
    return found
