"""`ArrayLike`: what every array stand-in can do, whether it holds a value (Tensor) or not (Symbol).

Operators, methods and NumPy's two protocols all end in `_apply(op, inputs, params)` of the subclass.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from tapec.errors import InPlaceError, UnsupportedError, at_user_line, note_user_line
from tapec.ir import Op
from tapec.ops.core.lazy_families import HOME

__all__ = [
    "FUNCTIONS",
    "LIKE",
    "METHODS",
    "UFUNCS",
    "ArrayLike",
    "apply",
    "deliver",
    "gives_views",
    "may_give_its_argument",
    "out_at",
]
__all__ += ["OPERATORS", "UNARY", "bring_in", "check_fit", "defers", "implements", "like", "meaning_of", "method"]
__all__ += ["without_op"]

# NumPy ufunc -> op; NumPy function -> our function of the same signature; method name -> our function of (self, ...);
# NumPy function that makes arrays -> our function of (the stand-in given as `like=`, ...)
UFUNCS: dict[Any, Op] = {}
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}
LIKE: dict[Any, Callable[..., Any]] = {}
_LATE: dict[str, dict[Any, Callable[..., Any]]] = {module: {} for module in HOME.values()}  # the same, by module
_OUT: dict[Any, int] = {}  # our function -> where `out` stands among its positional parameters

# What may give its argument itself, or a view of it; everything else gives a copy.
_VIEWS = {"__getitem__", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray", "require"}
_VIEWS |= {"atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_to", "expand_dims", "ravel"}
_VIEWS |= {"flip", "fliplr", "flipud", "moveaxis", "permute_dims", "reshape", "rollaxis", "rot90", "squeeze"}
_VIEWS |= {"array_split", "dsplit", "hsplit", "split", "unstack", "vsplit", "diagonal", "swapaxes", "transpose"}
_VIEWS |= {"conj", "conjugate", "diff", "einsum", "imag", "matrix_power", "matrix_transpose", "real", "real_if_close"}
_VIEWS |= {"sliding_window_view", "trim_zeros", "view"}
_GIVES_VIEWS: set[Any] = set()
_MAY_COPY: set[Any] = set()


def implements(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function the meaning of these NumPy functions on stand-ins. `out=` is taken care of for all of them."""

    def enter(ours: Callable[..., Any]) -> Callable[..., Any]:
        table = _LATE.get(ours.__module__, FUNCTIONS)
        for function in functions:
            table[function] = ours
            _note(ours, function.__name__)
        return ours

    return enter


