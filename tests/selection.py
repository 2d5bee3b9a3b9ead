"""Which tests run when: `conftest.py` calls this once the tests are collected.

    python -m pytest -n auto                               the default run: what is not `thorough`
    python -m pytest -n auto -m thorough                   the rest
    python -m pytest -n auto -m "thorough or not thorough" all, each once
    python -m pytest -n auto -m "" --draw WORD             a tenth of all, which WORD draws
    python -m pytest -n auto --draw WORD --one-in 3        a third of the default run

A test is `thorough` because it says so, because it is one of the parametrisations that `sampled` leaves out or one of
very many, or because Hypothesis draws its examples and the run has thorough tests: such a test runs in both, with few
and with many.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import is_hypothesis_test, settings

DEFAULT = "not thorough"  # the mark expression of pyproject.toml
EXAMPLES = {"default": 25, "thorough": 100, "nightly": 2000}
WHOLE = 6  # cases of a test up to which all run by default


def number_of(text: str) -> int:
    """The same for the same text on each machine, and as good as random."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def left_out(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The parametrisations that tests with the mark `sampled` leave to thorough runs.

    `sampled(one_in=8)` keeps an eighth, `sampled(one_in=8, per="name")` an eighth for each value of the parameter, and
    at least one. Of other tests with more than `WHOLE` cases so many are kept, and a tenth of the others. A
    parametrisation that is added or taken away changes the choice of one other at most.
    """
    whole: dict[str, list[pytest.Item]] = defaultdict(list)
    groups: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    sizes: dict[tuple[str, str], int] = {}
    for item in items:
        mark, call = item.get_closest_marker("sampled"), getattr(item, "callspec", None)
        if mark is not None and call is not None:
            per = mark.kwargs.get("per")
            group = (item.nodeid.partition("[")[0], repr(call.params[per]) if per else "")
            groups[group].append(item)
            sizes[group] = mark.kwargs["one_in"]
        elif call is not None and item.get_closest_marker("thorough") is None:
            whole[item.nodeid.partition("[")[0]].append(item)
    left = []
    for members in whole.values():
        members.sort(key=lambda item: number_of(item.nodeid))
        left += members[WHOLE + -(-max(len(members) - WHOLE, 0) // 10) :]
    for group, members in groups.items():
        members.sort(key=lambda item: number_of(item.nodeid))
        left += members[-(-len(members) // sizes[group]) :]
    return left


def mark_thorough(items: list[pytest.Item], expression: str) -> None:
    for item in items:
        by_hypothesis = is_hypothesis_test(getattr(item, "obj", None)) or item.get_closest_marker("hypothesis")
        if expression != DEFAULT and by_hypothesis:
            item.add_marker("thorough")
    for item in left_out(items):
        item.add_marker("thorough")


def drawn(items: list[pytest.Item], word: str, one_in: int = 10) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Return the tests that a word draws, one in so many, and all others."""
    parts: tuple[list[pytest.Item], list[pytest.Item]] = ([], [])
    for item in items:
        parts[number_of(word + item.nodeid) % one_in != 0].append(item)
    return parts


def examples(thorough: int, **others: Any) -> settings:
    """Settings of a test that takes so many examples in a thorough run, and in proportion in any other."""
    count = thorough * settings.default.max_examples // EXAMPLES["thorough"]
    return settings(max_examples=max(count, 1), **others)
