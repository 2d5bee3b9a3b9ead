"""Text of tensors in traced functions: what could come back is a guard, what is only shown is free."""

import contextlib
import io
import logging
import sys
import warnings

import numpy as np
import pytest

import tapec

logger = logging.getLogger(__name__)
FREE, READ = [], []


def free(f):
    FREE.append(f)
    return f


def read(f):
    READ.append(f)
    return f


@free
def printed(x):
    print(x)
    return x * 2


@free
def printed_in_an_f_string(x):
    print(f"{x:.2f}")
    return x * 2


@free
def printed_in_many_ways(x):
    print("a", f"{x}" + "b", "{}".format(x), str(x), repr(x), [x], end="\n")  # noqa: UP032
    return x * 2


@free
def printed_to_stdout(x):
    print("%s" % x, file=sys.stdout)  # noqa: UP031
    return x * 2


@free
def logged(x):
    logging.debug("x %s", x)
    logger.info(f"{x:.3f}")
    return x * 2


@free
def warned(x):
    warnings.warn(f"big {x}", stacklevel=1)
    return x * 2


@free
def printed_on_several_lines(x):
    print(
        f"multi {x}",
    )
    return x * 2


@free
def printed_array(x):
    print(np.array([1, 2]) * x)
    return x * 2


@free
def text_of_an_error_that_leaves(x):
    if x > 100:
        raise ValueError(f"{x}")
    return x * 2


@read
def rounded_by_text(x):
    s = f"{x:.1f}"
    return float(s) * x


@read
def key(x):
    d = {"0.5": 1.0}
    return d.get(str(x), 3.0) * x


@read
def line_that_begins_with_log(x):
    logits = float(f"{x}")
    return logits * x


@read
def printed_to_a_file(x):
    b = io.StringIO()
    print(x, file=b)
    return float(b.getvalue()) * x


@read
def printed_to_redirected_stdout(x):
    b = io.StringIO()
    with contextlib.redirect_stdout(b):
        print(x)
    return float(b.getvalue()) * x


@read
def text_of_an_error_that_is_caught(x):
    try:
        raise ValueError(f"{x}")
    except ValueError as e:
        return float(str(e)) * x


@read
def by_repr(x):
    return float(repr(x).replace("np.float64(", "").strip(")")) * x


@read
def in_a_list(x):
    return float(str([x])[1:-1].replace("np.float64(", "").strip(")")) * x


@read
def length_of_text(x):
    return len(f"{x}") * x


@read
def evaluated(x):
    return eval(f"{x}") * x


@read
def hash_of_text(x):
    return hash(str(x)) % 7 * x


@read
def by_percent(x):
    return float("%s" % x) * x  # noqa: UP031


@read
def by_format(x):
    return float("{:.1f}".format(x)) * x  # noqa: UP032


@read
def text_of_an_array_of_tensors(x):
    y = np.array([x * 1.0, 2 * x])
    return float(str(y).strip("[]").split()[0]) * x


@read
def by_array2string(x):
    return float(np.array2string(np.asarray(x * 1.0))) * x


@read
def parameter_named_print(x):
    (lambda print: print(f"{x}"))(lambda s: None)
    return x * 2


@read
def function_named_print(x):
    kept = []

    def print(s):
        kept.append(float(s))

    print(f"{x}")
    return kept[0] * x


@read
def warning_that_is_caught(x):
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        warnings.warn(f"{x}", stacklevel=1)
    return float(str(w[0].message)) * x


@read
def text_that_is_compared(x):
    return (f"{x}" == "0.5") * x


@read
def sign_of_zero(x):
    return (-1.0 if f"{x - x * 1.0}" == "-0.0" else 1.0) * x


@pytest.fixture(autouse=True)
def quiet():
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("f", READ, ids=lambda f: f.__name__)
def test_what_comes_back_as_text_is_that_of_each_call(f):
    compiled = tapec.value_and_grad(f)
    for x in (0.5, 0.5, 1.25, 2.5, 0.5, 3.5):
        np.testing.assert_allclose(compiled(x)[0], f(x))
    reason = compiled.explain(0.5).recorded_anew
    assert any(word in reason for word in ("float", "text", "eval, whose code is not followed"))


@pytest.mark.parametrize("f", FREE, ids=lambda f: f.__name__)
def test_what_is_only_shown_is_no_guard(f):
    compiled = tapec.value_and_grad(f)
    for x in (0.5, 1.25, 2.5, 3.5):
        np.testing.assert_allclose(compiled(x)[0], f(x))
    assert compiled.explain(0.5).recorded_anew is None and len(compiled.explain(0.5).paths) == 1


def test_two_floats_are_two_paths():
    compiled = tapec.grad(rounded_by_text)
    assert [compiled(x) for x in (0.5, 1.5, 0.5, 1.5)] == [0.5, 1.5, 0.5, 1.5]
    assert compiled.explain(0.5).recorded_anew is None and compiled.cache_info().misses == 2


def test_an_integer_in_a_key():
    def f(params, n, x):
        logits = x @ params[f"W{n}"]
        return np.sum(logits**2)

    params = {f"W{n}": np.full((2, 2), n + 1.0) for n in range(5)}
    x = np.array([1.0, 2.0])
    compiled = tapec.value_and_grad(f)
    for n in (0, 1, 2, 3, 4, 0):
        value, gradient = compiled(params, n, x)
        np.testing.assert_allclose(value, f(params, n, x))
        assert [k for k, g in gradient.items() if np.any(g)] == [f"W{n}"]
    assert compiled.explain(params, 0, x).recorded_anew is None


def test_text_of_an_array():
    def f(x):
        return x * len(str(x))

    compiled = tapec.compile(f)
    for x in (np.ones(2), np.array([0.25, 0.125]), np.array([1.0 / 3.0, 2.0])):
        np.testing.assert_allclose(compiled(x), f(x))
    assert compiled.explain(x).recorded_anew == "it makes text of an array"


def test_code_without_source_is_taken_to_read():
    space = {}
    exec("def f(x):\n    print(f'{x}')\n    return x * 2", space)
    compiled = tapec.compile(space["f"])
    assert [compiled(x) for x in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    assert "float" in compiled.explain(1.0).recorded_anew


RATE = 0.5


def test_a_captured_number_that_becomes_text():
    global RATE

    def f(x):
        return x * float(f"{RATE:.2f}")

    compiled = tapec.compile(f)
    for rate in (0.5, 0.25, 0.125, 0.75):
        RATE = rate
        assert compiled(2.0) == f(2.0)
