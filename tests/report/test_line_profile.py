"""Time per line: every line that ran, nothing else, and the same result. The clock is one that only `work` moves."""

from types import SimpleNamespace

import numpy as np
import pytest

import tapec
from tapec.report import line_profile
from tapec.report.line_profile import line_times

SOURCE = '''
def inner(x):
    """Text is no statement that takes time."""
    work(3000)
    return x + 1

def outer(x):
    total = 0
    for k in range(3):
        if k == 1:
            continue
        total += k; total += x
    if x > 100:
        return -1
    elif x == 7:
        total = inner(total)
    while total > 1000:
        total -= 1
    try:
        total += 0
    finally:
        x = 0
    with nothing():
        work(500)
    return total
'''
LINES = SOURCE.split("\n")


def line(text: str) -> int:
    return 1 + next(k for k, known in enumerate(LINES) if text in known)


class Clock:
    """Nanoseconds that pass when somebody works."""

    now = 0

    def work(self, nanoseconds: int) -> None:
        self.now += nanoseconds


@pytest.fixture
def outer(monkeypatch):
    clock = Clock()
    stub = SimpleNamespace(perf_counter_ns=lambda: clock.now, perf_counter=lambda: clock.now * 1e-9)
    monkeypatch.setattr(line_profile, "time", stub)
    space: dict = {"work": clock.work, "nothing": lambda: pytest.MonkeyPatch.context()}
    exec(SOURCE, space)
    return space["outer"]


def test_lines_that_ran_and_how_often(outer):
    found = line_times(outer, SOURCE, (7,), budget=0.0)
    assert found.calls == 1
    assert found.counts[line("total = 0")] == 1
    assert found.counts[line("total += k; total += x")] == 4  # two statements, two rounds
    assert found.counts[line("return x + 1")] == 1
    assert line("return -1") not in found.counts
    assert line("total -= 1") not in found.counts
    assert line("Text is") not in found.counts
    assert set(found.seconds) == set(found.counts)


def test_time_goes_to_the_line_that_takes_it(outer):
    found = line_times(outer, SOURCE, (7,), budget=0.0)
    busy = {k: round(t * 1e9) for k, t in found.seconds.items() if t}
    assert busy == {line("work(3000)"): 3000, line("work(500)"): 500}
    assert found.total == pytest.approx(3.5e-6)
    assert found.share(line("work(500)")) == pytest.approx(1 / 7)
    assert found.share(line("total = inner(total)")) == 0.0  # what it calls has its own lines


def test_budget_gives_more_calls(outer):
    found = line_times(outer, SOURCE, (7,), budget=10e-6)
    assert found.calls == 3
    assert found.seconds[line("work(3000)")] == pytest.approx(3e-6)
    assert found.counts[line("work(3000)")] == 1


def test_errors_pass_through(outer):
    with pytest.raises(TypeError):
        line_times(outer, SOURCE, (None,), budget=0.0)


def test_a_program_on_floats_that_may_raise_is_measured_as_its_source_has_it():
    code, values = tapec.grad(lambda x: np.sin(x) / x).generated(1.0)
    assert code.function is not code.generated
    found = line_times(code.function, code.source, values, budget=0.0)
    assert found.calls == 1 and {code.source.split("\n")[k - 1].split()[0] for k in found.counts} >= {"return"}
