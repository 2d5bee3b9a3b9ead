"""Name values that the user has no name for: from what they are made of, or by a word for what their operation gives.

exp_z = np.exp(z)                        the operation, and what it is applied to
d_exp_z = d_s[:, None] * y               the derivative by that value
scaled = diff * np.exp(-logs)            the kind of result, where the operands have no short names
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.common.derivative_notes import kind_of, of_softmax
from tapec.ir import CONSTANT, INPUT, ITEM, Node, OpSet, is_literal, ops
from tapec.ir.sizes import is_expression
from tapec.ir.source_location import name_for
from tapec.ir.static_index import Slice

__all__ = ["NOTHING", "place_key", "made_name", "one_of", "wished_name", "words_for"]

NOTHING: Mapping[Any, str] = {}
WHOLE_AXIS = Slice(None, None, None)

# what is written before the name of the main operand, where that is not the operation's own name
PREFIXES = {"square": "sq", "diagonal": "diag", "cholesky": "chol", "absolute": "abs"}
OWN_NAMES = frozenset(
    {
        *("exp", "expm1", "log", "log1p", "logsumexp", "sqrt", "cbrt", "sin", "cos", "tan", "arctan", "sign"),
        *("sinh", "cosh", "tanh", "sigmoid", "softplus", "erf", "floor", "ceil", "sum", "mean", "max", "min"),
        *("std", "var", "argmax", "argmin", "cumsum", "trace", "norm", "det"),
    }
)
SUFFIXES = {"inv": "inv", "inv_lower": "inv", "transpose": "T", "take": "_rows"}
FACTORS = {2: "two", 0.5: "half", -1: "neg"}
SQUARED_SUMS = frozenset({"vecdot", "vdot", "dot", "inner", "sum_of_products"})
COMPARED = {"greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "equal": "eq", "not_equal": "ne"}
BY_SIGN = {"greater": "pos", "greater_equal": "nonneg", "less": "neg", "less_equal": "nonpos", "equal": "zero"}
ALONG = {"sum": "sum", "mean": "mean", "max": "max", "min": "min"}
SAID_ALONE = frozenset({"exp", "log", "sin", "cos", "tanh", "sqrt"})  # of operands without a name, too
TELLING = frozenset({"linear", "resid", "centred", "softmax", "softplus"})  # of the words below
LOOPS, CHOICES = OpSet("loop float_loop"), OpSet("cond")
AIMS = frozenset({"y", "target", "targets", "data", "obs", "observed"})  # what a model is fitted to

# what an operation gives, where its operands have no short names; others for a second value of the kind
_WORDS = {
    "exp": ("exp",),
    "log log1p": ("logs",),
    "sin": ("sin",),
    "cos": ("cos",),
    "tanh": ("tanh",),
    "sqrt": ("root",),
    "sum sum_of_products vecdot vdot trace": ("total", "subtotal"),
    "mean": ("mean",),
    "max": ("largest",),
    "min": ("least",),
    "matmul": ("product", "mapped"),
    "cholesky": ("L",),
    "inv inv_lower": ("inverse",),
    "full": ("filled",),
    "scatter": ("spread",),
    "getitem": ("part", "piece"),
    "transpose": ("turned",),
    "stack concatenate": ("joined",),
    "pad": ("padded",),
    "argmax argmin nanargmax nanargmin nonzero": ("index",),
    "softplus": ("softplus",),
    "where": ("selected", "mixed"),
    "maximum minimum clip": ("bounded",),
    "astype cast": ("weights",),
    "power python_power": ("power",),
    "item": ("result", "other"),
    "add": ("combined", "mixed"),
    "subtract": ("diff", "gap"),
    "multiply": ("prod", "term"),
    "divide": ("ratio", "share"),
    "negative": ("minus",),
    "greater greater_equal less less_equal equal not_equal": ("mask", "flags"),
}
WORDS = {name: words for names, words in _WORDS.items() for name in names.split()}
OF_PRODUCTS = {
    "square": ("square",),
    "coef": ("coef",),
    "outer": ("outer",),
    "scaled": ("scaled", "weighted", "adjusted"),
    "softmax": ("softmax",),
}


def wished_name(node: Node) -> str | None:
    """Return the name that a value ought to have: its own, or that of the variable that the user stored it in."""
    if node.name is not None:
        is_told = node.op is CONSTANT or node.op is ops.full
        return None if is_told and is_expression(node.name) else node.name
    return name_for(node) if node.role is None else None


def words_for(node: Node) -> tuple[str, ...]:
    """Return words for the kind of value that an operation makes; ops that only code generation has bring theirs."""
    kind = kind_of(node)
    if (inner := _made_inside(node)) is not None:
        if _is_carried(node):
            return ("state",)
        return tuple([plural(w) if _is_collected(node) else w for w in words_for(inner)])
    if (own := node.op.facts.get("word")) is not None:
        return (own,)
    if kind in ("multiply", "divide") and of_softmax(node):
        return OF_PRODUCTS["softmax"]
    if kind == "multiply":
        first, second = node.inputs
        if first is second:
            return OF_PRODUCTS["square"]
        if not node.type.shape and (is_literal(first) or is_literal(second)):
            return OF_PRODUCTS["coef"]
        if node.type.shape not in (first.type.shape, second.type.shape):
            return OF_PRODUCTS["outer"]
        if first.type.shape != second.type.shape:
            return OF_PRODUCTS["scaled"]
    if kind == "logaddexp" and is_literal(node.inputs[0]) and node.inputs[0].value == 0:
        return WORDS["softplus"]
    if kind == "add":
        if any(map(_is_product, node.inputs)):
            return ("linear",)
        if any(map(is_literal, node.inputs)):
            return ("shifted",)
    if kind == "sqrt" and _is_variance(node.inputs[0]):
        return ("std",)
    if kind == "divide" and _is_centred(node.inputs[0]) and kind_of(node.inputs[1]) == "sqrt":
        return ("normed",)
    if _is_variance(node):
        return ("var",)
    if kind == "where" and any([is_literal(i) and i.value == math.inf for i in node.inputs]):
        return ("safe",)
    if kind == "subtract":
        first, second = node.inputs
        if second.op is INPUT and wished_name(second) in AIMS:
            return "resid", "diff"
        if _is_centred(node):
            return "centred", "diff"
        if _reduces(second, first, ("max", "min")):
            return "shifted", "diff"
        if is_literal(first):
            return ("slope",) if node.role is not None and _is_square(second) else ("rest",)
    if kind == "getitem" and len(node.inputs) == 1 and len(index := node.param("index")) == 1:
        return (_word_for_slice(index[0]) or "part", "piece")
    if kind == "reshape":
        return ("flat",) if node.type.ndim < node.inputs[0].type.ndim else ("shaped",)
    return WORDS.get(kind) or ("part",)


def place_key(node: Node) -> Any:
    """Return what tells a value by where the user wrote it, also of an equal node; None where that is unknown.

    Parts of a value that rules take apart stand at one place: they are told apart by what they are made of.
    """
    if node.origin is None:
        return None
    return node.origin, kind_of(node), tuple([i.name or kind_of(i) for i in node.inputs])


def made_name(node: Node, called: Mapping[Node, str] = NOTHING, given: Mapping[Any, str] = NOTHING) -> str | None:
    """Return a name from an operation and the name of its main operand, such as `exp_z` or `zT`; None without one.

    Little is made of operands that have no names themselves, and no name that would be long. `called` has the
    names of inputs whose nodes have none, `given` the names that values have got by the places of their operations. A
    derivative is called after the value that it is by.
    """
    made = _Made(called, given)
    return made.derivative(node, tuning.MADE_NAME_MAX_OPS) or made.name(node, tuning.MADE_NAME_MAX_OPS)


class _Made:
    """Makes names from operations, of at most so many (`depth`) on the way to a name of the user's."""

    __slots__ = ("called", "given")

    def __init__(self, called: Mapping[Node, str], given: Mapping[Any, str]):
        self.called = called
        self.given = given

    def derivative(self, node: Node, depth: int) -> str | None:
        """Return `d_x` for the derivative by x; None for other values, and where x has no name that tells it."""
        value = node.of if node.role is not None else None
        if value is None:
            return None
        if not _is_centred(value) and self.own(shifted := self.shifted_little(value)):
            value = shifted  # the derivative by it is the same
        name, word = self.own(value) or self.given.get(place_key(value)) or self.name(value, depth), words_for(value)[0]
        return f"d_{name}" if name else f"d_{word}" if word in TELLING else None

    def name(self, node: Node, depth: int) -> str | None:
        name = self.whole(node, depth) if node.inputs and depth and "word" not in node.op.facts else None
        return name if name and len(name) <= tuning.MADE_NAME_MAX_CHARACTERS else None

    def whole(self, node: Node, depth: int) -> str | None:
        """Return the same, of any length."""
        kind, inputs = kind_of(node), node.inputs
        if kind in ("multiply", "divide") and of_softmax(node):
            return OF_PRODUCTS["softmax"][0]
        if (inner := _made_inside(node)) is not None:
            own, collected = self.own(inner) or self.derivative(inner, depth - 1), _is_collected(node)
            name = own or (self.name(inner, depth - 1) if collected or not _is_carried(node) else None)
            return plural(name) if name and collected else name
        second = inputs[1] if len(inputs) == 2 else None
        if kind == "divide" and second is not None and is_literal(inputs[0]):
            stem = self.stem(second, depth - 1)
            return f"inv_{stem}" if stem and inputs[0].value == 1 else None
        if kind == "divide" and second is not None and is_literal(second):
            own, n = self.own(inputs[0]), second.value
            return f"{own}_over_{int(n)}" if own and n in range(2, tuning.NAMED_DIVISOR_MAX + 1) else None
        if kind == "negative" or (kind == "multiply" and any(map(is_literal, inputs))):
            return self.multiple(node)
        if second is not None and kind in COMPARED:
            return self.comparison(kind, inputs[0], second)
        if second is not None and kind == "matmul" and _is_transpose_of(inputs[0], second):
            return "gram"
        if kind == "add" and second is not None and is_literal(inputs[0]):
            inputs, second = (second, inputs[0]), inputs[0]
        first = self.stem(inputs[0], depth - 1)
        if kind in SAID_ALONE and (not first or first in SAID_ALONE):
            first = self.stem(self.shifted_little(inputs[0]), depth - 1) or first
        along = _along(node) if kind in ALONG else None
        if along and (not first or len(first) + 1 + len(kind) > tuning.MADE_NAME_MAX_CHARACTERS):
            return f"{along}_{kind}"
        if not first:
            return None
        if kind == "float_of_array":
            return first
        if kind == "getitem":
            return _name_of_part(node, first)
        if kind in PREFIXES or kind in OWN_NAMES:
            return f"{PREFIXES.get(kind, kind)}_{first}"
        if kind in SUFFIXES:
            suffix = SUFFIXES[kind]
            return f"{first}{'' if suffix[0] == '_' or (first[-1].isalpha() and len(first) < 6) else '_'}{suffix}"
        if (
            second is not None
            and kind in ("power", "python_power")
            and type(second.value if is_literal(second) else None) is int
        ):
            return f"sq_{first}" if second.value == 2 else f"{first}_pow{second.value}" if second.value > 0 else None
        if second is inputs[0] and (kind == "multiply" or kind in SQUARED_SUMS):
            return f"sq_{first}" if kind == "multiply" else f"sumsq_{first}"
        if second is not None and kind in ("multiply", "matmul", "divide"):
            return _name_of_product(kind, first, self.stem(second, depth - 1))
        if kind == "add" and second is not None and is_literal(second) and second.value == 1:
            return f"{first}_plus_1"
        return None

    def multiple(self, node: Node) -> str | None:
        """Return `half_x` for `0.5 * x`, and such names for a few other factors."""
        value = next((i for i in node.inputs if not is_literal(i)), node.inputs[0])
        factor = next((i.value for i in node.inputs if is_literal(i)), -1)
        own, word = self.own(value) or self.part(value), FACTORS.get(factor)
        return f"{word}_{own}" if own and word else None

    def part(self, node: Node) -> str | None:
        """Return `x0` for an element that is read of an array with a name."""
        whole = self.own(node.inputs[0]) if kind_of(node) == "getitem" and not node.type.shape else None
        return _name_of_part(node, whole) if whole else None

    def comparison(self, kind: str, a: Node, b: Node) -> str | None:
        """Return `x_pos` for `x > 0`, `a_lt_b` for `a < b`, `is_max` where a value equals the largest."""
        whole = b.inputs[0] if b.op is ops.reshape else b
        if kind == "equal" and kind_of(whole) in ("max", "min"):
            return f"is_{kind_of(whole)}"
        first, second = self.own(a), self.own(b)
        if is_literal(b) and b.value == 0 and kind in BY_SIGN:
            return f"{first or 'is'}_{BY_SIGN[kind]}"
        return f"{first}_{COMPARED[kind]}_{second}" if first and second else None

    def shifted_little(self, node: Node) -> Node:
        """Return the value from which a node differs by something smaller: x of `x - x.max(axis=1, keepdims=True)`."""
        while not self.own(node) and kind_of(node) in ("add", "subtract"):
            x, other = node.inputs
            if is_literal(other) or x.type.size != node.type.size or other.type.size == node.type.size:
                break
            node = x
        return node

    def own(self, node: Node) -> str | None:
        """Return the name that the user has for a value."""
        if node.op is CONSTANT:
            return None
        found: Any = wished_name(node) or (self.called.get(node) if node.op is INPUT else None)
        return found if type(found) is str else None  # what a body reads may be an expression outside of it

    def stem(self, node: Node, depth: int) -> str | None:
        """Return how a value is called within the names of what is made of it."""
        own = self.own(node)
        if own:
            return own
        found = self.derivative(node, depth)
        if found or not depth:
            return found
        if kind_of(node) == "reshape" or _is_shifted_little(node):
            return self.stem(node.inputs[0], depth - 1)
        return self.name(node, depth) or (kind_of(node) if kind_of(node) in SAID_ALONE else None)


