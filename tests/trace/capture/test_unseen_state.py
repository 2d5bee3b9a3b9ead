"""What cannot be watched makes a function be recorded at each call."""

import ctypes
import sys
import types

import pytest

import tapec

W = 2.0


class Point(ctypes.Structure):
    _fields_ = (("a", ctypes.c_double),)


def helper(x):
    return x * helper._scale


numbers, point, number, endless, chained = (ctypes.c_double * 1)(), Point(), ctypes.c_double(), [], {}
CASES = {
    "attribute of a function": lambda x: helper(x),
    "sys.modules": lambda x: x * sys.modules[__name__].W,
    "all of a module": lambda x: x * vars(sys.modules[__name__])["W"],
    "array of C": lambda x: x * numbers[0],
    "structure of C": lambda x: x * point.a,
    "number of C": lambda x: x * number.value,
    "list in itself": lambda x: x * endless[1][1][0],
    "dict in itself": lambda x: x * chained["me"]["me"]["w"],
}


@pytest.mark.parametrize("function", CASES.values(), ids=CASES)
def test_it_is_read_anew(function, monkeypatch):
    def put(value):
        monkeypatch.setitem(globals(), "W", value)
        helper._scale = numbers[0] = point.a = number.value = value
        endless[:] = [value, endless]
        chained.update(w=value, me=chained)

    put(2.0)
    grad = tapec.grad(function)
    for value in (2.0, 5.0, 5.0, 3.0):
        put(value)
        assert [grad(1.0) for _ in range(2)] == [value] * 2


def test_which_modules_are_loaded_is_a_fact(monkeypatch):
    def f(x):
        import sys as inner

        module = sys.modules.get("a_module_of_theirs")
        return x * (1.0 if module is None else module.RATE) + ("another_one" in inner.modules)

    g = tapec.grad(f)
    assert [g(1.0), g(2.0)] == [1.0, 1.0]
    assert g.explain(1.0).recorded_anew is None
    module = types.ModuleType("a_module_of_theirs")
    module.RATE = 5.0
    monkeypatch.setitem(sys.modules, "a_module_of_theirs", module)
    assert [g(1.0), g(2.0)] == [5.0, 5.0]
    module.RATE = 7.0
    assert g(1.0) == 7.0
    f = tapec.compile(f)
    assert f(1.0) == 7.0
    monkeypatch.setitem(sys.modules, "another_one", module)
    assert f(1.0) == 8.0


def test_the_module_sys_stays_what_it_is():
    f = tapec.compile(lambda x: (x * sys.maxsize, sys, sys.modules, len(sys.modules)))
    assert f(1.0)[1:] == (sys, sys.modules, len(sys.modules)) and f(1.0)[2] is sys.modules
