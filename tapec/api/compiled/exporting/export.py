"""Export generated code: `f.export(path, *args)` writes a module that needs NumPy and `math` alone.

The module holds the generated function, the captured values as named constants, and a face that takes the user's
arguments: it checks that they are what the code was generated for, takes them apart, and puts the result together.

Nothing of the user's is written but by `source_literals.py`, or as a name that was checked. The names that a module
needs give way to nothing: parameters that have one of these names are renamed behind the face.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import symtable
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

import tapec
from tapec.api.compiled.exporting.export_face import Module, Parameter, declared, foreign, parameters_of, unpacked
from tapec.api.compiled.exporting.export_free_axes import free_axes, least_lengths
from tapec.api.compiled.exporting.head_lines import with_head_line
from tapec.api.compiled.exporting.shapes_held import parameters_section, shapes_line
from tapec.api.compiled.exporting.source_literals import constant_text, docstring_lines, is_name, list_text, literal
from tapec.api.compiled.packing import Out
from tapec.api.compiled.signature import value_of
from tapec.codegen.common.naming import identifier
from tapec.codegen.list_inputs import gathered
from tapec.codegen.runtime_helpers import helper_text
from tapec.errors import TapecError, at_user_line
from tapec.ir import Node, OpSet
from tapec.ir.sizes import size_text
from tapec.pytree import Nested, build_text

__all__ = ["Text", "by_path", "export_module", "module_text", "result_text", "write_module"]

_HELPERS = '''\
class Mismatch(TypeError):
    """The arguments are not what this code was generated for."""


def _array(value, name, shape, dtype):
    is_other = isinstance(value, np.ndarray) and type(value) is not np.ndarray
    if is_other and isinstance(value, (np.matrix, np.ma.MaskedArray)):
        raise Mismatch(f"{name} is a {type(value).__name__}; this code was generated for an array")
    value = np.asarray(value)
    sizes = [n if wanted is None else wanted for n, wanted in zip(value.shape, shape)]  # None: any size
    if value.ndim != len(shape) or list(value.shape) != sizes or value.dtype != dtype:
        found = f"{value.dtype}{list(value.shape)}"
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise Mismatch(f"{name} is {found}; this code was generated for {dtype}[{wanted}]")
    return value if value.ndim else value[()]


def _number(value, name, kind, exact=False):
    known = type(value) in (int, kind) if exact else isinstance(value, (int, kind)) and not isinstance(value, bool)
    if not known:
        raise Mismatch(f"{name} is {type(value).__name__}; this code was generated for {kind.__name__}")
    return kind(value)


def _require(holds, message):
    if not holds:
        raise Mismatch(message)
'''

_ARRAY = _HELPERS[_HELPERS.index("def _array") : _HELPERS.index("def _number")]
_GUEST_ARRAY = """\
def _array(value, name, shape, dtype):
    kind = str(getattr(value, "dtype", type(value).__name__)).rpartition(".")[2]
    if kind != dtype or tuple(value.shape) != shape:
        found = f"{kind}{list(getattr(value, 'shape', ()))}"
        raise Mismatch(f"{name} is {found}; this code was generated for {dtype}[{', '.join(map(str, shape))}]")
    return value


"""

# a sum over blocks, which starts with a number of Python's, and a number that is divided by a length
_NEEDS_ELEMENTS = re.compile(r"range\(0, len\(|(?<![\w.])-?\d[\w.]* / (?:len\(|\w+\.(?:size|shape)\b)")

# these stand in a module only where it calls them
_OPTIONAL = {
    "_is": """\
def _is(value, kind, text):
    module, name, member = [getattr(value, key, "") for key in ("__module__", "__qualname__", "_name_")]
    if type(value).__qualname__ != kind or text not in (repr(value), f"{module}.{name}", f"{kind}.{member}"):
        return False
    found = value if text != f"{module}.{name}" else sys.modules.get(module)
    for part in name.split(".") if found is not value else ():
        found = getattr(found, part, None)
    return found is value
""",
    "_key": """\
def _key(value, name, kind, text):
    found = [key for key in value if _is(key, kind, text)] if isinstance(value, dict) else []
    _require(len(found) == 1, f"{name} must be a dict with the key {text}")
    return found[0]
""",
    "_order": """\
def _order(array):
    if array.flags.c_contiguous:
        return True
    axes = sorted(range(array.ndim), key=lambda k: -abs(array.strides[k]))
    return array.flags.f_contiguous, tuple(axes)
""",
    "_like": """\
def _like(value, **fields):
    new = object.__new__(type(value))
    for name, field in fields.items():
        object.__setattr__(new, name, field)
    return new