def plural(name: str) -> str:
    return f"all_{name}" if name.endswith(("s", "ed")) else f"{name}s"


def one_of(name: str) -> str:
    """Return what one of the values is called that together have a name in the plural."""
    return name.removeprefix("all_") if name.startswith("all_") else name.removesuffix("s")


def _made_inside(node: Node) -> Node | None:
    """Return the value of a body that a result of a loop or a region has."""
    bodies = node.inputs[0].bodies if node.op is ITEM and node.inputs[0].op not in CHOICES else ()
    k = node.param("index") if bodies else 0
    return bodies[0].outputs[k] if bodies and k < len(bodies[0].outputs) else None


def _is_collected(node: Node) -> bool:
    """Return whether a result of a loop has what all rounds make, row by row."""
    loop = node.inputs[0]
    return loop.op in LOOPS and node.param("index") >= loop.param("carried")


def _is_carried(node: Node) -> bool:
    """Return whether a result of a loop is what the last round leaves."""
    return node.inputs[0].op in LOOPS and not _is_collected(node)


def _along(node: Node) -> str | None:
    """Return `row` for a reduction of each row of a matrix, `col` for one of each column."""
    axis, n = node.param("axis"), node.inputs[0].type.ndim
    return {(n - 1,): "row", (0,): "col"}.get(axis) if n == 2 else None


