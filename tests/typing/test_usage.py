"""What type checkers are told is what happens. That they see it so is for mypy to check: it reads `usage.py`."""

from __future__ import annotations

import ast
import inspect
import re
import typing
from pathlib import Path
from types import SimpleNamespace

import pytest

import tapec
from tapec import config
from tapec.api.compiled import typed_protocols
from tests.typing import usage


def test_functions(tmp_path):
    usage.functions(tmp_path)
    assert (tmp_path / "loss.py").exists()


def test_results():
    usage.results()


def test_tape():
    usage.tape()


def test_the_rest():
    usage.the_rest()


@pytest.mark.parametrize("call", usage.REFUSED)
def test_what_checkers_refuse_is_an_error(call):
    with pytest.raises((TypeError, ValueError)):
        call()


def test_checkers_know_the_settings():
    """The names in the signature that they read are those there are."""
    tree = ast.parse(Path(config.__file__).read_text())
    told = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and f.name == "__call__" and f.args.kwonlyargs]
    assert [[a.arg for a in f.args.kwonlyargs] for f in told] == [list(config.Values._fields)]


@pytest.mark.parametrize(
    ("transform", "protocol"),
    [
        (tapec.grad, typed_protocols.GivesGradient),
        (tapec.value_and_grad, typed_protocols.GivesValueAndGradient),
        (tapec.jvp, typed_protocols.GivesTangent),
        (tapec.vjp, typed_protocols.GivesPullback),
        (tapec.linearize, typed_protocols.GivesTangentMap),
    ],
)
def test_checkers_know_the_parameters(transform, protocol):
    """Those that the protocols name are those that the transform takes, and no option is left out."""
    named = set()
    written = SimpleNamespace(__module__=protocol.__module__, __qualname__=f"{protocol.__qualname__}.__call__")
    for call in typing.get_overloads(written) or [protocol.__call__]:
        named |= {name for name in inspect.signature(call).parameters if name not in ("self", "first", "second")}
    if "options" in named:
        named = named - {"options"} | set(typed_protocols.OptionsAndAux.__annotations__)
    assert named == set(inspect.signature(transform).parameters)


def test_checkers_see_every_public_name():
    with open(tapec.__file__) as file:
        told = set(re.findall(r"(\w+) as \1\b", file.read().split("if TYPE_CHECKING:")[1]))
    assert set(tapec.__all__) <= told
