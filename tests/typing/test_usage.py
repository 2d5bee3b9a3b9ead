"""What type checkers are told is what happens. That they see it so is for mypy to check: it reads `usage.py`."""

from __future__ import annotations

import re

import pytest

import tapec
from tests.typing import usage


def test_functions(tmp_path):
    usage.functions(tmp_path)
    assert (tmp_path / "loss.py").exists()


def test_tape():
    usage.tape()


def test_the_rest():
    usage.the_rest()


@pytest.mark.parametrize("call", usage.REFUSED)
def test_what_checkers_refuse_is_an_error(call):
    with pytest.raises((TypeError, ValueError)):
        call()


def test_checkers_see_every_public_name():
    with open(tapec.__file__) as file:
        told = set(re.findall(r"(\w+) as \1\b", file.read().split("if TYPE_CHECKING:")[1]))
    assert set(tapec.__all__) <= told