def _is_product(node: Node, depth: int | None = None) -> bool:
    """Return whether a value is a product of matrices, or a sum with one."""
    left = tuning.MADE_NAME_MAX_OPS if depth is None else depth
    is_sum = left > 0 and kind_of(node) == "add"
    return node.op is ops.matmul or (is_sum and any([_is_product(i, left - 1) for i in node.inputs]))


def _is_shifted_little(node: Node) -> bool:
    """Return whether a small number is added to a value: `var + 1e-5` is a variance still."""
    return kind_of(node) == "add" and is_literal(node.inputs[1]) and abs(node.inputs[1].value) < tuning.SMALL_SHIFT_MAX


def _is_square(node: Node) -> bool:
    return kind_of(node) == "multiply" and node.inputs[0] is node.inputs[1]


def _is_centred(node: Node) -> bool:
    return kind_of(node) == "subtract" and _reduces(node.inputs[1], node.inputs[0], ("mean",))


def _is_variance(node: Node) -> bool:
    """Return whether a value is the mean of the squares of centred values, or their sum over a number."""
    if kind_of(node) == "divide" and is_literal(node.inputs[1]):
        node = node.inputs[0]
        total = node.inputs if kind_of(node) in SQUARED_SUMS else ()
    else:
        total = ()
    if kind_of(node) in ("sum", "mean") and _is_square(node.inputs[0]):
        total = node.inputs[0].inputs
    return len(total) == 2 and total[0] is total[1] and _is_centred(total[0])


