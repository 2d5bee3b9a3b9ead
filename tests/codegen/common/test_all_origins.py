"""A generated line tells the origins of all that it computes, also of what is written inside its expressions."""

import numpy as np

import tapec
from tapec.ir.source_location import line_of


def lines_of(function, *args) -> dict[str, set[int]]:
    """The generated lines, each with the lines of the function that it comes from, counted from its `def`."""
    code, _ = tapec.compile(function).generated(*args)
    first = function.__code__.co_firstlineno
    found = dict(code.all_origins())
    lines = code.source.splitlines()
    return {
        text.partition("  #")[0].strip(): {line_of(o) - first for o in found.get(k, ())}
        for k, text in enumerate(lines, start=1)
    }


def waves(x, y):
    return rise(x) * fall(y)


def rise(x):
    return np.sin(x)


def fall(y):
    return np.cos(y)


def test_a_line_has_the_origins_of_what_is_written_inside_it():
    found = lines_of(waves, np.ones(9), np.ones(9))
    assert found["return np.sin(x) * np.cos(y),"] == {1, 5, 9}


def test_a_line_on_floats_has_them_too():
    found = lines_of(waves, 0.5, 0.5)
    [line] = [line for line in found if "math.sin" in line]
    assert found[line] == {1, 5, 9}


def test_the_header_of_a_branch_has_those_of_its_test_alone():
    def f(x):
        if np.sum(x) > 0:
            return x * 2.0
        return x

    found = lines_of(f, np.ones(3))
    [test] = [line for line in found if line.startswith("if ")]
    assert found[test] == {1}


def test_source_tells_the_same_again():
    code, _ = tapec.compile(lambda x: np.sin(x) + 1.0).generated(np.ones(9))
    before = code.all_origins()
    assert code.source and code.all_origins() == before and any(origins for _, origins in before)
