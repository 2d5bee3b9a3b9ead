"""What counts as beyond the fence, how it is shown, and how it is measured."""

import sys

import pytest

from tests.benchmarks.families import Task
from tests.fence.compare import ATTEMPTS, measured
from tests.fence.measure import ALL, Server, calls_of, chosen_calls, memory_of, of_calls
from tests.fence.table import CALLS, MEMORY, TIMES, Cell, beyond, decimal, markdown, number, size


@pytest.mark.parametrize(
    ("old", "new", "limit", "worse"),
    [
        (100, 105, CALLS, False),
        (100, 106, CALLS, True),
        (100, 50, CALLS, False),
        (3, 4, CALLS, True),
        (0, 1, CALLS, True),
        (1.0, 1.2, TIMES, False),
        (1.0, 1.21, TIMES, True),
        (1_000, 3_000, MEMORY, False),
        (1_000, 3_100, MEMORY, True),
        (1_000_000, 1_200_001, MEMORY, True),
        (None, 5, CALLS, False),
        (5, None, CALLS, True),
    ],
)
def test_what_is_beyond_the_limit(old, new, limit, worse):
    assert Cell(old, new, limit).beyond == worse


def test_rows_with_a_cell_beyond_are_named():
    good, bad = Cell(10, 10, CALLS), Cell(10, 20, CALLS)
    assert beyond({"a": [good, good], "b": [good, bad], "c": [bad]}) == ["b", "c"]


def test_table_shows_changes_and_failures():
    rows = {
        "same": [Cell(1000, 1000, MEMORY)],
        "within": [Cell(1_000_000, 1_100_000, MEMORY)],
        "worse": [Cell(1_000_000, 2_000_000, MEMORY)],
        "better": [Cell(2_000_000, 1_000_000, MEMORY)],
        "fails": [Cell(10, None, MEMORY)],
    }
    assert markdown("peak", {"call": size}, rows).splitlines()[2:] == [
        "| same | 1 kB |",
        "| within | 1 MB → 1.1 MB |",
        "| worse | **1 MB → 2 MB (+100%)** |",
        "| better | 2 MB → 1 MB (-50%) |",
        "| fails | **10 B → fails** |",
    ]


def test_numbers_are_shown_to_three_digits():
    assert [decimal(v) for v in (0.12345, 12.345, 1234.5)] == ["0.123", "12.3", "1234"]
    assert number(1427045.0) == "1427045"


# -- measuring -------------------------------------------------------------------------------------------------------
def test_medians_of_turns_are_compared_and_other_columns_are_apart():
    values = {0: iter([1.0, 9.0, 1.1]), 1: iter([1.0, 1.2, 0.9])}
    cells = measured(lambda turn, which: {"a": next(values[which]), "b": 5.0}, {"a": TIMES, "b": CALLS}, 3)
    assert cells == [Cell(1.1, 1.0, TIMES), Cell(5.0, 5.0, CALLS)]


def test_a_busy_moment_is_measured_again():
    turns = []

    def take(turn, which):
        turns.append((turn, which))
        return {"a": 3.0 if which and turn < 2 else 1.0}

    assert measured(take, {"a": TIMES}, 2) == [Cell(1.0, 1.0, TIMES)]
    assert [which for _, which in turns[:4]] == [1, 0, 0, 1]
    assert len(turns) == 2 * 2 * ATTEMPTS  # two of six samples are slow: after four, the medians differ


def test_what_is_slower_stays_slower():
    assert measured(lambda turn, which: {"a": 1.0 + which}, {"a": TIMES}, 2)[0].beyond


def test_what_fails_has_no_number():
    assert measured(lambda turn, which: {} if which else {"a": 1.0}, {"a": TIMES}, 2) == [Cell(1.0, None, TIMES)]


def test_calls_count_functions_and_not_imports():
    def outer():
        import tests.fence.table  # noqa: F401

        return [inner() for _ in range(3)]

    def inner():
        return len("abc")

    assert calls_of(outer) in (4, 5)  # Python 3.11 calls a comprehension
    assert sys.getprofile() is None


def test_memory_counts_what_is_freed_again():
    def work():
        big = bytearray(1_000_000)
        del big
        return bytearray(10)

    assert 1_000_000 <= memory_of(work) < 1_010_000


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("measure", [calls_of, memory_of])
def test_calls_of_a_workload_are_the_same_each_time(measure):
    w = ALL["square"]
    first = of_calls(w, measure)
    assert list(first) == list(chosen_calls(w))
    assert first["1st"] > 20 * first["3rd"] > 0


def test_a_server_measures_calls_steps_and_records():
    server = Server()
    for name in ("square", "square of a number"):
        server.load(name)
        assert {k: v > 0.0 for k, v in server.warm(0.0).items()} == {"ours": True, "hand": True}
        if ALL[name].task is not Task.STEP:
            assert server.first(1.25)["first"] > 0.0
    assert server.record("x * y")["record"] < 1e3
