"""What a traced function asks about classes is answered as plain Python answers it."""

from __future__ import annotations

import collections
import functools
import numbers
from typing import Any

import numpy as np
import pytest

import tapec


class Dense:
    made = 0

    def __init__(self, w: float):
        self.w = w


def matched(v: Any) -> str:
    match v:
        case bool():
            return "bool"
        case int() | np.int64():
            return "whole number"
        case np.float32():
            return "short"
        case float():
            return "number"
        case complex() | str():
            return "other"
        case np.ndarray(ndim=1):
            return "vector"
        case np.ndarray():
            return "array"
        case Dense():
            return "dense"
        case {"a": _}:
            return "dict"
        case [_, _]:
            return "pair"
    return "none of these"


@functools.singledispatch
def dispatched(v: Any) -> str:
    return "none of these"


dispatched.register(float, lambda v: "number")
dispatched.register(numbers.Integral, lambda v: "whole number")
dispatched.register(np.ndarray, lambda v: "array")
dispatched.register(list, lambda v: "list")
dispatched.register(Dense, lambda v: "dense")

QUESTIONS = {
    "match": matched,
    "singledispatch": dispatched,
    "__class__ float": lambda v: v.__class__ is float,
    "__class__ ndarray": lambda v: v.__class__ is np.ndarray,
    "__class__ name": lambda v: v.__class__.__name__,
    "isinstance ndarray": lambda v: isinstance(v, np.ndarray),
    "isinstance float": lambda v: isinstance(v, float),
    "isinstance several": lambda v: isinstance(v, (int, float)),
    "isinstance union": lambda v: isinstance(v, int | complex | str),
    "isinstance generic": lambda v: isinstance(v, np.generic),
    "isinstance floating": lambda v: isinstance(v, np.floating),
    "isinstance Number": lambda v: isinstance(v, numbers.Number),
    "isinstance Real": lambda v: isinstance(v, numbers.Real),
    "isinstance Integral": lambda v: isinstance(v, numbers.Integral),
    "isinstance Sequence": lambda v: isinstance(v, collections.abc.Sequence),
    "isinstance Iterable": lambda v: isinstance(v, collections.abc.Iterable),
    "isinstance Hashable": lambda v: isinstance(v, collections.abc.Hashable),
    "isinstance Mapping": lambda v: isinstance(v, collections.abc.Mapping),
    "isinstance list": lambda v: isinstance(v, (list, tuple)),
    "isinstance Dense": lambda v: isinstance(v, Dense),
    "isinstance type": lambda v: isinstance(type(v), type) and not isinstance(v, type),
    "type ndarray": lambda v: type(v) is np.ndarray,
    "type float": lambda v: type(v) is float,
    "type int": lambda v: type(v) in (int, np.int64),
    "type list": lambda v: type(v) is list,
    "type dict": lambda v: type(v) is dict,
    "type Dense": lambda v: type(v) is Dense,
    "type equal": lambda v: type(v) == list,  # noqa: E721
    "type of type": lambda v: type(type(v)) is type,
    "type name": lambda v: type(v).__name__,
    "type as key": lambda v: {list: 1, np.ndarray: 2, float: 3, int: 4, Dense: 5, dict: 6}.get(type(v), 7),
    "type same": lambda v: type(v) is type(v),
    "issubclass": lambda v: issubclass(type(v), (float, np.floating)),
    "isscalar": lambda v: np.isscalar(v),
    "ndim": lambda v: None if isinstance(v, (dict, Dense)) else np.ndim(v),
    "hasattr shape": lambda v: hasattr(v, "shape"),
    "hasattr dtype": lambda v: hasattr(v, "dtype"),
    "hasattr len": lambda v: hasattr(v, "__len__"),
    "hasattr iter": lambda v: hasattr(v, "__iter__"),
    "hasattr append": lambda v: hasattr(v, "append"),
    "hasattr numpy": lambda v: hasattr(v, "numpy"),
    "hasattr w": lambda v: hasattr(v, "w"),
    "getattr shape": lambda v: getattr(v, "shape", "none") == "none",
    "getattr numpy": lambda v: getattr(v, "numpy", None) is None,
    "map": lambda v: [k.__name__ for k in map(type, [v, v])],
    "callable": lambda v: callable(v),
}
VALUES: dict[str, Any] = {
    "float": 1.5,
    "int": 3,
    "bool": True,
    "complex": 1.5 + 0.5j,
    "str": "text",
    "None": None,
    "float64": np.float64(1.5),
    "float32": np.float32(1.5),
    "int64": np.int64(3),
    "0-d": np.array(1.5),
    "0-d int": np.array(3),
    "1-d": np.array([1.0, 2.0]),
    "2-d int": np.arange(6).reshape(2, 3),
    "of one": np.array([1.5]),
    "mask": np.array([True, False]),
    "list": [1.0, 2.0],
    "tuple": (1.0, 2),
    "dict": {"a": 1.0},
    "ordered": collections.OrderedDict(a=1.0),
    "deque": collections.deque([1.0]),
    "object": Dense(2.0),
}
x = np.array([0.5, 1.5])


@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("value", VALUES)
def test_argument(question: str, value: str) -> None:
    asked = []
    ask = QUESTIONS[question]

    @tapec.compile
    def f(v: Any, x: Any) -> Any:
        asked.append(ask(v))
        return x * 2

    f(VALUES[value], x)
    assert asked[0] == ask(VALUES[value])


