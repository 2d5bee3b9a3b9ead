"""The command line as a user has it: words in, text and an exit code out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tapec.cli import main

MODEL = '''\
import numpy as np


def loss(w, b, x, y):
    """Mean square of the error of one layer."""
    h = np.tanh(x @ w + b)
    r = h - y
    return np.mean(r * r)


loss.example_args = (np.full((4, 2), 0.3), np.zeros(2), np.linspace(0, 1, 20).reshape(5, 4), np.ones((5, 2)))


def total(x):
    return np.sum(x * x)


def kinked(x):
    return np.sum(np.abs(x))


def vector(x):
    return np.sin(x)


def picky(x):
    if x.ndim != 2:
        raise ValueError(f"x must be a matrix, not {x.ndim}-d")
    return np.sum(x)


def nothing():
    return 1.0


number = 3
'''


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def model(tmp_path, monkeypatch) -> Iterator[Path]:
    """A folder with model.py in it, and the tests in that folder; each test has a model of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    (tmp_path / "model.py").write_text(MODEL)
    yield tmp_path / "model.py"
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def tapec(capsys, monkeypatch):
    """Call the command line in this process."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TAPEC_DEBUG"):
        monkeypatch.delenv(name, raising=False)

    def call(*words: str) -> Result:
        capsys.readouterr()
        code = main(list(words))
        text = capsys.readouterr()
        assert "Traceback" not in text.err or "model" in text.err or "script" in text.err
        return Result(code, text.out, text.err)

    return call


@pytest.fixture
def tapec_process():
    """Call `python -m tapec` in a process of its own."""

    def call(*words: str, stdin: str | None = None, env: dict[str, str] | None = None, **more) -> Result:
        command: Sequence[str] = [sys.executable, "-m", "tapec", *words]
        run = subprocess.run(
            command, input=stdin, capture_output=True, text=True, env={**os.environ, **(env or {})}, check=False, **more
        )
        return Result(run.returncode, run.stdout, run.stderr)

    return call
