"""Operations between Python's numbers alone have Python's value, type and error, at each call, however they come in."""

import itertools
import math
import operator
import warnings

import numpy as np
import pytest

import tapec
from tapec.ir import interpret

NUMBERS = (True, 0, -1, 3, 2**62, 2**53 + 1, 2**70)
NUMBERS += (0.0, -0.0, 0.5, -2.5, 2.0**53, 1e308, math.nan, math.inf, 1 + 2j, 0j)
HARMLESS = {bool: True, int: 2, float: 1.5, complex: 1.5 + 0.5j}
ROUNDED = (lambda a, b: round(a), lambda a, b: round(a * 0.145, 2), lambda a, b: round(a, -1))
GROUPS = {
    "sums": (operator.add, operator.sub, operator.mul),
    "quotients": (operator.truediv, operator.floordiv, operator.mod, divmod),
    "powers": (operator.pow, operator.lshift, operator.rshift),
    "powers with a modulus": (lambda a, b: pow(a, b, 7), lambda a, b: pow(2, a, b), lambda a, b: pow(3, -1, mod=a)),
    "bits": (operator.and_, operator.or_, operator.xor),
    "comparisons": (operator.lt, operator.le, operator.eq, operator.ne),
    "chained": (lambda a, b: -1 < a <= b, lambda a, b: (a > b) + (a == b) * 0.5, lambda a, b: -(a / b) // 2),
    "one": (lambda a, b: -a, lambda a, b: +a, lambda a, b: ~a, lambda a, b: abs(a), *ROUNDED),
    "several": (lambda a, b: a**2 / b + True, lambda a, b: (a * a) * a // 7, lambda a, b: b / (a - 3) ** 2),
}
SINGLE = np.full(2, 0.5, np.float32)


def cases(operation):
    """Pairs of awkward numbers, those of the same classes together; without powers of millions of digits."""
    pairs = [
        (a, b)
        for a, b in itertools.product(NUMBERS, NUMBERS)
        if not (operation in GROUPS["powers"] and isinstance(b, int) and b > 2**40)
    ]
    kinds = [f"{type(a).__name__} {type(b).__name__}" for a, b in pairs]
    for kind in sorted(set(kinds)):
        yield [pair for pair, k in zip(pairs, kinds) if k == kind]


def beside_single(value):
    """What comes of a number beside single precision, which tells a number of Python's from one of NumPy's."""
    return tuple([v * SINGLE for v in value]) if isinstance(value, tuple) else value * SINGLE


def told(function, *args):
    """The result as text, which tells dtypes and signs, or the class of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = function(*args)
        except Exception as error:
            return type(error).__name__
    return [f"{np.asarray(x).dtype} {x!s}" for x in (found if isinstance(found, tuple) else (found,))]


def checked(group, made):
    """Compare `made(operation)`, which is a transform and its function, with the function: the first call is for
    harmless numbers, those that follow are for awkward ones."""
    for operation in GROUPS[group]:
        for pairs in cases(operation):
            compiled, function = made(operation)
            told(compiled, *[HARMLESS[type(x)] for x in pairs[0]])
            for a, b in pairs:
                assert told(compiled, a, b) == told(function, a, b), (operation, a, b)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("group", GROUPS)
def test_arguments(group):
    def made(operation):
        def function(a, b):
            return beside_single(operation(a, b))

        return tapec.compile(function), function

    checked(group, made)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("group", GROUPS)
def test_captured(group):
    def made(operation):
        held = {}

        def function(x):
            value = operation(held["a"], held["b"])
            return tuple([v * x for v in value]) if isinstance(value, tuple) else value * x

        def holding(f):
            def call(a, b):
                held.update(a=a, b=b)
                return f(SINGLE)

            return call

        return holding(tapec.compile(function)), holding(function)

    checked(group, made)


@pytest.mark.parametrize("group", ["quotients", "powers", "several"])
def test_the_function_may_catch_what_python_raises_though_nothing_asks_for_the_value(group):
    def made(operation):
        def function(x, a, b):
            try:
                operation(a, b)
            except ArithmeticError:
                return x * 7.0
            except (TypeError, ValueError):
                return x * 11.0
            return x * 2.0

        slope = tapec.grad(function)
        return lambda a, b: slope(0.5, a, b), lambda a, b: np.float64(function(1.0, a, b))

    checked(group, made)


def test_gradients_by_numbers_of_python():
    def function(a, b):
        return (a * b + 1) / b - a**3 + 2.0**a + a**b + abs(-a) * (a > b)

    for a, b in ((1.5, 2.5), (2.5, 1.5), (0.5, -2.0)):
        tapec.check_grads(function, (np.float64(a), np.float64(b)))
        found = tapec.grad(function, (0, 1))(a, b)
        np.testing.assert_allclose(found, tapec.grad(function, (0, 1))(np.float64(a), np.float64(b)), rtol=1e-14)


@pytest.mark.parametrize(
    ("power", "asked"),
    [
        (lambda a, k: a**k, None),
        (lambda a, k: a**3, None),
        (lambda a, k: 2.0**a, None),
        (lambda a, k: 2**a + 0**a, None),
        (lambda a, k: a**2.5, "a < 0.0"),
        (lambda a, k: (-2.0) ** a * (1 + 0j), "type(power) is not float"),
        (lambda a, k: k**k, "type(power) is not int"),
    ],
)
def test_code_asks_for_the_class_of_a_power_only_where_there_may_be_two(power, asked):
    source = tapec.compile(power).source(2.0, 3)
    tests = [line.split("  #")[0].strip() for line in source.splitlines() if " if " in line]
    assert set(tests) == (set() if asked is None else {f"if {asked}:"})


@pytest.mark.parametrize("ufunc", [np.add, np.divide, np.power, np.floor_divide])
def test_functions_of_numpy_compute_in_their_own_way(ufunc):
    def function(x, a, b):
        return x * ufunc(a, b)

    compiled = tapec.compile(function)
    for a, b in ((2.0, 3.0), (2.0, 0.0)):
        assert told(compiled, SINGLE, a, b) == told(function, SINGLE, a, b)


def test_the_interpreter_computes_as_python():
    compiled = tapec.compile(lambda x, a, b: x * (a / b) + (a < b))
    graph = compiled.ir(SINGLE, 2, 3, stage="forward")
    a, b = 2**53 + 1, 2**53 + 3
    assert interpret(graph, np.ones(()), a, b)[-1] == a / b + 1


def test_whole_numbers_of_more_than_64_bits_are_results():
    compiled = tapec.compile(lambda x, k: (np.sum(x), {"n": k * 2**62}))
    for k in (1, 4, 5, 1, -2, -3, 7):
        total, found = compiled(np.ones(3), k)
        assert total == 3.0 and found["n"] == k * 2**62
        assert type(found["n"]) is (np.int64 if abs(k) == 1 or k == -2 else int)
