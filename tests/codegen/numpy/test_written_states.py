"""Arrays that a loop carries are written in place where nothing is lost by it, and every value stays NumPy's."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapec
from tapec.config import settings
from tests.properties import copies, count_of, has, has_loop, names, updates

N = 40  # arrays of fewer elements run on floats
U, V = np.random.default_rng(0).uniform(-1.0, 1.0, (2, N))


# -- programs of known form --------------------------------------------------------------------------------------------
def heat(u0: Any, k: Any) -> Any:
    u = u0.copy()
    for _ in range(20):
        laplacian = u[2:] - 2.0 * u[1:-1] + u[:-2]
        u[1:-1] = u[1:-1] + k * laplacian
    return np.sum(u**2)


def walls(u0: Any, k: Any) -> Any:
    u = u0.copy()
    for _ in range(20):
        u[1:-1] += k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u[0] = 0.5
        u[-1] = u[-2]
    return np.sum(u**2)


def fields(u0: Any, k: Any) -> Any:
    e, h = u0.copy(), np.zeros(len(u0) - 1)
    for _ in range(20):
        h[1:] += k * (e[2:] - e[1:-1])
        e[1:-1] += k * (h[1:] - h[:-1])
    return np.sum(e**2)


def plates(u0: Any, k: Any) -> Any:
    u = np.outer(u0, u0)
    for _ in range(12):
        u[1:-1, 1:-1] += k * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
    return np.sum(u**2)


def sweeps(u0: Any, k: Any) -> Any:
    u = u0.copy()
    for _ in range(8):
        for _ in range(8):
            u[1:-1] += k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u[0] = np.sum(u[1:]) * 0.1
    return np.sum(u**2)


def gaps(u0: Any, k: Any) -> Any:
    """What a round began with is read after the round has written."""
    u, total = u0.copy(), 0.0
    for _ in range(20):
        old = u.copy()
        u[1:-1] += k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        total = total + np.sum(np.abs(u - old) ** 3)
    return total + np.sum(u**2)


def memories(u0: Any, k: Any) -> Any:
    """What a round began with is carried on beside what it has become."""
    u, before = u0.copy(), u0 * 0.5
    for _ in range(20):
        old = u.copy()
        u[1:-1] += k * (before[2:] - u[:-2])
        before = old
    return np.sum(u * before)


def from_begin_to_end(u0: Any, k: Any) -> Any:
    """The rounds read what the array was before the loop."""
    u = np.sin(u0)
    first = u.copy()
    for i in range(7):
        u[1:-1] += k * first[i] * (u[2:] - np.cos(u[1:-1]) + u[:-2])
    return np.sum(u**2) + np.sum(first)


PROGRAMS = [heat, walls, fields, plates, sweeps, gaps, memories, from_begin_to_end]


def differences(f: Callable[..., Any], u: Any, k: float) -> Any:
    h = 1e-6
    return np.array([(f(u + h * e, k) - f(u - h * e, k)) / (2 * h) for e in np.eye(len(u))])


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_are_numpys_and_derivatives_are_those_of_differences(program: Any) -> None:
    u, k = U.copy(), 0.1
    compiled = tapec.value_and_grad(program, argnums=(0, 1))
    value, (d_u, d_k) = compiled(u, k)
    assert has_loop(compiled.source())
    np.testing.assert_allclose(value, program(U, k), rtol=1e-13)
    np.testing.assert_allclose(d_u, differences(program, U, k), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(d_k, (program(U, k + 1e-6) - program(U, k - 1e-6)) / 2e-6, rtol=1e-6)
    np.testing.assert_array_equal(u, U)
    again = compiled(u, k)
    assert again[0] == value and not np.shares_memory(again[1][0], d_u) and not np.shares_memory(d_u, u)
    np.testing.assert_array_equal(again[1][0], d_u)

    direction = np.cos(np.arange(N))
    _, tangent = tapec.jvp(program, (U, k), (direction, 0.5))
    np.testing.assert_allclose(tangent, d_u @ direction + 0.5 * d_k, rtol=1e-11)
    h, gradient = 1e-5, tapec.grad(program)
    curved = (gradient(U + h * direction, k) - gradient(U - h * direction, k)) / (2 * h)
    np.testing.assert_allclose(tapec.hvp(program)(U, k, direction), curved, rtol=1e-5, atol=1e-5)
    batch = np.stack([U, V, U + V])
    found = tapec.vmap(gradient, in_axes=(0, None))(batch, k)
    np.testing.assert_allclose(found, [gradient(row, k) for row in batch], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("program", [heat, walls, fields, plates, sweeps])
def test_forwards_nothing_is_copied_in_a_round(program: Any) -> None:
    source = tapec.compile(program).source(U, 0.1)
    assert copies(source) <= 1 and updates(source) + count_of(source, "_[_] = _") > 0, source


@pytest.mark.parametrize("program", [heat, fields, plates])
def test_nor_backwards(program: Any) -> None:
    source = tapec.grad(program).source(U, 0.1)
    assert copies(source) <= 1, source


def test_what_is_read_after_the_write_is_copied_before() -> None:
    for program in (gaps, memories):
        assert copies(tapec.compile(program).source(U, 0.1)) >= 1


def test_an_array_is_called_as_the_user_calls_it() -> None:
    source = tapec.grad(heat).source(U, 0.1)
    assert {"u", "d_u"} <= names(source) and not has(source, "state") and not has(source, "diff")


# -- programs drawn at random ------------------------------------------------------------------------------------------
PLACES = [
    ("1:-1", "2:"),
    ("1:-1", ":-2"),
    ("1:", ":-1"),
    (":-1", "1:"),
    ("::2", "::2"),
    ("2:7", "4:9"),
    ("1:-1", "1:-1"),
    ("::-1", ":"),
    ("::2", "5:25"),
    ("6:2:-1", ":4"),
    ("[3, 0, 5]", "[1, 2, 8]"),
    ("places", "2:5"),
]


def drawn_lines(rng: Any, arrays: list[str], indent: str, is_inner: bool) -> list[str]:
    lines: list[str] = []
    for _ in range(rng.integers(1, 5)):
        a, b = rng.choice(arrays, 2)
        to, at = PLACES[rng.integers(len(PLACES))]
        c, f = f"{rng.uniform(0.1, 0.9):.2f}", rng.choice(["np.sin", "np.tanh", ""])
        i, j = rng.integers(0, N, 2)
        kinds = [
            [f"{a}[{to}] += {c} * k * {f}({b}[{at}])"],
            [f"{a}[{to}] = {c} * {a}[{to}] + 0.1 * {f}({b}[{at}])"],
            [f"{a}[{to}] = {a}[{to}] - {c} * {f}({b}[{at}])"],
            [f"{a}[{i}] = {c} * {b}[{j}] + 0.1"],
            [f"{a}[{to}] *= {c}"],
            [f"{a}[{a} > 0.5] = {c}"],
            [f"old = {a}.copy()", f"{a}[{to}] -= {c} * {b}[{at}]", f"total = total + np.sum(old * {a})"],
            [f"part = {a}[{at}]", f"{a}[{to}] = {c} * {b}[{at}]", "total = total + np.sum(part * part)"],
            [f"{a} = {c} * {b} + 0.3 * {f}({a})"],
            [f"{a}, {b} = {b}, {a}"],
            [f"total = total + np.sum({a} * {b}) * 0.1"],
            [f"np.add.at({a}, np.array([1, 4, 1]), {c} * {b}[2:5])"],
            [f"{a}[{to}] = {b}[{at}]"],
            [f"{a} = {b}.copy()"],
        ]
        k = rng.integers(len(kinds) + (not is_inner))
        if k < len(kinds):
            lines += kinds[k]
        else:
            lines += [f"for _ in range({rng.integers(4, 7)}):", *drawn_lines(rng, arrays, "    ", True)]
    return [indent + line for line in lines]


def drawn_program(seed: int) -> tuple[Any, str]:
    rng = np.random.default_rng(seed)
    arrays = ["u", "v", "w"][: rng.integers(1, 4)]
    starts = [
        "u0.copy()",
        "np.zeros(40)",
        "u0 * 2.0",
        "v0.copy()",
        "np.array(u0)",
        "np.sin(v0)",
        "np.linspace(0.0, k, 40)",
    ]
    lines = ["def f(u0, v0, k):", "    total, places = 0.0, np.array([7, 2, 4])"]
    lines += [f"    {a} = {rng.choice(starts)}" for a in arrays]
    for _ in range(rng.integers(1, 3)):
        lines += drawn_lines(rng, arrays, "    ", True) if rng.integers(3) == 0 else []
        lines += [f"    for _ in range({rng.integers(6, 12)}):", *drawn_lines(rng, arrays, "        ", False)]
    ends = [f"np.sum({a} * np.cos({a}) * np.linspace(1.0, 2.0, 40))" for a in arrays]
    text = "\n".join([*lines, f"    return total + {' + '.join(ends)}", ""])
    file = f"drawn_{seed}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space: dict[str, Any] = {"np": np}
    exec(compile(text, file, "exec"), space)
    return space["f"], text


def check_drawn(seed: int) -> None:
    f, text = drawn_program(seed)
    args = U.copy(), V.copy(), 0.3
    value = f(*args)
    compiled = tapec.value_and_grad(f, argnums=(0, 1, 2))
    found, gradients = compiled(*args)
    with settings(optimize=False):
        plain, wanted = tapec.value_and_grad(drawn_program(seed)[0], argnums=(0, 1, 2))(*args)
    about = f"{text}\n{compiled.source()}"
    np.testing.assert_allclose([found, plain], value, rtol=1e-10, atol=1e-10, err_msg=about)
    scale = max([float(np.max(np.abs(x))) for x in wanted])
    for x, y in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-10 * scale, err_msg=about)
    again, others = compiled(*args)
    assert again == found, about
    arrays = [x for x in (*gradients, *others, *args) if isinstance(x, np.ndarray)]
    assert not any(np.shares_memory(x, y) for k, x in enumerate(arrays) for y in arrays[:k]), about
    np.testing.assert_array_equal(args[:2], (U, V), err_msg=about)


@pytest.mark.parametrize("seed", range(24))
def test_drawn_programs(seed: int) -> None:
    check_drawn(seed)


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(100, 500, 50))
def test_many_drawn_programs(first: int) -> None:
    for seed in range(first, first + 50):
        check_drawn(seed)
