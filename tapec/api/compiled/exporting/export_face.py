"""Write the face of exported code: parameters under the user's names, and lines that check and unpack the arguments."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.api.compiled.exporting.source_literals import constant_text, is_name, literal, printed
from tapec.api.compiled.signature import shared
from tapec.codegen.common.naming import identifier
from tapec.errors import TapecError, at_user_line
from tapec.fast_namedtuple import NamedTuple
from tapec.ir.types import Type
from tapec.pytree import LEAF, in_order, part_texts

__all__ = ["Module", "Parameter", "declared", "foreign", "parameters_of", "unpacked"]


class Module:
    """Holds the parts of a module under construction.

    `exact` tells that NumPy's numbers may not stand for Python's: beside arrays of single precision they compute
    otherwise, and the user's function may have asked for their class;
    `taken` are the names in use; `lists` are the inputs that are elements of one list each, by the first of them, where
    the code takes the list; `owners` are expressions that have the classes of arguments, and `keys` the names of
    keys that have no source of their own.
    """

    def __init__(self, free: dict[Any, Any], taken: set[str]) -> None:
        self.free = free
        self.constants: list[str] = []
        self.taken = taken
        self.body: list[str] = []
        self.owners: dict[Any, str] = {}
        self.keys: dict[tuple[str, str], str] = {}
        self.lists: dict[int, range] = {}
        self.exact = False

    def name(self, wish: str) -> str:
        name, k = wish, 1
        while name in self.taken:
            k += 1
            name = f"{wish}{k}"
        self.taken.add(name)
        return name

    def require(self, test: str, message: str) -> None:
        self.body.append(f"_require({test}, {message!r})")

    def key(self, key: Any) -> str | None:
        """Return the source of a key, or the name of one that has none; None for a key that no argument has."""
        return _key_text(key) or self.keys.get(printed(key) or ("", ""))


def _key_text(key: Any) -> str | None:
    return literal(key) if key == key else None  # nan is found by identity alone


class Parameter(NamedTuple):
    """A parameter of the face, and the variable that its value has behind the face; `default` is source."""

    name: str
    variable: str
    kind: Any
    default: str | None
    keys: tuple[Any, ...]  # the arguments that it takes: several for `*args`
    left_out: bool = False  # may it be left out, and nothing else? Its value cannot be told from others


def parameters_of(function: Any, entry: Any, module: Module, own: set[str]) -> list[Parameter]:
    """Return the parameters of the face, under the names that the user gave them."""
    binder, info = function._binder, entry.info
    given = {} if binder.signature is None else binder.signature.parameters
    found: dict[str, tuple[Any, list[Any]]] = {}
    for key in info.subtrees:
        kind: Any
        if not isinstance(key, int):
            name, kind = key, inspect.Parameter.KEYWORD_ONLY
        elif key < len(binder.names):
            name, kind = binder.names[key], inspect.Parameter.POSITIONAL_OR_KEYWORD
        else:
            name, kind = binder.variadic or "args", inspect.Parameter.VAR_POSITIONAL
        if not is_name(name) or (name in found and found[name][0] is not kind):
            raise TapecError(
                at_user_line(f"{function._name} cannot be exported: {name!r} cannot be the name of a parameter")
            )
        found.setdefault(name, (kind, []))[1].append(key)
    module.taken |= set(found)
    parameters = []
    for name, (kind, keys) in found.items():
        default = given[name].default if name in given else inspect.Parameter.empty
        leaf = info.leaves[info.spans[keys[0]].start] if info.subtrees[keys[0]] is LEAF else None
        left_out = leaf is default and info.subtrees[keys[0]] is LEAF and leaf is not None and _is_opaque(leaf)
        left_out = left_out and info.position[info.spans[keys[0]].start] is None
        variable = module.name(f"{name}_") if name in own else name
        text = "None" if left_out else _default_text(default)
        parameters.append(Parameter(name, variable, kind, text, tuple(keys), left_out))
    return parameters


def _is_opaque(leaf: Any) -> bool:
    return literal(leaf) is None and printed(leaf) is None


def _default_text(default: Any) -> str | None:
    if isinstance(default, np.ndarray) and default.dtype.kind in "biufc":
        return constant_text(default)
    return None if default is inspect.Parameter.empty else literal(default)


def declared(parameters: list[Parameter]) -> list[str]:
    """Return the parameters as a `def` lists them: a parameter has no default where one without follows."""
    words: list[str] = []
    needed = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)  # all before are given
    for p in reversed(parameters):
        if p.kind is inspect.Parameter.KEYWORD_ONLY:
            words.append(p.name if p.default is None else f"{p.name}={p.default}")
        elif p.kind is inspect.Parameter.VAR_POSITIONAL:
            words.append(f"*{p.name}")
        else:
            needed = needed or p.default is None
            words.append(p.name if needed else f"{p.name}={p.default}")
    words.reverse()
    first = next((k for k, p in enumerate(parameters) if p.kind is inspect.Parameter.KEYWORD_ONLY), None)
    if first is not None and not any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        words.insert(first, "*")
    return words


def unpacked(
    info: Any,
    parameters: list[Parameter],
    module: Module,
    orders: Sequence[Any] = (),
    lists: Sequence[range] = (),
    merges: bool = False,
) -> dict[int, str]:
    """Write the lines that check and unpack the arguments; return the variable of each input.

    `orders` say for each leaf how its axes lie in memory, where the code depends on that. `lists` are the places of
    inputs for which the code takes one list: all of them get its variable. Where a transform `merges` inputs, what was
    one array must be one.
    """
    variables: dict[int, str] = {}
    module.lists = {places.start: places for places in lists}
    leaves = iter(zip(info.leaves, info.position, strict=True))
    for p in parameters:
        several = p.kind is inspect.Parameter.VAR_POSITIONAL
        if several:
            module.require(f"len({p.variable}) == {len(p.keys)}", f"{len(p.keys)} values in *{p.name}")
        for k, key in enumerate(p.keys):
            text, label = (f"{p.variable}[{k}]", f"{p.name}{k}") if several else (p.variable, p.name)
            if p.left_out:
                next(leaves)
                module.require(f"{text} is None", f"{label} must be left out")
            else:
                _unpack(info.subtrees[key], text, label, leaves, info, variables, module)
    for axis, first in module.free.items():
        if axis != first:
            a, b = (f"{variables[k]}.shape[{number}]" for k, number in (axis, first))
            module.require(f"{a} == {b}", f"{a} must be {b}")
    for k, m in shared(info.leaves, [p is not None for p in info.position]) if merges else ():
        one, other = (variables[info.position[leaf]] for leaf in (k, m))
        test, what = ("is", "array") if info.types[info.position[k]].shape else ("==", "number")
        module.require(f"{other} {test} {one}", f"{info.labels[m]} must be the {what} that {info.labels[k]} is")
    for order, position, label in zip(orders, info.position, info.labels):
        if position is not None and info.types[position].ndim > 1:
            _require_order(order, variables[position], label, module)
    return variables


def _require_order(order: Any, variable: str, label: str, module: Module) -> None:
    """Write the line that checks how the axes of an array lie in memory: `reshape` gives a view or a copy by that."""
    which = "of C" if order is True else "of Fortran" if order[0] else f"{order[1]} of its axes"
    message = f"{label} must lie in memory in the order {which}: the function changes in place what it has reshaped"
    test = f"{variable}.flags.c_contiguous" if order is True else f"_order({variable}) == {order!r}"
    module.require(test, message)


def _value_test(text: str, value: Any) -> str | None:
    """Return a test for a plain value; None for a value that cannot be told from all others."""
    if value is None or type(value) is bool:
        return f"{text} is {value}"
    if type(value) is str:
        return f"{text} == {value!r}"
    told = printed(value)
    return None if told is None else f"_is({text}, {told[0]!r}, {told[1]!r})"


def _unpack(
    tree: Any, text: str, label: str, leaves: Any, info: Any, variables: dict[int, str], module: Module
) -> None:
    if tree is LEAF:
        leaf, position = next(leaves)
        if position is None:
            test = _value_test(text, leaf)
            if test is None:
                raise TapecError(
                    at_user_line(
                        f"it cannot be exported: no text tells the value of {label} from others of class "
                        f"{type(leaf).__qualname__}. Fix: let the function take it from where it is defined"
                    )
                )
            module.require(test, f"{label} must be {leaf!r}")
            return
        variable = text if text.isidentifier() else module.name(identifier(label))
        variables[position] = variable
        shape = enumerate(info.types[position].shape)
        sizes = tuple([None if (position, number) in module.free else n for number, n in shape])
        module.body.append(f"{variable} = {_leaf_check(info.types[position], text, repr(label), sizes, module.exact)}")
        return
    kind, n = tree.kind, len(tree.children)
    keys: dict[Any, str] = {}
    module.owners.setdefault(kind, text)
    if kind is tuple or kind is list:
        message = f"{label} must be a {kind.__name__} of {n}"
        module.require(f"isinstance({text}, {kind.__name__}) and len({text}) == {n}", message)
    elif kind is dict:
        keys = _unpack_keys(tree.meta, text, label, module)
        order = [keys[k] for k, _ in in_order(tree.meta, tree.children)]
        if len(order) > 1:  # the function may go through them, and its derivatives come in this order
            message = f"the keys of {label} must come in the order {', '.join(order)}"
            module.require(f"list({text}) == [{', '.join(order)}]", message)
    elif hasattr(kind, "_fields") or hasattr(kind, "__dataclass_fields__"):
        name = kind.__qualname__
        module.require(f"type({text}).__qualname__ == {name!r}", f"{label} must be of class {name}")
    if (places := module.lists.get(len(variables))) is not None and tree.children[0] is LEAF:
        for _ in places:
            next(leaves)
        t = info.types[places.start]
        variable = text if text.isidentifier() else module.name(identifier(label))
        variables |= dict.fromkeys(places, variable)
        check = _leaf_check(t, "x", "f" + repr(_braced(label) + "[{k}]"), t.shape, module.exact)
        each = f"[{check} for k, x in enumerate({text})]"
        module.body.append(f"{variable} = {each if t.weak else f'np.array({each})'}")
        return
    parts, said = part_texts(tree, keys.__getitem__), part_texts(tree, repr)
    if parts is None or said is None:
        raise foreign("an argument", kind)
    for part, word, child in zip(parts, said, tree.children, strict=True):
        _unpack(child, f"{text}{part}", f"{label}{word}", leaves, info, variables, module)


def _braced(text: str) -> str:
    """Return a text as it stands in an f-string."""
    return text.replace("{", "{{").replace("}", "}}")


def _unpack_keys(keys: Any, text: str, label: str, module: Module) -> dict[Any, str]:
    """Check the keys of a dict, look up those that have no source, and return the expression of each."""
    message = f"{label} must be a dict with the keys {', '.join(map(repr, keys))}"
    texts = [_key_text(k) for k in keys]
    if None not in texts:
        wanted = f"{{{', '.join(map(str, texts))}}}" if texts else "set()"
        module.require(f"isinstance({text}, dict) and set({text}) == {wanted}", message)
        return dict(zip(keys, texts))
    module.require(f"isinstance({text}, dict) and len({text}) == {len(keys)}", message)
    told = [printed(k) for k in keys]
    expressions = {}
    for k, found, by in zip(keys, texts, told):
        if found is None:
            if by is None or told.count(by) > 1:
                raise foreign("a key", type(k))
            found = module.name("key")
            module.keys.setdefault(by, found)
            module.body.append(f"{found} = _key({text}, {label!r}, {by[0]!r}, {by[1]!r})")
        expressions[k] = found
    return expressions


def _leaf_check(t: Type, text: str, label: str, sizes: tuple[int | None, ...], exact: bool) -> str:
    """Return the call that checks a leaf. In an `exact` module NumPy's number is none of Python's."""
    if t.weak:
        return f"_number({text}, {label}, {t!r}{', exact=True' * exact})"
    return f"_array({text}, {label}, {sizes!r}, {t.dtype.name!r})"


def foreign(what: str, kind: type) -> TapecError:
    return TapecError(f"{what} of class {kind.__qualname__} cannot be exported: NumPy alone does not know that class")
