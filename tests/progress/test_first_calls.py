"""A first call that takes long says on a terminal what it does, leaves nothing there, and says nothing elsewhere."""

import io
import sys
import threading
import types

import numpy as np
import pytest

import tapec
from tapec.passes.pipeline import PIPELINE
from tapec.progress import at, counting, displays, first_calls, job, tuning


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watched(monkeypatch, stream):
    """Let a stream be the standard error; pytest puts its own into `sys` before each phase of a test."""
    for module in (first_calls, displays):
        monkeypatch.setattr(module, "sys", types.SimpleNamespace(stderr=stream, modules=sys.modules))


@pytest.fixture
def screen(monkeypatch):
    """A terminal without tqdm, on which each step is shown at once."""
    found = Terminal()
    watched(monkeypatch, found)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(tuning, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(tuning, "SHOWN_SECONDS", 0.0)
    return found


def steps(text: str) -> list[str]:
    return [line.removesuffix("\x1b[K").partition(" … ")[0] for line in text.split("\r")[1:]]


def test_a_first_call_says_what_it_does(screen, monkeypatch):
    monkeypatch.setattr(tuning, "COUNTED_RECORDS", 4)

    @tapec.grad
    def loss(x):
        for _ in range(10):
            x = np.sin(x) * 2.0
        return np.sum(x)

    loss(np.ones(3000))
    told = steps(screen.getvalue())
    assert told[0] == "tapec: loss_grad: tracing, 4 operations"
    assert "tapec: loss_grad: comparing with plain NumPy" in told
    assert any(line.startswith("tapec: loss_grad: transforming (grad), ") for line in told)
    done = [p.name for p in PIPELINE].index("cse")  # the last pass, which writes numbers, is counted apart
    assert any(
        line.startswith("tapec: loss_grad: pass cse, ") and line.endswith(f", {done} of {len(PIPELINE) - 1}")
        for line in told
    )
    assert told[-2].startswith("tapec: loss_grad: writing code, ")
    assert screen.getvalue().endswith("\r\x1b[K")  # it goes away
    screen.truncate(0)
    loss(np.ones(3000))
    assert screen.getvalue() == ""


def test_a_tape_does_as_well(screen):
    v = tapec.Variable(np.ones(3))
    with tapec.GradientTape() as tape:
        y = np.sum(np.arctan2(v, 2.0) * 1.25)
    tape.gradient(y, v)
    assert "tapec: gradient of a tape: pass dce" in screen.getvalue()


def test_calls_inside_are_part_of_it(screen):
    inner = tapec.grad(lambda x: np.sum(x**3))
    tapec.compile(lambda x: np.sum(inner(x)))(np.ones(3))
    assert {line.split(":")[1] for line in steps(screen.getvalue()) if line} == {" function"}


@pytest.mark.parametrize("off", ["setting", "file", "dumb", "closed"])
def test_nothing_is_said_where_nobody_looks(screen, monkeypatch, off):
    if off == "file":
        watched(monkeypatch, screen := io.StringIO())
    elif off == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    elif off == "closed":
        watched(monkeypatch, None)
    with tapec.settings(progress=off != "setting"):
        tapec.grad(lambda x: np.sum(np.tanh(x) / 7.0))(np.ones(3))
    assert screen.getvalue() == ""


def test_what_is_quick_is_not_shown(screen, monkeypatch):
    monkeypatch.setattr(tuning, "FIRST_SECONDS", 60.0)
    tapec.grad(lambda x: np.sum(np.tanh(x) / 9.0))(np.ones(3))
    assert screen.getvalue() == ""


def test_an_error_takes_it_away(screen):
    with pytest.raises(ValueError, match="mine"), job("f"):
        at("tracing", 1234567)
        raise ValueError("mine")
    assert screen.getvalue() == "\rtapec: f: tracing, 1 234 567 operations … 0 s\x1b[K\r\x1b[K"
    assert first_calls._now is None


def test_another_thread_says_nothing(screen):
    def other():
        with job("other"):
            at("pass", 1)

    with job("mine"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert screen.getvalue() == ""


def test_a_stream_that_fails_costs_the_line_alone(screen, monkeypatch):
    monkeypatch.setattr(screen, "write", lambda text: 1 / 0)
    assert tapec.grad(lambda x: x * x * 1.5)(2.0) == 6.0


def test_counting_is_free_where_nobody_looks():
    records = []
    assert counting(records.append, records) is not None and first_calls._now is None
    take = records.append
    assert counting(take, records) is take


# -- what shows it ---------------------------------------------------------------------------------------------------
class FakeTqdm:
    """Knows of tqdm what a bar asks of it."""

    made: list = []
    monitor_interval = 10

    def __init__(self, **options):
        self.options, self.told, self.start_t = options, [], 0.0
        self.made.append(self)

    def _time(self):
        return 100.0

    def set_description_str(self, text, refresh=True):
        self.text = text

    def refresh(self):
        self.told.append((self.text, self.n, self.total, self._time() - self.start_t))

    def close(self):
        self.told.append("closed")


def test_tqdm_shows_it_where_that_is_installed(screen, monkeypatch):
    monkeypatch.setattr(FakeTqdm, "made", [])
    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=FakeTqdm))
    with job("f"):
        at("tracing", 500)
        at("pass", 500, "cse", 2, 20)
    [bar] = FakeTqdm.made
    assert [line[:3] for line in bar.told[:-1]] == [
        ("tapec: f: tracing, 500 operations", 0, None),
        ("tapec: f: pass cse, 500 operations", 2, 20),
    ]
    assert bar.told[-1] == "closed" and bar.monitor_interval == 0 and not bar.options["leave"]
    assert screen.getvalue() == ""


class Display:
    """Stands for IPython.display."""

    def __init__(self):
        self.shown = []
        self.HTML = str

    def display(self, what, display_id):
        self.shown.append(what)
        return types.SimpleNamespace(update=self.shown.append)


def test_notebooks_have_a_display(screen, monkeypatch):
    tools = Display()
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", tools)
    with job("<f>"):
        at("tracing", 500)
        at("pass", 500, "cse", 2, 20)
    assert tools.shown == [
        "<small>tapec: &lt;f&gt;: tracing, 500 operations … 0 s</small>",
        '<progress value="2" max="20"></progress> <small>tapec: &lt;f&gt;: pass cse, 500 operations … 0 s</small>',
        "",
    ]


def test_ipython_in_a_terminal_is_no_notebook(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=object))
    assert not first_calls.is_notebook()
