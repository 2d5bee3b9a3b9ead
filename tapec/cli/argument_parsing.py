"""Turn words of `--args` into arguments: a type (`f64[32,4]`), or a Python expression (`np.ones(3)`, `w=2.0`)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import tapec
from tapec.cli.error_messages import Problem
from tapec.codegen.numpy import pipeline as of_numpy
from tapec.ir.checks.sample_values import WEAK, sample_value
from tapec.ir.types import Type, dtype_from_name
from tapec.passes.pipeline import PIPELINE

__all__ = ["parse_words", "pass_names", "seconds_of"]

_TYPE = re.compile(r"([a-z]\w*)\[\s*((?:\d+\s*(?:,\s*\d+\s*)*,?)?)\s*\]")
_KEYWORD = re.compile(r"([A-Za-z_]\w*)=(?!=)(.*)", re.DOTALL)


def parse_words(words: Sequence[str], names: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return positional and keyword arguments; expressions see NumPy, tapec and `names`."""
    rng = np.random.default_rng(0)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for word in words:
        keyword = _KEYWORD.fullmatch(word)
        if keyword:
            kwargs[keyword.group(1)] = _value(keyword.group(2), names, rng)
        else:
            args.append(_value(word, names, rng))
    return tuple(args), kwargs


def pass_names(text: str) -> list[str]:
    """Return the passes that a word names: `fold,cse`."""
    known = dict.fromkeys(p.name for p in (*PIPELINE, *of_numpy.PIPELINE))
    names = [n.strip() for n in text.split(",")]
    for name in names:
        if name not in known:
            raise Problem(f"no pass is called {name!r}; there are {', '.join(known)}")
    return names


def seconds_of(text: str) -> float:
    """Return how long to measure. argparse tells of a ValueError by the name of this function."""
    seconds = float(text)
    if not 0 < seconds < math.inf:
        raise ValueError
    return seconds


seconds_of.__name__ = "number of seconds"


def _value(word: str, names: Mapping[str, Any], rng: np.random.Generator) -> Any:
    if word in WEAK:
        return WEAK[word]
    found = _TYPE.fullmatch(word)
    return _expression(word, names) if found is None else sample_value(_type(word, found), rng)


def _type(word: str, found: re.Match[str]) -> Type:
    try:
        dtype = dtype_from_name(found.group(1))
    except KeyError:
        known = "f64, f32, f16, c128, c64, i64, i32, u8, bool"
        raise Problem(f"--args {word!r}: no dtype is called {found.group(1)!r}; there are {known}") from None
    return Type(tuple(int(n) for n in re.findall(r"\d+", found.group(2))), dtype)


def _expression(word: str, names: Mapping[str, Any]) -> Any:
    try:
        return eval(word, {**names, "np": np, "numpy": np, "math": math, "tapec": tapec})
    except Exception as e:  # whatever the expression raises
        hint = "a word is a type such as 'f64[32,4]', or a Python expression"
        raise Problem(f"--args {word!r}: {type(e).__name__}: {e}; {hint}") from e