""",
    "_on_numpy": '''\
class _Numbers(np.ndarray):
    """An array that gives its elements as NumPy's numbers."""

    def tolist(self):
        return list(self) if self.ndim == 1 else [row.tolist() for row in self]


class _NumPy:
    """NumPy, but for the arrays that it makes of numbers."""

    def __getattr__(self, name):
        return getattr(np, name)

    def array(self, values):
        return np.array(values).view(_Numbers)


def _on_numpy(function, **twins):
    """The same function on NumPy's numbers, which give inf and nan where Python's floats raise an error."""
    numbers = {"np": _NumPy(), "math": types.SimpleNamespace(**{**vars(math), **twins}), "float": np.float64}
    again = types.FunctionType(function.__code__, {**globals(), **numbers})

    def call(*args):
        kinds = {float: np.float64, list: lambda x: list(map(given, x)), np.ndarray: lambda x: x.view(_Numbers)}
        given = lambda x: kinds.get(type(x), lambda x: x)(x)
        found = again(*map(given, args))
        return found and tuple([np.asarray(x) if isinstance(x, _Numbers) else x for x in found])

    return call
''',
    "Untraced": '''\
class Untraced(ValueError):
    """The function was never traced for such values."""
''',
}


def write_module(function: Any, path: Any, args: Any, kwargs: Any, target: str | None = None) -> None:
    """Write the module to a file, all of it or nothing."""
    write_text(export_module(function, args, kwargs, target), path)


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


def export_module(function: Any, args: Any, kwargs: Any, target: str | None = None) -> str:
    """The text of the module for the signature of these arguments."""
    entry, program, _ = function.locate(*args, **kwargs)
    if program is None or program.is_retraced:
        raise TapecError(at_user_line(f"{function._name} cannot be exported: {entry.why_recorded}"))
    free = free_axes(function, program, args, kwargs) if target is None else None
    return module_text(function, entry, program, free, target=target)


def module_text(
    function: Any,
    entry: Any,
    program: Any,
    free: dict[Any, Any] | None = None,
    results: Any = None,
    target: str | None = None,
) -> str:
    """`free` are axes that may be of any length, each with the first one that is as long; `results(program, module)`
    writes what is given back, where that is not for NumPy alone."""
    wish = function._name if is_name(function._name) else identifier(function._name)
    compiled = program.compiled.renamed(f"{wish}_of_leaves", target)
    free = _without_lists(free or {}, compiled.lists)
    leading = compiled.leading
    line = shapes_line(program.names, [t.shape for t in entry.info.types], free)
    source = with_head_line(_named_misses(compiled.source, compiled.lined_source).strip(), line)
    if compiled.helpers:
        source = f"{source}\n\n\n{_helpers_of(compiled)}"
    own = {*_FACE_NAMES.split(), *leading, *_global_names("\n".join([source, _HELPERS, *_OPTIONAL.values()]))}
    module = Module(free, own | set(compiled.constants))
    name = module.name(wish)
    types = [t for n in compiled.graph.nodes for t in (n.type if n.op.multi else (n.type,))]
    module.exact = program.asks_classes or any([t.dtype.char in "efF" for t in (*entry.info.types, *types)])
    module.constants += [
        f"{key} = {list_text(value) if leading else constant_text(value)}" for key, value in compiled.constants.items()
    ]
    parameters = parameters_of(function, entry, module, own)
    if set(leading).intersection([p.name for p in parameters]):
        raise TapecError(at_user_line(f"{function._name} cannot be exported: it has a parameter {leading[0]!r} itself"))
    orders = entry.memory if not leading and any([p.depends_on_order for p in program.paths]) else ()
    merges = function._transform.merges
    variables = unpacked(entry.info, parameters, module, orders, compiled.lists, merges)
    least = (least_lengths(program) if free else None) or {}
    shortest = 1 if free and _NEEDS_ELEMENTS.search(compiled.source) else 0
    for (k, number), first in free.items():
        ndim = entry.info.types[k].ndim
        wanted = least.get(size_text(entry.info.names[k], None if ndim == 1 else number))
        if not wanted and first == (k, number):  # the others are as long
            wanted = shortest
        if wanted:
            length = f"{variables[k]}.shape[{number}]"
            module.require(f"{length} >= {wanted}", f"{length} must be at least {wanted}")
    inputs = [
        variables[s.key] if s.kind == "argument" else _baked(s, module, bool(leading)) for s in program.sources.values()
    ]
    given = [x[0] if type(x) is list else x for x in gathered(inputs, compiled.lists)]
    may_fail = any([_raises_errors(node) for path in program.paths for node in path.forward.nodes])
    silenced = program.compiled.options.silenced
    module.body += _run(compiled, f"({', '.join([*leading, *given])})", silenced, may_fail)
    module.body += _results(program, module) if results is None else results(program, module)
    is_plain = [p.name for p in parameters] == list(program.names)
    said = parameters_section(program.names, entry.info.types, free) if is_plain else ""
    text = _assemble(function, name, source, module, parameters, leading, said)
    try:
        compile(text, name, "exec", dont_inherit=True)
    except SyntaxError as error:  # a file that is no Python is never written, for whatever reason
        raise TapecError(at_user_line(f"{function._name} cannot be exported: {error}")) from None
    return text


def _without_lists(free: dict[Any, Any], lists: Sequence[range]) -> dict[Any, Any]:
    """Return the free axes that are not as long as axes of arrays in lists: those are taken as they are."""
    fixed = {first for axis, first in free.items() if any([axis.position in places for places in lists])}
    return {axis: first for axis, first in free.items() if first not in fixed}


def _raises_errors(node: Node) -> bool:
    """Return whether the user's function raises an error there for some numbers of Python's, and may catch it."""
    return not node.op.multi and node.type.weak and node.op in _RAISE_ERRORS


_RAISE_ERRORS = OpSet("divide floor_divide remainder power float_power divmod")


def _run(compiled: Any, given: str, silenced: tuple[str, ...], may_fail: bool) -> list[str]:
    """Return the lines that call the generated function; where Python's floats raise an error, on NumPy's numbers.

    Where the user's function `may_fail` by such an error itself, that is the module's, too.
    """
    run = f"r = {compiled.name}{given}"
    if not compiled.errors or may_fail:
        return [run]
    called = sorted(set(re.findall(r"\bmath\.(\w+)\(", compiled.source)))
    names = {name: _TWINS.get(name, name) for name in called}
    twins = "".join([f", {name}=np.{twin}" for name, twin in names.items() if hasattr(np, twin)])
    errors = ", ".join([error.__name__ for error in compiled.errors])
    again = [f"r = _on_numpy({compiled.name}{twins}){given}"]
    if silenced:
        ignored = ", ".join([f"{kind}='ignore'" for kind in silenced])
        again = [f"with np.errstate({ignored}):", f"    {again[0]}"]
    return ["try:", f"    {run}", f"except ({errors}):", *[f"    {line}" for line in again]]


# functions of `math` that have another name in NumPy
_TWINS = {"pow": "power", "atan2": "arctan2"}
_TWINS |= {f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}


# the names that the body of a face refers to, beside those of the arguments
_FACE_NAMES = "np math types scipy r isinstance len tuple list dict set frozenset type int float complex bool str range"
_FACE_NAMES += " enumerate"


def _global_names(source: str) -> set[str]:
    """Return the names that source defines for the module, and those that its functions take from there."""

    def names(table: symtable.SymbolTable) -> Iterator[str]:
        yield from [s.get_name() for s in table.get_symbols() if s.is_global() or table.get_type() == "module"]
        for inner in table.get_children():
            yield from names(inner)

    return set(names(symtable.symtable(source, "exported", "exec")))


def _helpers_of(compiled: Any) -> str:
    try:
        return helper_text(compiled.helpers)
    except ValueError as error:
        raise TapecError(at_user_line(f"{compiled.name} cannot be exported: {error}")) from None


def _assemble(
    function: Any,
    name: str,
    source: str,
    module: Module,
    parameters: list[Parameter],
    leading: tuple[str, ...],
    section: str,
) -> str:
    origin = f"Generated from {getattr(function._function, '__qualname__', name)}."
    doc = inspect.getdoc(function._function) or (f"{origin}\n\n{section}" if section else origin)
    body = [f"    {line}" for line in module.body]
    given = ", ".join([*leading, *declared(parameters)])
    helpers = _HELPERS.replace(_ARRAY, _GUEST_ARRAY) if leading else _HELPERS
    if all(p.variable == p.name for p in parameters):
        face = [f"def {name}({given}):", *docstring_lines(doc), *body]
    else:
        checked = module.name(f"{name}_of_arguments")
        call = f"    return {checked}({', '.join([*leading, *[p.name for p in parameters]])})"
        behind = [f"def {checked}({', '.join([*leading, *[p.variable for p in parameters]])}):", *body]
        face = [f"def {name}({given}):", *docstring_lines(doc), call, "", "", *behind]
    used = _global_names("\n".join([source, *module.constants, *face]))
    scipy = _scipy_modules("\n".join([source, *face]))
    wanted = used | ({"_is"} if "_key" in used else set())
    if "_on_numpy" in wanted:
        used |= {"math", "types"}
    if "_is" in wanted:
        used |= {"sys"}
    imports = [*[f"import {m}" for m in ("math", "sys", "types") if m in used], *[f"import {m}" for m in scipy]]
    needs = "NumPy and SciPy" if scipy else "NumPy"
    said = f"It takes arrays of any library, and its array API {leading[0]}" if leading else f"It needs {needs} alone"
    head = f'"""{name}, generated by tapec {tapec.__version__}. {said}."""'
    parts = [
        head,
        "",
        *imports,
        *([""] if imports else []),
        *([] if leading else ["import numpy as np", ""]),
        f"__version__ = {tapec.__version__!r}  # of tapec, which generated this",
        f"__all__ = [{name!r}]",
        *(["", *module.constants] if module.constants else []),
        "",
        "",
        *face,
        "",
        "",
        source,
        "",
        "",
        "\n\n\n".join([helpers.strip(), *[text.strip() for key, text in _OPTIONAL.items() if key in wanted]]),
    ]
    return "\n".join(parts) + "\n"


def _scipy_modules(source: str) -> list[str]:
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)]
    return sorted({f"scipy.{n.attr}" for n in nodes if n.value.id == "scipy"})  # type: ignore[attr-defined]


def _named_misses(source: str, lined: str) -> str:
    """Replace each `return None` of the generated code, an unknown path, by an error that names the condition.

    `lined` is the same with the user's line beside each.
    """
    lines, quoted = source.split("\n"), lined.split("\n")
    for k, line in enumerate(lines):
        if line.strip() == "return None":
            above = next((p for p in reversed(quoted[:k]) if p.strip().startswith(("if ", "elif "))), "")
            condition, _, comment = above.partition("  # ")
            said = comment.strip() or condition.strip().removeprefix("if ").removesuffix(":")
            message = f"the function was never traced on this side of the branch {said}"
            lines[k] = f"{line[: len(line) - len(line.lstrip())]}raise Untraced({message!r})"
    return "\n".join(lines)


# ---------------------------------------------------------------------------------------------------------------
# constants
# ---------------------------------------------------------------------------------------------------------------
def _baked(source: Any, module: Module, for_guests: bool) -> str:
    """A captured value as a constant of the module; a list for those who make arrays of their own of it."""
    value = value_of(source.key.get() if source.kind == "path" else source.key)
    name = module.name(identifier(source.node.name or "captured"))
    if for_guests and not source.node.type.weak:
        module.constants.append(f"{name} = {list_text(value)}")
        return f"xp.asarray({name}, dtype=xp.{source.node.type.dtype.name})"
    module.constants.append(f"{name} = {constant_text(value)}")
    return name


# ---------------------------------------------------------------------------------------------------------------
# results
# ---------------------------------------------------------------------------------------------------------------
class Text(str):
    """Stands for a leaf that is written as it is."""


def _results(program: Any, module: Module) -> list[str]:
    return by_path([result_text(p.template[0], p.template[1], module) for p in program.paths])


def by_path(texts: list[str]) -> list[str]:
    """Return lines that give back the results of the path that was taken."""
    if len(texts) == 1:
        return [f"return {texts[0]}"]
    lines = []
    for k, text in enumerate(texts[:-1]):
        lines += [f"if r[-1] == {k}:", f"    return {text}"]
    return [*lines, f"return {texts[-1]}"]


def result_text(tree: Any, leaves: Any, module: Any) -> str:
    """An expression for the result; leaves may be texts of their own."""

    def leaf(x: Any) -> str:
        if type(x) is Out:
            return f"r[{x.k}]"
        found = str(x) if type(x) is Text else literal(x)
        if found is None:
            raise foreign("a result", type(x))
        return found

    def key(k: Any) -> str:
        found = module.key(k)
        if found is None:
            raise foreign("a key of a result", type(k))
        return found

    def other(t: Nested, parts: list[str]) -> str:
        owner = module.owners.get(t.kind)
        if owner is None:
            raise foreign("a result", t.kind)
        if hasattr(t.kind, "_fields"):
            makes_itself = "_fields" in vars(next(c for c in t.kind.__mro__ if "__new__" in vars(c)))
            given = ", ".join(parts)
            return f"type({owner})({given})" if makes_itself else f"type({owner})._make([{given}])"
        return f"_like({owner}, {', '.join(f'{n}={p}' for n, p in zip(t.meta, parts))})"

    return build_text(tree, map(leaf, leaves), key, other)
