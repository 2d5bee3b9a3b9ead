"""The loggers `tapec.trace`, `tapec.compile` and `tapec.cache` say what was compiled, why, and how long it took."""

import logging
import re
import subprocess
import sys

import numpy as np

import tapec


def told(caplog) -> list[tuple[str, str]]:
    found = [(r.name, re.sub(r"[\d.]+ ms", "T ms", r.getMessage())) for r in caplog.records]
    caplog.clear()
    return found


def test_functions(caplog):
    caplog.set_level(logging.INFO, "tapec")
    f = tapec.grad(lambda x: np.sum(np.exp(x) * 3.0))
    f(np.ones(3))
    assert told(caplog) == [
        ("tapec.trace", "function_grad: 3 operations traced in T ms"),
        ("tapec.compile", "function_grad compiles: it was called for the first time"),
        ("tapec.compile", "function_grad: 4 -> 3 nodes, compiled in T ms"),
    ]
    f(np.ones(3))
    assert told(caplog) == []
    f(np.ones(4))
    assert told(caplog)[1] == ("tapec.compile", "function_grad compiles: x is f64[4], was f64[3]")


def test_the_cache_on_disk(caplog, tmp_path):
    caplog.set_level(logging.INFO, "tapec.cache")
    tmp_path.chmod(0o700)
    with tapec.settings(cache_dir=str(tmp_path)):
        f = tapec.grad(lambda x: np.sum(np.exp(x) * 5.0))
        for _ in range(2):
            f(np.ones(3))
            f.cache_clear()
    kept, loaded = told(caplog)
    assert re.fullmatch(r"function_grad is kept: entry [0-9a-f]{12}", kept[1])
    assert loaded == ("tapec.cache", kept[1].replace("kept", "loaded"))


def test_the_cache_in_memory(caplog):
    caplog.set_level(logging.INFO, "tapec.cache")
    with tapec.settings(cache_size=1):
        f = tapec.grad(lambda x: np.sum(x * 7.0))
        for n in range(1, 5):
            f(np.ones(n))
    assert ("tapec.cache", "the oldest of 2 entries is dropped: settings.cache_size") in told(caplog)


def test_nothing_is_said_without_a_listener():
    """And who has not imported `logging` does not get it."""
    code = """if True:
        import sys
        import numpy as np
        import tapec
        before = "logging" in sys.modules
        tapec.grad(lambda x: np.sum(x * x))(np.ones(3))
        assert ("logging" in sys.modules) == before
        import logging
        tapec.grad(lambda x: np.sum(x * x * x))(np.ones(3))
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
