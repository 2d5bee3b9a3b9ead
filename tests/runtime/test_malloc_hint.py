"""Memory that a function frees stays with the process until its next call."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from tapec.runtime.malloc_hint import keep_memory

FUNCTION = """
def f(x, y):
    return np.sum(np.tanh(x * y) + x * x)

x, y = np.ones((2, 1_000_000))
f = tapec.value_and_grad(f, argnums=(0, 1))
call = lambda: f(x, y)
"""

TAPE = """
x, w = np.ones((1024, 64)), tapec.Variable(np.ones((64, 128)) / 64)

def call():
    with tapec.GradientTape() as tape:
        loss = np.sum(np.tanh(x @ w + 1.0))
    tape.gradient(loss, w)
"""

FAULTS = """
import resource
import numpy as np
import tapec
{}
for _ in range(3):
    call()
start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    call()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - start)
"""


def faults(program: str = FUNCTION, **environment: str) -> int:
    """How many pages the system gave out in ten calls: the function's results have 4 000 pages each time."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))}
    found = subprocess.run(
        [sys.executable, "-c", FAULTS.format(program)],
        env={**inherited, "NUMPY_MADVISE_HUGEPAGE": "0", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(found.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have no such threshold")
def test_freed_memory_is_used_again():
    assert faults() < 4_000


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have no such threshold")
def test_a_tape_records_into_memory_that_the_last_one_has_freed():
    """A recording makes three arrays of 256 pages."""
    assert faults(TAPE) < 256


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have no such threshold")
def test_a_threshold_that_the_user_set_stays():
    assert faults(MALLOC_TRIM_THRESHOLD_="131072", MALLOC_MMAP_THRESHOLD_="131072") > 30_000


def test_nothing_is_taken_for_small_functions(monkeypatch):
    taken = []
    monkeypatch.setattr(np, "empty", lambda *args: taken.append(args))
    keep_memory(1000)
    assert not taken
    keep_memory(1 << 30)
    assert taken[0][0] < 1 << 25
