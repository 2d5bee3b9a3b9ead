"""Parts of a function, and the comments that stand beside its lines."""

from itertools import pairwise

import numpy as np
import pytest

import tapec
from tapec.codegen.common.block_lowering import parting
from tests.properties import below_head, text


def rows(f, *args, lines=False):
    """The lines of the gradient of a function and of its value, without the head."""
    return below_head(tapec.value_and_grad(f).source(*args, lines=lines))


def comments(f, *args, lines=False):
    return [row.partition("  # ")[2] for row in rows(f, *args, lines=lines) if "  # " in row]


def loss(w, x, y):
    h = np.tanh(x @ w)
    r = h - y
    return np.mean(r * r)


DATA = np.ones((3, 40)), np.ones((500, 3)), np.ones((500, 40))


def test_an_empty_line_stands_between_value_and_derivatives():
    found = rows(loss, *DATA)
    at = found.index("")
    assert found.count("") == 1 and any("tanh(" in row for row in found[:at])
    assert any("d_w" in row for row in found[at:]) and not any("d_w" in row for row in found[:at])


@pytest.mark.parametrize(
    ("parts", "at"),
    [
        ([1, 1, -1, -1], 2),
        ([1, 1, -1, 1, -1, -1, 0], 4),
        ([1, -1, -1, -1], 0),
        ([1, 1, 1, -1], 0),
        ([0, 0], 0),
        ([], 0),
        ([-1, -1, -1], 0),
    ],
)
def test_where_derivatives_begin(parts, at):
    assert parting(parts) == at


def test_empty_lines_stand_around_a_loop_and_what_it_begins_with():
    def f(a, x):
        b = a * 0.5
        for _ in range(40):
            x = np.tanh(b @ x)
        return np.sum(x * x)

    found = rows(f, np.eye(8), np.ones(8))
    loops = [k for k, row in enumerate(found) if row.startswith("    for ")]
    assert len(loops) == 2
    for k in loops:
        above = k - found[:k][::-1].index("") - 1
        assert all(" = " in row for row in found[above + 1 : k])
        below = next(j for j in range(k + 1, len(found)) if not found[j].startswith("        "))
        assert found[below] == ""
    assert not any(a == b == "" for a, b in pairwise(found)) and found[-1].startswith("    return")


def test_a_line_of_the_user_is_named_once_in_each_part():
    found = comments(loss, *DATA)
    first = loss.__code__.co_firstlineno
    places = [c.rpartition("test_source_text.py:")[2] for c in found if "test_source_text.py" in c]
    assert places == [str(first + k) for k in (1, 2, 3, 1)]


def test_all_lines_are_quoted_on_demand():
    found = comments(loss, *DATA, lines=True)
    assert any("np.tanh(x @ w)" in c for c in found) and any("np.mean(r * r)" in c for c in found)
    f = tapec.value_and_grad(loss)
    assert text(f.source(*DATA, lines=True)) == text(f.source(*DATA))


def test_a_parameter_called_lines_gets_it():
    f = tapec.grad(lambda x, lines: np.sum(np.sin(x)) * lines)
    assert text(f.source(np.ones(3), lines=2.0)) == text(f.source(np.ones(3), 2.0))


def likelihood(k, y):
    factor = np.linalg.cholesky(k)
    return y @ np.linalg.solve(k, y) + np.sum(np.log(np.diag(factor)))


@pytest.mark.parametrize(
    ("f", "args", "note"),
    [
        (loss, DATA, "tanh' = 1 - tanh^2"),
        (lambda x: np.tanh(x) * x, (0.5,), "tanh' = 1 - tanh^2"),
        (lambda x: np.sum(np.logaddexp(0.0, x)), (np.ones(9),), "d log(1 + exp(z)) = sigmoid(z)"),
        (lambda x: np.sum(np.log(np.sum(np.exp(x), axis=1))), (np.ones((9, 3)),), "softmax"),
        (likelihood, (np.eye(60) + 1.0, np.ones(60)), "the inverse, from the Cholesky factor"),
    ],
)
def test_the_mathematics_of_a_derivative_is_said(f, args, note):
    assert any(note in c for c in comments(f, *args))


def test_what_the_user_computes_needs_no_mathematics():
    rows = below_head(tapec.compile(lambda x: 1.0 - np.tanh(x) * np.tanh(x)).source(np.ones(3)))
    assert not any("tanh'" in row for row in rows)
