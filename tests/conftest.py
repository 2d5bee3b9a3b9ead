"""What every test shares: which tests run, how Hypothesis draws, where programs find tapec, a generator of numbers."""

import gc
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported: the processes of pytest-xdist share the cores
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import tapec
from tapec.api.compiled.fresh.families import forget_families
from tapec.ops.core.lazy import import_all
from tests import selection

import_all()  # tests of every op are made before any runs

ROOT = str(Path(__file__).resolve().parents[1])
IN_CI = bool(os.environ.get("CI"))
for profile, count in selection.EXAMPLES.items():
    same_each_time = IN_CI and profile != "nightly"  # which is given a seed
    settings.register_profile(profile, deadline=None, max_examples=count, derandomize=same_each_time, print_blob=IN_CI)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--draw", metavar="WORD", help="run a part of the tests that are selected, which WORD draws")
    parser.addoption("--one-in", metavar="N", type=int, default=10, help="how large a part --draw runs: one test in N")


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--hypothesis-profile"):
        settings.load_profile("default" if config.option.markexpr == selection.DEFAULT else "thorough")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """The collector rests while tests are collected, and later does not walk through what they are made of.

    Modules and tests are 600 000 objects that stay: each full collection took a second, of which a third of some runs
    consisted.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(1_000_000)  # objects that are new: while some are frozen, tapec does not count its own as old
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]):
    selection.mark_thorough(items, config.option.markexpr)
    result = yield  # pytest deselects by marks
    if word := config.getoption("--draw"):
        items[:], others = selection.drawn(items, word, config.getoption("--one-in"))
        config.hook.pytest_deselected(items=others)
    return result


@pytest.fixture(autouse=True, scope="session")
def processes_find_this_checkout():
    """Programs that tests start import the same tapec as the tests, installed or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", ROOT, prepend=os.pathsep)
        yield


@pytest.fixture(autouse=True, scope="module")
def each_file_begins_with_no_compiled_gradients():
    """Each test file starts with empty caches: the order of files does not matter, and memory is freed early."""
    tapec.cache_clear()


@pytest.fixture(autouse=True, scope="module")
def each_file_forgets_the_modules_that_it_has_written(tmp_path_factory):
    """No test file imports a module of another one: many write a `model.py` into a folder of their own."""
    path = sys.path[:]
    yield
    sys.path[:] = path
    folder = str(tmp_path_factory.getbasetemp())
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(folder):
            del sys.modules[name]


@pytest.fixture(autouse=True)
def each_test_compiles_its_functions():
    """Functions that several tests make of one code share nothing from one test to the next."""
    forget_families()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260)
