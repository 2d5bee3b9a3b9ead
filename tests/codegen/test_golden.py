"""Ten generated gradients, byte for byte. After a wanted change: `python -m tests.regenerate`; read the diff."""

import os
import subprocess
import sys

import pytest

from tests.codegen.golden import path_of, source_of
from tests.codegen.golden_functions import CASES


@pytest.mark.parametrize("name", CASES)
def test_source(name):
    assert source_of(name) == path_of(name).read_text(encoding="utf-8")


def test_another_process_writes_the_same():
    code = "from tests.codegen.golden import source_of; print(source_of('layer'), source_of('newton'), end='')"
    env = {"PYTHONHASHSEED": "7", "PYTHONPATH": os.environ["PYTHONPATH"]}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert run.stdout == f"{source_of('layer')} {source_of('newton')}"