def like(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function of (stand-in, ...) the meaning of these NumPy functions with `like=` that stand-in."""

    def enter(ours: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            LIKE[function] = ours
            _note(ours, function.__name__)
        return ours

    return enter


def _note(ours: Callable[..., Any], name: str) -> None:
    """Remember where a function takes `out`, and whether it may give a view, or by `copy=False` its argument."""
    if name in _VIEWS:
        _GIVES_VIEWS.add(ours)
    code = getattr(ours, "__code__", None)
    if code is not None and "copy" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        _MAY_COPY.add(ours)
    if code is not None and "out" in code.co_varnames[: code.co_argcount]:
        _OUT[ours] = code.co_varnames.index("out")


def gives_views(ours: Callable[..., Any] | None) -> bool:
    """May a function's result share memory with its argument, as NumPy's does?"""
    return ours in _GIVES_VIEWS


def may_give_its_argument(ours: Callable[..., Any] | None) -> bool:
    """The same, or is it asked to copy?"""
    return ours in _GIVES_VIEWS or ours in _MAY_COPY


def out_at(ours: Callable[..., Any] | None) -> int:
    """Where `out` stands among positional arguments."""
    return _OUT.get(ours, 99)


def run(ours: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call our function as NumPy's was called: what was given as `out` gets the result, an error the user's line."""
    try:
        if "out" in kwargs or len(args) > out_at(ours):
            return _run_out(ours, args, kwargs)
        result = ours(*args, **kwargs)
        if isinstance(result, ArrayLike) and ours not in _GIVES_VIEWS:
            if result._link is not None:
                result._own()
            if args and result is args[0] and result._rank > 1 and kwargs.get("copy", True):
                return result.copy()  # a symbol never changes, and needs no copy
        return result
    except Exception as error:
        note_user_line(error)
        raise


def _run_out(ours: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    k = out_at(ours)
    kwargs = dict(kwargs)
    out = args[k] if len(args) > k else kwargs.pop("out", None)
    result = ours(*args[:k], *[None for _ in args[k : k + 1]], *args[k + 1 :], **kwargs)
    if out is None:
        return result
    check_fit(ours, out[0] if isinstance(out, tuple) else out, result)
    return deliver(out, result, kwargs.get("casting", "same_kind"))


_FILLING = {"clip", "fix", "isneginf", "isposinf", "nanpercentile", "nanquantile", "percentile", "quantile"}


def check_fit(function: Any, out: Any, result: Any) -> None:
    """What is given as `out` has the shape of the result. Ufuncs and their like fill it."""
    there, shape = getattr(out, "shape", ()), getattr(result, "shape", ())
    if there != shape and function.__name__ not in _FILLING:
        raise ValueError(at_user_line(f"the output array has the shape {there}, the result {shape}"))


def deliver(out: Any, result: Any, casting: str = "same_kind") -> Any:
    """Put a result into the array that was given as `out`, and give that."""
    if isinstance(out, tuple):
        (out,) = out
    if isinstance(out, ArrayLike):
        return out._assign(result, casting)
    if not isinstance(out, np.ndarray):
        raise TypeError("output must be an array")
    if isinstance(result, ArrayLike):
        return result._write_into(out, casting)
    np.copyto(out, result, casting=casting)  # type: ignore[arg-type]
    return out


def method(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function an ndarray method of stand-ins."""

    def enter(ours: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            METHODS[name] = ours
            setattr(ArrayLike, name, _as_method(name, ours))
            _note(ours, name)
        return ours

    return enter


def _as_method(name: str, ours: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return run(ours, (self, *args), kwargs)

    call.__name__ = name
    call.__qualname__ = f"ArrayLike.{name}"
    call.__doc__ = f"As `numpy.ndarray.{name}`."
    return call


def apply(op: Op, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...] = ()) -> Any:
    """Perform an op on whatever the inputs are: record it, add it to a graph, or just compute it."""
    if len(inputs) == 1 and isinstance(inputs[0], ArrayLike):
        return inputs[0]._apply(op, inputs, params)
    best: Any = None
    for x in inputs:
        if isinstance(x, ArrayLike) and (best is None or x._rank > best._rank):
            best = x
    if best is None:
        return op.run(*inputs, **dict(params))
    return best._apply(op, inputs, params)


def ufunc_method(self: Any, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The general road of `__array_ufunc__`: keywords, `out`, `reduce` and its kin."""
    from tapec.ops.numpy_calls.ufunc_methods import call

    return call(ufunc, method, inputs, kwargs)


class ArrayLike:
    """Base of Tensor and Symbol."""

    __slots__ = ()
    __array_priority__ = 1000
    __pandas_priority__ = 5000  # above DataFrame: `series * tensor` is ours
    _rank = 0  # who performs the op when kinds are mixed
    _link: Any = None  # who shares its memory

    def __hash__(self) -> int:
        raise TypeError(
            at_user_line(
                f"unhashable type: {type(self).__name__!r}, since == compares elements. Fix: int(n) of a whole number "
                "may be a key, and id(x) tells one from another"
            )
        )

    if TYPE_CHECKING:  # ndarray's methods and operators are put in by the modules that define them

        def __getattr__(self, name: str) -> Any: ...
        def _unary(self) -> Any: ...
        def _binary(self, other: Any) -> Any: ...

        __neg__ = __pos__ = __abs__ = __invert__ = _unary
        __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _binary
        __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __matmul__ = _binary
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __rmatmul__ = _binary
        __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = __divmod__ = _binary
        __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = __rdivmod__ = _binary

    def _apply(self, op: Op, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
        raise NotImplementedError

    def _differs(self) -> bool:
        """Is its value one of a batch, for all of which one program is sought? Then nothing may hang on it."""
        return False

    def _tapec_read(self) -> Any:
        """What stands for it in an operation: a Variable answers with its value."""
        return self

    def _operand(self) -> Any:
        """What stands for it among the operands of an operation."""
        return self._tapec_read()

    def _lies_in(self, order: str) -> bool:
        """Is it contiguous in memory, in this order?"""
        return True

    def _own(self) -> Any:
        """Let it share memory with nobody: NumPy would have made a copy."""
        return self

    def _assign(self, result: Any, casting: str = "same_kind") -> Any:
        """Take the elements of a result over, as `out=` asks for. Tensors can; others cannot be changed in place."""
        raise InPlaceError(at_user_line(f"out= takes an array or a tensor, not a {type(self).__name__}"))

    def _write_into(self, array: np.ndarray, casting: str = "same_kind") -> np.ndarray:
        """Put the elements into a plain array, where that loses no gradient."""
        raise UnsupportedError(at_user_line(f"out= cannot put a {type(self).__name__} into a plain array"))

    def _constant(self, value: Any) -> Any:
        """A plain array as a stand-in of this one's kind: what `like=` gives."""
        return value

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            op = UFUNCS.get(ufunc)
            if op is not None and not op.multi:
                return apply(op, inputs)
        return ufunc_method(self, ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        maker = LIKE.get(func)
        if maker is not None:
            return run(maker, (self, *args), kwargs)
        ours = meaning_of(func)
        if ours is None:
            raise without_op(_full_name(func))
        return run(ours, args, kwargs)

    # -- shape and type -------------------------------------------------------------------------------------------
    # subclasses give `shape` and `dtype`

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n = 1
        for k in self.shape:
            n *= k
        return n

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Any:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    @property
    def T(self) -> Any:
        return FUNCTIONS[np.transpose](self)

    @property
    def mT(self) -> Any:
        return FUNCTIONS[np.swapaxes](self, -1, -2)

    @property
    def real(self) -> Any:
        return FUNCTIONS[np.real](self)

    @property
    def imag(self) -> Any:
        return FUNCTIONS[np.imag](self)

    @property
    def flat(self) -> Any:
        return iter(FUNCTIONS[np.ravel](self))

    def __getitem__(self, index: Any) -> Any:
        return METHODS["__getitem__"](self, index)


def meaning_of(func: Any) -> Callable[..., Any] | None:
    """Our function for one of NumPy's; None where there is none. Few programs need some families: these come late."""
    ours = FUNCTIONS.get(func)
    if ours is None:
        module = HOME.get(getattr(func, "__name__", ""))
        if module is not None:
            bring_in(module)
            ours = FUNCTIONS.get(func)
    return ours


def bring_in(module: str) -> None:
    """Import a module that comes late. Its functions are found when it is whole, by other threads as well."""
    import_module(module)
    FUNCTIONS.update(_LATE[module])


def without_op(name: str) -> UnsupportedError:
    """What is raised for a function that has no op."""
    return UnsupportedError(
        at_user_line(
            f"{name} has no op, so its result would lose the gradient. Fix: write it with functions that have one "
            f"(`tapec support` lists them), make it an op of your own (docs/adding-an-op.md), or, on a tape, call it "
            f"on `x.numpy()` where no gradient is meant to flow."
        )
    )


def _full_name(func: Any) -> str:
    module = getattr(func, "__module__", "") or ""
    name = getattr(func, "__name__", str(func))
    full = f"{module}.{name}" if module else name
    return "np." + full.removeprefix("numpy.") if full.startswith("numpy") else full


def defers(other: Any) -> bool:
    """Is it for the other operand to say what an operator means? One that is neither a number nor an array, and knows
    operators with itself on the right: somebody's vectors, units or polynomials.
    """
    if type(other) in _PLAIN or isinstance(other, ArrayLike):
        return False
    if getattr(other, "__array_ufunc__", True) is None:
        return True
    if isinstance(other, (float, int, np.ndarray, np.generic, list, tuple, Number)):
        return False
    if any(hasattr(other, name) for name in _AS_ARRAYS):
        return False
    return any(hasattr(other, f"__r{name}__") for name in OPERATORS)


def _binary(ufunc: np.ufunc) -> tuple[Any, Any]:
    def forward(self: Any, other: Any) -> Any:
        return NotImplemented if defers(other) else apply(UFUNCS[ufunc], (self, other))

    def reflected(self: Any, other: Any) -> Any:
        return NotImplemented if defers(other) else apply(UFUNCS[ufunc], (other, self))

    return forward, reflected


_PLAIN = frozenset({float, int, np.ndarray})  # the commonest
_AS_ARRAYS = ("__array__", "__array_interface__", "__array_struct__", "__len__", "_tapec_read", "tocsr")

OPERATORS = {  # those with a reflected form
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "matmul": np.matmul,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
    "divmod": np.divmod,
}
for _name, _ufunc in OPERATORS.items():
    _forward, _reflected = _binary(_ufunc)
    setattr(ArrayLike, f"__{_name}__", _forward)
    setattr(ArrayLike, f"__r{_name}__", _reflected)
for _name, _ufunc in {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}.items():
    setattr(ArrayLike, f"__{_name}__", _binary(_ufunc)[0])


def sparse_product(op: Op, x: Any, matrix: Any, swapped: bool) -> Any:
    """x @ matrix, or matrix @ x, of a matrix of scipy.sparse; arrays times the older kind may be written with `*`."""
    from tapec.ops.scipy.sparse_products import is_matrix, left_product, right_product

    if op.name != "matmul" and not (op.name == "multiply" and is_matrix(matrix) and x.ndim):
        raise UnsupportedError(
            at_user_line(f"{op.name} of a tensor and a sparse matrix. Fix: use matrix.toarray(), or matrix @ x")
        )
    return left_product(matrix, x) if swapped else right_product(x, matrix)


def _matmul(self: Any, other: Any) -> Any:
    if hasattr(other, "tocsr"):
        return sparse_product(UFUNCS[np.matmul], self, other, False)
    return _dense_matmul(self, other)


def _rmatmul(self: Any, other: Any) -> Any:
    if hasattr(other, "tocsr"):
        return sparse_product(UFUNCS[np.matmul], self, other, True)
    return _dense_rmatmul(self, other)


_dense_matmul, _dense_rmatmul = _binary(np.matmul)
ArrayLike.__matmul__ = _matmul
ArrayLike.__rmatmul__ = _rmatmul


def _unary(ufunc: np.ufunc) -> Any:
    def call(self: Any) -> Any:
        return apply(UFUNCS[ufunc], (self,))

    return call


UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
for _name, _ufunc in UNARY.items():
    setattr(ArrayLike, f"__{_name}__", _unary(_ufunc))


def _round(self: Any, ndigits: int | None = None) -> Any:
    return FUNCTIONS[np.round](self, 0 if ndigits is None else ndigits)


ArrayLike.__round__ = _round  # type: ignore[attr-defined]
