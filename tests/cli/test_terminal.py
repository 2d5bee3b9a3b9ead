"""What a person sees: tables, and a sign of life for what takes long."""

import io
import time

from tapec.cli import terminal, tuning


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_table():
    text = terminal.table([["a", "1"], ["long", "23"]], ("name", "n"), " r")
    assert text == "name   n\na      1\nlong  23"
    assert terminal.table([]) == ""


def test_a_sign_of_life_after_a_second(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(tuning, "WORKING_SECONDS", 0.01)
    with terminal.working("counting"), terminal.working("inside"):
        deadline = time.monotonic() + 30
        while not screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    text = screen.getvalue()
    assert "\rcounting … 1 s" in text and "inside" not in text
    assert text.endswith("\r\x1b[K")  # and it leaves no trace


def test_nothing_is_said_of_what_is_quick_nor_where_nobody_looks(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with terminal.working("quick"):
        pass
    assert screen.getvalue() == ""
    plain = io.StringIO()
    monkeypatch.setattr("sys.stderr", plain)
    monkeypatch.setattr(tuning, "WORKING_SECONDS", 0.01)
    with terminal.working("slow"):
        time.sleep(0.05)
    assert plain.getvalue() == ""