@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("value", VALUES)
def test_captured(question: str, value: str) -> None:
    asked = []
    ask, v = QUESTIONS[question], VALUES[value]

    @tapec.compile
    def f(x: Any) -> Any:
        asked.append(ask(v))
        return x * 2

    f(x)
    assert asked[0] == ask(v)


COMPUTED = {
    "sum": lambda x: np.sum(x),
    "element": lambda x: x[0],
    "slice": lambda x: x[:1],
    "count": lambda x: np.sum(x > 1),
    "argmax": lambda x: np.argmax(x),
    "compared": lambda x: x[0] > 1,
    "mask": lambda x: x > 1,
    "float": lambda x: 2.5,
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("value", COMPUTED)
def test_computed(question: str, value: str) -> None:
    asked = []
    ask, make = QUESTIONS[question], COMPUTED[value]

    @tapec.compile
    def f(x: Any) -> Any:
        asked.append(ask(make(x)))
        return x * 2

    f(x)
    assert asked[0] == ask(make(x))


def test_class_belongs_to_the_signature() -> None:
    @tapec.compile
    def f(x: Any) -> Any:
        return x * 2 if isinstance(x, np.ndarray) else x * 3

    for value in (np.float64(2.0), np.array(2.0), 2.0, np.array([2.0])) * 4:
        assert np.all(f(value) == (4.0 if isinstance(value, np.ndarray) else 6.0))


def test_class_of_a_captured_number_is_compared() -> None:
    held = {"w": np.float64(2.0)}

    @tapec.compile
    def f(x: Any) -> Any:
        w = held["w"]
        return x * w if isinstance(w, np.ndarray) else x + w

    assert np.all(f(x) == x + 2.0)
    held["w"] = np.array(2.0)
    assert np.all(f(x) == x * 2.0)


def test_gradient_of_the_branch_that_numpy_takes() -> None:
    def f(v: Any) -> Any:
        v = v if isinstance(v, np.ndarray) else np.array([v, v])
        return np.sum(v**2)

    assert np.all(tapec.grad(f)(x) == 2 * x)
    assert tapec.grad(f)(1.5) == 6.0


def test_tensors_are_tensors_too() -> None:
    @tapec.compile
    def f(v: Any) -> Any:
        assert isinstance(v, tapec.Tensor) and isinstance(v, (str, tapec.Tensor)) and not isinstance(v, (str, list))
        return v

    f(x)


def test_tapes_have_tensors() -> None:
    with tapec.GradientTape():
        v = tapec.constant(x)
        assert not isinstance(v, np.ndarray)
        assert type(v) is tapec.Tensor


def test_functions_that_are_kept_ask_python() -> None:
    kept = []

    @tapec.compile
    def f(x: Any) -> Any:
        kept.append(lambda v: (type(v), isinstance(v, np.ndarray)))
        return x * 2

    f(x)
    assert kept[0](tapec.constant(x)) == (tapec.Tensor, False)


def test_type_makes_classes() -> None:
    @tapec.compile
    def f(x: Any) -> Any:
        class Kinds(type):
            factor = 3.0

        made = Kinds("Made", (), {})
        assert type(made) is Kinds and isinstance(made, type) and isinstance(made, Kinds)
        assert type(type("Other", (Dense,), {"v": 1})) is type and not isinstance(Dense, Kinds)
        return x * made.factor

    assert np.all(f(x) == x * 3)


def test_classes_that_the_run_counts_on() -> None:
    class Layer:
        calls = 0

    layer = Layer()

    @tapec.compile
    def f(x: Any) -> Any:
        type(layer).calls += 1
        return x * 2

    for _ in range(4):
        f(x)
    assert Layer.calls == 4


@pytest.mark.parametrize("n", [0, 1, 3, np.int64(2)])
@pytest.mark.parametrize("swap", [False, True])
def test_lists_are_repeated(n: Any, swap: bool) -> None:
    def f(x: Any, n: Any) -> Any:
        parts = n * [0.5] if swap else [0.5] * n
        pairs = (x[0], None) * n
        for p in parts:
            x = x * p
        return np.sum(x) + len(parts) + len(pairs)

    g = tapec.value_and_grad(f)
    for k in (n, n + 1, n):
        value, gradient = g(x, k)
        assert value == f(x, k)
        assert np.all(gradient == 0.5**k)


def test_arrays_times_lists_are_products() -> None:
    f = tapec.compile(lambda n, m: ([2.0] * n, m * [2.0, 3.0]))
    a, b = f(np.array(3), np.array([1.0, 2.0]))
    assert np.all(a == [6.0])
    assert np.all(b == [2.0, 6.0])


def test_counts_repeat_lists() -> None:
    def f(x: Any) -> Any:
        return np.sum(x) * len([1.0] * np.count_nonzero(x > 1)) + len([0] * np.argmax(x))

    g = tapec.compile(f)
    for v in (x, x * 4, x / 10):
        assert g(v) == f(v)


def test_a_float_repeats_nothing() -> None:
    with pytest.raises(TypeError):
        tapec.compile(lambda v, x: len([1.0] * v) * x)(1.5, x)
