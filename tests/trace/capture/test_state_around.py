"""State that a traced function sets, and a compiled function that it calls reads: right, or refused, never stale."""

import numpy as np
import pytest

import tapec
from tapec.errors import UnsupportedError

RATE = 1.0
TABLE = {"w": 1.0}
LIST = []


class Box:
    w = 1.0


class Reader:
    """Reads what it finds in its constructor, which no trace follows."""

    def __init__(self):
        self.w = box.w * 1.0


box = Box()
by_global = tapec.compile(lambda x: RATE * x)
by_item = tapec.compile(lambda x: TABLE["w"] * x)
by_list = tapec.grad(lambda x: LIST[-1] * x * x)
by_attribute = tapec.compile(lambda x: box.w * x)
by_constructor = tapec.compile(lambda x: Reader().w * x)


def sets_a_global(a):
    global RATE
    RATE = a * 2.0
    return by_global(3.0)


def sets_an_item(a):
    TABLE["w"] = a * 2.0
    return by_item(3.0)


def appends(a):
    LIST.append(a * 2.0)
    return by_list(1.5)


def sets_an_attribute(a):
    box.w = a * 2.0
    return by_attribute(3.0)


def sets_what_a_constructor_reads(a):
    box.w = a * 2.0
    return by_constructor(3.0)


@pytest.mark.parametrize("f", [sets_a_global, sets_an_item, appends])
def test_what_would_be_stale_or_without_gradient_is_refused(f):
    for _ in range(2):
        for transform in (tapec.compile, tapec.grad):
            with pytest.raises(UnsupportedError, match="is set in a function that is traced"):
                transform(f)(1.0)
    assert type(f(2.0)) is not tapec.Tensor
    np.testing.assert_allclose(f(2.0), 12.0)


@pytest.mark.parametrize("f", [sets_an_attribute, sets_what_a_constructor_reads])
def test_tensors_in_objects_are_followed(f):
    g = tapec.value_and_grad(f)
    for a in (1.0, 2.0, 2.0, 5.0):
        np.testing.assert_allclose(g(a), (6.0 * a, 6.0))
    assert type(box.w) is not tapec.Tensor


def test_a_class_of_the_outer_function():
    def outer(a):
        class Inner:
            def __init__(self):
                self.w = a * 1.0

        return tapec.compile(lambda x: Inner().w * x)(3.0)

    g = tapec.value_and_grad(outer)
    for a in (1.0, 2.0, 3.0):
        np.testing.assert_allclose(g(a), (3.0 * a, 3.0))


def test_on_a_tape():
    for a in (1.0, 2.0, 3.0):
        variable = tapec.Variable(a)
        with tapec.GradientTape() as tape:
            box.w = variable * 2.0
            y = by_constructor(3.0)
        assert y.numpy() == 6.0 * a and tape.gradient(y, variable).numpy() == 6.0
    box.w = 1.0


def test_what_is_not_set_is_read_as_ever():
    def outer(a):
        box.other = a
        return by_global(a) + by_item(a) * 2.0

    global RATE
    RATE, TABLE["w"] = 1.0, 1.0
    assert tapec.grad(outer)(1.0) == 3.0
