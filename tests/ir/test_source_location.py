"""The variable that a value is stored to, from the user's bytecode alone."""

import sys
from typing import Any

import numpy as np

import tapec
from tapec.ir import ops
from tapec.ir.source_location import line_of, name_for, place_of, remembered, variable_of


def here(*values):
    """The origin of an operation in the calling frame."""
    frame = sys._getframe(1)
    return frame.f_code, frame.f_lasti


def test_plain_and_in_calls():
    x = here()
    assert variable_of(x) == "x"
    assert line_of(x) == here.__code__.co_firstlineno + 7
    assert place_of(x).text == "here()"


def test_several_at_once():
    a, b = here(), here(1)
    c, d, e = here(a), here(b, a), here(abs(3), b)
    p, q, r, s = here(), here(abs(-2)), here(max(1, 2)), here()
    assert [variable_of(o) for o in (a, b, c, d, e, p, q, r, s)] == list("abcdepqrs")


def test_what_is_taken_by_something_else_has_no_name():
    a, b, c, d = [here(), 1], here() and 2, (here(), 3), {here(): 4}
    assert [variable_of(o) for o in (a[0], c[0], *d)] == [None, None, None] and b == 2
    _one, *rest = here(), here(), here()
    assert "_one" not in [variable_of(o) for o in rest]


def test_names_attributes_and_chains():
    box = type("Box", (), {})()
    box.width = here()
    first = second = here()
    assert variable_of(box.width) == "width"
    assert variable_of(first) in ("first", "second") and second is first


class Pair:
    """What is unpacked notes where."""

    def __init__(self):
        self.origins = []

    def __getitem__(self, k):
        if k > 1:
            raise IndexError
        self.origins.append(here_of(sys._getframe(1)))
        return k


def here_of(frame):
    return frame.f_code, frame.f_lasti


def test_unpacking():
    pair = Pair()
    prey, hunters = pair
    assert (prey, hunters) == (0, 1)
    assert [variable_of(o) for o in pair.origins] == [None, None]
    assert [variable_of(o, k) for k, o in enumerate(pair.origins)] == ["prey", "hunters"]


def test_a_loop_that_takes_its_next_value_is_its_first_line():
    pair, seen = Pair(), 0
    for one in pair:  # a comment: no part of it
        seen += one
    assert seen == 1
    text = "for one in pair" if sys.version_info < (3, 12) else "pair"  # what Python says stands there
    assert [place_of(o).text for o in pair.origins] == [text] * 2
    assert [variable_of(o) for o in pair.origins] == ["one"] * 2


def test_answers_are_kept_by_which_code_object_it_is():
    """Its hash, since Python 3.12, takes in every instruction: a long function would be asked for as long for each."""
    asked = []

    @remembered
    def ask(origin, item=None):
        asked.append((origin[1], item))
        return origin[1]

    code, other = [], []  # these have no hash
    assert [ask((code, 2)), ask((code, 2)), ask((code, 2), 1), ask((other, 2)), ask((code, 4))] == [2, 2, 2, 2, 4]
    assert asked == [(2, None), (2, 1), (2, None), (4, None)]


def names_written(program: Any) -> list[str | None]:
    """The names of the arrays that a program writes parts of, in order."""
    graph = tapec.compile(program).ir(np.linspace(0.0, 1.0, 6), stage="forward")
    return [name_for(n) for n in graph.nodes if n.op is ops.setitem]


def test_an_array_that_is_written_in_part() -> None:
    def program(x: Any) -> Any:
        u, grid = x * 2.0, [x * 3.0]
        u[0] = 1.0
        u[1:-1] += x[2:]
        u[np.array([0, 2])[:1]] *= 2.0
        grid[0][1:] = 2.0
        return np.sum(u) + np.sum(grid[0])

    assert names_written(program) == ["u", "u", "u", None]


def test_an_array_that_is_written_through_a_view_has_no_name_of_the_views() -> None:
    def program(x: Any) -> Any:
        u = x * 2.0
        part = u[1:]
        part[2:4] = 1.0
        part += 2.0
        return np.sum(u)

    assert names_written(program) == ["part", None, None]
