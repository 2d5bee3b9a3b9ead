"""`ArrayLike` is the base of every array stand-in, whether it holds a value (Tensor) or not (Symbol).

Operators, methods and NumPy's two protocols all end in `_apply(op, inputs, params)` of the subclass. The families of
ops define the methods (`method`), `ops/numpy_calls` the operators and `__array_ufunc__`: they need ops, and ops need
this file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tapec.errors import InPlaceError, UnsupportedError, at_user_line, note_user_line
from tapec.ir import Op
from tapec.ops.core.lazy import HOME, bring_in, function_table
from tapec.ops.core.numpy_tables import FUNCTIONS, LIKE, METHODS, UFUNCS

__all__ = [
    "FUNCTIONS",
    "LIKE",
    "METHODS",
    "UFUNCS",
    "ArrayLike",
    "apply",
    "deliver",
    "dtype_with_out",
    "gives_views",
    "lies_in_rows",
    "may_give_its_argument",
    "out_at",
]
__all__ += ["check_fit", "implements", "like", "meaning_of", "method", "without_op"]

_OUT: dict[Any, int] = {}  # our function -> where `out` stands among its positional parameters

_GIVES_VIEWS: set[Any] = set()  # our functions whose result may be the argument itself, or a view of it
_MAY_COPY: set[Any] = set()  # our functions with a parameter `copy`, which give the argument itself by `copy=False`
_FILLS_OUT: set[Any] = set()  # our functions that broadcast their result into `out`
_SUMS: dict[Any, int] = {}  # our functions that compute in the dtype of a wider `out` -> where their `dtype` stands
_IN_ROWS: set[Any] = set()  # our functions whose result lies row by row in memory


def implements(
    *functions: Any, gives_views: bool = False, fills_out: bool = False, in_rows: bool = False, sums: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function the meaning of these NumPy functions on stand-ins. `out=` is taken care of for all of them.

    `gives_views`: the result may be the argument itself, or a view of it. All other functions give copies.
    `fills_out`: a result of another shape is broadcast into `out`, as ufuncs do. All others need the same shape.
    `in_rows`: the rows of NumPy's result follow one another in memory, however the arguments lie, and whatever ops ours
    is made of.
    `sums`: NumPy's function computes in the dtype of `out`, where that is a wider one; ours takes a `dtype`.
    """

    def enter(ours: Callable[..., Any]) -> Callable[..., Any]:
        table = function_table(ours.__module__)
        for function in functions:
            table[function] = ours
        if fills_out:
            _FILLS_OUT.add(ours)
        if in_rows:
            _IN_ROWS.add(ours)
        if sums:
            _SUMS[ours] = _position(ours, "dtype")
        return _noted(ours, gives_views)

    return enter


