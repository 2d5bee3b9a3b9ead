"""What every test shares: how Hypothesis draws, where programs find tapec, and a random generator that starts alike."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from tapec.ops.late import import_all

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))

import_all()  # tests of every op are made before any runs

ROOT = str(Path(__file__).resolve().parents[1])


@pytest.fixture(autouse=True, scope="session")
def processes_find_this_checkout():
    """Programs that tests start import the same tapec as the tests, installed or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", ROOT, prepend=os.pathsep)
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260)