def _reduces(node: Node, x: Node, kinds: tuple[str, ...]) -> bool:
    """Return whether a value is a reduction of another one, of one of these kinds."""
    while node.op is ops.reshape:
        node = node.inputs[0]
    return kind_of(node) in kinds and node.inputs[0] is x


def _is_transpose_of(a: Node, b: Node) -> bool:
    return (a.op is ops.transpose and a.inputs[0] is b) or (b.op is ops.transpose and b.inputs[0] is a)


def _name_of_part(node: Node, whole: str) -> str:
    """Return `x0` for `x[0]`, and the name of the whole where only axes of length one come in."""
    if len(node.inputs) > 1:
        return f"{whole}_rows" if len(node.inputs) == 2 and node.type.ndim > 1 else f"picked_{whole}"
    index: Any = node.param("index")
    index = index if type(index) is tuple else (index,)
    if all([type(i) is int and i >= 0 for i in index]):
        return f"{whole}{'_' if whole[-1].isdigit() else ''}{'_'.join(map(str, index))}"
    if all([i is None or i is Ellipsis or i == WHOLE_AXIS for i in index]):
        return whole
    (i,) = index if len(index) == 1 else (None,)
    return f"{whole}_{_word_for_slice(i) or 'part'}"


def _word_for_slice(index: Any) -> str | None:
    """Return which part of an axis a slice is; None for every k-th element, and for what is no slice."""
    if type(index) is not Slice or index.step not in (None, 1):
        return None
    starts, ends = index.start in (None, 0), index.stop is None
    if starts or ends:
        return "head" if starts else "tail"
    return "inner" if type(index.start) is type(index.stop) is int and index.start == -index.stop else None


def _name_of_product(kind: str, first: str | None, second: str | None) -> str | None:
    """Return `uv` for a product of short names, `u_over_v` for a quotient, `v_d_x` for a multiple of a derivative."""
    if not first or not second or first == second or second.startswith("d_") or "_d_" in f"{first} {second}":
        return None
    if kind == "divide":
        return f"{first}_over_{second}"
    if first.startswith("d_"):
        return f"{second}_{first}" if kind == "multiply" else None
    short = max(len(first), len(second)) <= tuning.FACTOR_MAX_CHARACTERS
    return f"{first}{second}" if short and first.isalpha() and second.isalpha() else f"{first}_{second}"