def like(*functions: Any, gives_views: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function of (stand-in, ...) the meaning of these NumPy functions with `like=` that stand-in."""

    def enter(ours: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            LIKE[function] = ours
        return _noted(ours, gives_views)

    return enter


def _noted(ours: Callable[..., Any], gives_views: bool) -> Callable[..., Any]:
    """Remember where a function takes `out`, and whether it may give a view, or by `copy=False` its argument."""
    if gives_views:
        _GIVES_VIEWS.add(ours)
    code = getattr(ours, "__code__", None)
    if code is not None and "copy" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        _MAY_COPY.add(ours)
    if code is not None and "out" in code.co_varnames[: code.co_argcount]:
        _OUT[ours] = _position(ours, "out")
    return ours


def _position(ours: Callable[..., Any], parameter: str) -> int:
    """Return the position of a parameter among the positional arguments; 99 if it is given by keyword only."""
    code = ours.__code__
    positional = code.co_varnames[: code.co_argcount]
    return positional.index(parameter) if parameter in positional else 99


def gives_views(ours: Callable[..., Any] | None) -> bool:
    """Return whether a function's result may share memory with its argument, as NumPy's does."""
    return ours in _GIVES_VIEWS


def lies_in_rows(ours: Callable[..., Any] | None) -> bool:
    """Return whether the rows of a function's result follow one another in memory in any case."""
    return ours in _IN_ROWS


def may_give_its_argument(ours: Callable[..., Any] | None) -> bool:
    """Return whether a function may give a view, or by `copy=False` its argument itself."""
    return ours in _GIVES_VIEWS or ours in _MAY_COPY


def out_at(ours: Callable[..., Any] | None) -> int:
    """Return the position of `out` among the positional arguments; 99 if the function has none."""
    return _OUT.get(ours, 99)


def run(ours: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call our function as NumPy's was called. `out` gets the result; an error gets the user's line."""
    try:
        if "out" in kwargs or len(args) > out_at(ours):
            return _run_out(ours, args, kwargs)
        result = ours(*args, **kwargs)
        if ours not in _GIVES_VIEWS and kwargs.get("copy", True):
            if isinstance(result, ArrayLike):
                result = _apart(result, args)
                return result._lie_in("C") if ours in _IN_ROWS else result
            if type(result) is tuple:
                return tuple([_apart(x, args) if isinstance(x, ArrayLike) else x for x in result])
        return result
    except Exception as error:
        note_user_line(error)
        raise


def _apart(result: Any, args: tuple[Any, ...]) -> Any:
    """Return a result that shares memory with no argument, as what NumPy copies."""
    if result._rank < 2:
        return result  # a symbol never changes, and needs no copy
    if any([result is a or (type(a) is list and any([result is x for x in a])) for a in args]):
        return result.copy("K")
    return result._own()


def _run_out(ours: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call our function without `out`, then write the result into `out`: our functions compute new values only."""
    k = out_at(ours)
    kwargs = dict(kwargs)
    out = args[k] if len(args) > k else kwargs.pop("out", None)
    at = _SUMS.get(ours)
    if at is not None and kwargs.get("dtype") is None and (len(args) <= at or args[at] is None):
        operands = args if ours not in _OUT else args[:1] or (kwargs.get("a"),)  # einsum has any number of them
        dtype = dtype_with_out(operands, out)
        if len(args) <= at:
            kwargs["dtype"] = dtype
        else:
            args = (*args[:at], dtype, *args[at + 1 :])
    result = ours(*args[:k], *[None for _ in args[k : k + 1]], *args[k + 1 :], **kwargs)
    if out is None:
        return result
    check_fit(ours, out[0] if isinstance(out, tuple) else out, result)
    return deliver(out, result, kwargs.get("casting", "same_kind"))


def dtype_with_out(operands: Any, out: Any) -> Any:
    """Return the dtype in which NumPy sums operands up into `out`; None where theirs decides."""
    there = getattr(out[0] if isinstance(out, tuple) else out, "dtype", None)
    own = [a.dtype for a in operands if hasattr(a, "dtype")]
    if there is None or not own or np.result_type(*own, there) == np.result_type(*own):
        return None
    return np.result_type(*own, there)


def check_fit(function: Any, out: Any, result: Any) -> None:
    """Raise an error if `out` has another shape than the result, unless the function fills `out` as ufuncs do."""
    there, shape = getattr(out, "shape", ()), getattr(result, "shape", ())
    if there != shape and function not in _FILLS_OUT:
        raise ValueError(at_user_line(f"the output array has the shape {there}, the result {shape}"))


def deliver(out: Any, result: Any, casting: str = "same_kind") -> Any:
    """Write a result into the array that was given as `out`, and return that array."""
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


def method(*names: str, gives_views: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function an ndarray method of stand-ins."""

    def enter(ours: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            METHODS[name] = ours
            setattr(ArrayLike, name, _as_method(name, ours))
        return _noted(ours, gives_views)

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


class ArrayLike:
    """Base class of Tensor and Symbol: NumPy's protocols, methods and operators, ending in `_apply`."""

    __slots__ = ()
    __array_priority__ = 1000
    __pandas_priority__ = 5000  # above DataFrame: `series * tensor` is ours
    _rank = 0  # the operand of the highest rank performs the op when kinds are mixed
    _promotes = True  # whether operands of several dtypes are converted to one, as NumPy's are
    _link: Any = None  # the stand-ins that share its memory

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

        def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any: ...

        __neg__ = __pos__ = __abs__ = __invert__ = _unary
        __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _binary
        __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __matmul__ = _binary
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __rmatmul__ = _binary
        __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = __divmod__ = _binary
        __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = __rdivmod__ = _binary

    def _apply(self, op: Op, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
        raise NotImplementedError

    def _differs(self) -> bool:
        """Return whether the value is one example of a batch: one program must serve all, so none may depend on it."""
        return False

    def _tapec_read(self) -> Any:
        """Return the stand-in that takes part in an operation: a Variable returns its value."""
        return self

    def _operand(self) -> Any:
        """Return the stand-in that an operation takes as its operand."""
        return self._tapec_read()

    def _lies_in(self, order: str, is_reshaped: bool = False) -> bool:
        """Return whether the elements are contiguous in memory, in this order."""
        return True

    def _lie_in(self, order: str) -> Any:
        """Lie in memory in this order, as NumPy's result does."""
        return self

    def _lie_as(self, other: Any) -> Any:
        """Lie in memory in the order in which another stand-in of this shape lies."""
        return self

    def _own(self) -> Any:
        """Stop sharing memory with other stand-ins: NumPy would have made a copy."""
        return self

    def _writable(self) -> Any:
        """Be a view that may be written, where the op gives read-only views but NumPy's function does not."""
        return self

    def _assign(self, result: Any, casting: str = "same_kind") -> Any:
        """Take over the elements of a result, for `out=`. Tensors can; other stand-ins cannot be changed in place."""
        raise InPlaceError(at_user_line(f"out= takes an array or a tensor, not a {type(self).__name__}"))

    def _write_into(self, array: np.ndarray, casting: str = "same_kind") -> np.ndarray:
        """Write the elements into a plain array, where that loses no gradient."""
        raise UnsupportedError(at_user_line(f"out= cannot put a {type(self).__name__} into a plain array"))

    def _told(self) -> Any:
        """Return what becomes of this in a text or a file."""
        return getattr(self, "_value", self)

    def _constant(self, value: Any) -> Any:
        """Return a plain array as a stand-in of this kind, for `like=`."""
        return value

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
    """Return our function for one of NumPy's, or None; the family of some functions is imported here, on first use."""
    ours = FUNCTIONS.get(func)
    if ours is None:
        module = HOME.get(getattr(func, "__name__", ""))
        if module is not None:
            bring_in(module)
            ours = FUNCTIONS.get(func)
    return ours


def without_op(name: str) -> UnsupportedError:
    """Return the error for a function that has no op."""
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
