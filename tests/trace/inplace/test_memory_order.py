"""Whether a reshape is a view depends on how an array lies in memory, and so does what a change in place does."""

import numpy as np
import pytest

import tapec

ARRAYS = {
    "C": lambda: np.arange(9.0).reshape(3, 3),
    "Fortran": lambda: np.asfortranarray(np.arange(9.0).reshape(3, 3)),
    "columns": lambda: np.arange(18.0).reshape(3, 6)[:, ::2],
    "rows": lambda: np.arange(18.0).reshape(6, 3)[::2],
    "reversed": lambda: np.arange(9.0).reshape(3, 3)[::-1],
    "reversed columns": lambda: np.arange(9.0).reshape(3, 3)[:, ::-1],
    "spread": lambda: np.broadcast_to(np.arange(3.0), (3, 3)),
}
SCALE = 1.0


def by_reshape(x):
    y = x * 0.5
    z = y.reshape(-1)
    y[::2] *= 0.3
    return np.sum(np.sin(z) * np.arange(9))


def by_ravel(x):
    y = np.tanh(x)
    z = np.ravel(y)
    z[1] = 5.0
    return np.sum(y * y)


def by_transpose(x):
    y = np.nan_to_num(x).T
    z = y.reshape(9)
    z += 1.0
    return np.sum(y * np.arange(3.0))


def by_like(x):
    y = np.zeros_like(x) + x
    y.reshape(-1)[0] = 7.0
    return np.sum(y * x)


@pytest.mark.parametrize("f", [by_reshape, by_ravel, by_transpose, by_like])
def test_arguments_that_lie_in_other_orders(f):
    compiled = tapec.value_and_grad(f)
    for _ in range(3):  # recorded, and then by stubs
        for make in ARRAYS.values():
            value, slope = compiled(make())
            np.testing.assert_allclose(value, f(make()), rtol=1e-12)
            fresh = tapec.grad(f)(make())
            np.testing.assert_allclose(slope, fresh, rtol=1e-12)


def test_order_of_captured_arrays_is_a_fact():
    held = {"w": None}

    def f(s):
        y = held["w"] * s
        z = y.reshape(-1)
        y[::2] *= 0.3
        return np.sum(np.sin(z))

    compiled = tapec.value_and_grad(f)
    for _ in range(3):
        for make in ARRAYS.values():
            held["w"] = make()
            np.testing.assert_allclose(compiled(1.5)[0], f(1.5), rtol=1e-12)


def test_order_of_c_has_one_signature():
    compiled = tapec.compile(lambda x: x * 2.0)
    for _ in range(4):
        compiled(np.ones((3, 3)))
        compiled(np.ones((4, 3))[1:])
    assert compiled.cache_info().compilations == 1


def by_zeros(x):
    y = np.zeros_like(x)
    y.reshape(-1)[:4] = 7.0
    return np.sum(y * x)


def by_full(x):
    y = np.full_like(x, 2.0)
    y.ravel()[:4] += 1.0
    return np.sum(y * x)


@pytest.mark.parametrize("f", [by_zeros, by_full])
def test_arrays_made_alike_lie_alike(f):
    compiled = tapec.compile(f)
    for _ in range(3):
        for make in ARRAYS.values():
            np.testing.assert_allclose(compiled(make()), f(make()), rtol=1e-12)


def by_ascontiguousarray(x):
    y = x * 2.0
    z = np.ascontiguousarray(y)
    z[0, 1] = 9.0
    return np.sum(y * y)


def by_nothing(x):
    y = np.tanh(x).reshape(-1) * x[0, 1]
    total = np.zeros(3)
    total[1] = np.sum(y)
    total[:2] += np.ravel(x)[3]
    return np.sum(total * x.reshape(9)[:3])


@pytest.mark.parametrize("f", [by_reshape, by_ravel, by_transpose, by_zeros, by_ascontiguousarray, by_nothing])
@pytest.mark.parametrize("first", ["C", "Fortran", "columns"])
def test_exported_code_checks_the_order_where_it_depends_on_it(f, first, tmp_path):
    tapec.compile(f).export(tmp_path / "module.py", ARRAYS[first]())
    space = {"__name__": "module"}
    exec((tmp_path / "module.py").read_text(), space)
    served = 0
    for make in ARRAYS.values():
        try:
            found = space[f.__name__](make())
        except space["Mismatch"] as error:
            assert "must lie in memory in the order" in str(error)
            continue
        served += 1
        np.testing.assert_allclose(found, f(make()), rtol=1e-12)
    assert served == len(ARRAYS) if f is by_nothing else 0 < served < len(ARRAYS)


def outer(x):
    return by_called(x) * 2.0


by_called = tapec.compile(by_reshape)


def test_a_function_that_calls_such_a_function_depends_on_it_too(tmp_path):
    tapec.compile(outer).export(tmp_path / "module.py", ARRAYS["C"]())
    space = {"__name__": "module"}
    exec((tmp_path / "module.py").read_text(), space)
    assert space["outer"](ARRAYS["C"]()) == outer(ARRAYS["C"]())
    with pytest.raises(space["Mismatch"], match="x must lie in memory in the order of C"):
        space["outer"](ARRAYS["Fortran"]())
