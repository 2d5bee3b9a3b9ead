"""Locks are listed in one place, and a child of a fork finds them free."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tapec
from tapec.locks import MODULE_LOCKS

PACKAGE = Path(tapec.__file__).parent


def test_every_lock_is_renewed():
    """Locks of modules are listed, those of objects are told, and there are no other kinds of locks."""
    of_modules, told = {}, []
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        if path.stem in ("locks", "gc_pause"):  # which renews its locks itself
            continue
        module = ".".join(("tapec", *path.relative_to(PACKAGE).with_suffix("").parts))
        own = re.findall(r"^(\w+) = RLock\(\)", text, re.MULTILINE)
        if own:
            (of_modules[module],) = own
        told += re.findall(r"self\.(\w+) = RLock\(\)\n +renew_lock_of\(self, \"\1\"\)", text)
        assert len(re.findall(r"RLock\(\)", text)) == len(re.findall(r"^(?:\w+|\s+self\.\w+) = RLock\(\)", text, re.M))
        assert not re.search(r"\b(Lock|Condition|Semaphore|Event)\(\)", text) or path.name in (
            "terminal.py",
            "live_page.py",
        ), path
        assert "@cached_property" not in text, f"{path}: computed_once has no lock"
    assert of_modules == MODULE_LOCKS
    assert len(told) == len(re.findall(r"renew_lock_of\(self", "".join(p.read_text() for p in PACKAGE.rglob("*.py"))))


HEAD = """
import faulthandler, gc, os, sys, threading, time
import numpy as np, tapec

def child(work):
    "The exit status of a fork that does this work; it may take ten seconds."
    pid = os.fork()
    if pid == 0:
        faulthandler.dump_traceback_later(10, exit=True)
        try:
            work()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(3)
        os._exit(0)
    return os.waitpid(pid, 0)[1]

def everything():
    assert gc.isenabled()
    np.testing.assert_array_equal(tapec.grad(lambda x: np.sum(x ** 3))(np.ones(3)), 3 * np.ones(3))
    np.testing.assert_array_equal(known(np.ones(5)), 2 * np.ones(5))
    v = tapec.Variable(np.ones(3))
    for _ in range(3):
        with tapec.GradientTape() as tape:
            loss = np.sum(v * v)
        np.testing.assert_array_equal(tape.gradient(loss, v), 2 * np.ones(3))
    with tapec.settings(fast_math=True):
        tapec.compile(lambda x: x * 2)(1.0)
    known.cache_clear()
    tapec.cache_clear()

known = tapec.grad(lambda x: np.sum(x * x))
known(np.ones(3))
tapec.GradientTape().watch(tapec.constant(1.0))
"""
HELD = """
from tapec import locks
from tapec.runtime.gc_pause import resting_collector
owned = [getattr(o, name) for o, name in locks._OWNERS.items()]
owned += [getattr(sys.modules[m], name) for m, name in locks.MODULE_LOCKS.items() if m in sys.modules]
assert len(owned) > 4, owned
held, done = threading.Event(), threading.Event()

def hold():
    with resting_collector():
        for lock in owned:
            lock.acquire()
        held.set()
        done.wait()
        for lock in owned:
            lock.release()

thread = threading.Thread(target=hold)
thread.start()
held.wait()
assert child(everything) == 0
done.set()
thread.join()
assert gc.isenabled() and child(everything) == 0
everything()
"""
INSIDE = """
def forks(x):
    global status
    status = child(everything) if status is None else status
    return np.sum(x * x)

status = None
np.testing.assert_array_equal(tapec.grad(forks)(np.ones(3)), 2 * np.ones(3))
assert status == 0
everything()
"""
COMPILING = """
stop = []

def churn():
    k = 0
    while not stop:
        k += 1
        tapec.grad(lambda x, c=float(k): np.sum(np.sin(x * c) * x ** (k % 5)))(np.ones(k % 7 + 1))

threads = [threading.Thread(target=churn) for _ in range(2)]
[t.start() for t in threads]
found = []
for _ in range(8):
    time.sleep(0.05)
    found.append(child(everything))
stop.append(1)
[t.join() for t in threads]
assert not any(found), found
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system has no fork")
@pytest.mark.parametrize("what", [HELD, INSIDE, COMPILING], ids=["all held", "while tracing", "while compiling"])
def test_children_of_forks_compile(what):
    script = textwrap.dedent(HEAD + what)
    run = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script], capture_output=True, text=True, timeout=200
    )
    assert run.returncode == 0, run.stderr[-4000:]
