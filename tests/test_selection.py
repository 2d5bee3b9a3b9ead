"""Which tests run when: what tests/selection.py does with tests that are made up here."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import selection


class Item:
    """As much of a collected test as the selection looks at."""

    def __init__(self, nodeid: str, *marks: pytest.MarkDecorator, test: object = None, **params: object) -> None:
        self.nodeid, self.obj = nodeid, test
        self.marks = {mark.name: mark for mark in marks}
        if params:
            self.nodeid += f"[{'-'.join(map(str, params.values()))}]"
            self.callspec = SimpleNamespace(params=params)

    def get_closest_marker(self, name: str) -> pytest.MarkDecorator | None:
        return self.marks.get(name)

    def add_marker(self, name: str) -> None:
        self.marks[name] = getattr(pytest.mark, name)


def table(**sampled: object) -> list[Item]:
    mark = pytest.mark.sampled(**sampled)
    return [Item("a.py::test", mark, name=name, k=k) for name in "ab" for k in range(8)]


def thorough(items: list[Item], expression: str = selection.DEFAULT) -> set[str]:
    selection.mark_thorough(items, expression)
    return {item.nodeid for item in items if "thorough" in item.marks}


def test_one_in_so_many_is_in_the_default_run():
    assert len(thorough(table(one_in=4))) == 12
    assert len(thorough(table(one_in=100))) == 15
    assert thorough(table(one_in=4)) == thorough(table(one_in=4)[::-1])


def test_one_in_so_many_for_each_value():
    left = thorough(table(one_in=4, per="name"))
    assert [sum(f"[{name}-" in nodeid for nodeid in left) for name in "ab"] == [6, 6]
    assert len(thorough(table(one_in=100, per="k"))) == 8


def test_a_row_more_changes_one_choice():
    before, after = (
        table(one_in=4),
        [*table(one_in=4), Item("a.py::test", pytest.mark.sampled(one_in=4), name="c", k=1)],
    )
    assert len(thorough(before) ^ thorough(after)) <= 2


def test_of_very_many_cases_a_tenth_runs_by_default():
    def family(count):
        return [Item("a.py::test", k=k) for k in range(count)]

    assert thorough(family(selection.WHOLE)) == set()
    assert len(thorough(family(selection.WHOLE + 100))) == 90
    assert thorough(family(96)) == thorough(family(96)[::-1])


def test_what_hypothesis_draws_is_in_both_runs():
    @given(st.integers())
    def test(n):
        pass

    def rows():
        return [Item("a", test=test), Item("b", pytest.mark.hypothesis), Item("c"), Item("d", pytest.mark.thorough)]

    assert thorough(rows()) == {"d"}
    assert thorough(rows(), "thorough") == thorough(rows(), "") == {"a", "b", "d"}


@pytest.mark.parametrize("one_in", [2, 10])
def test_a_word_draws_one_in_so_many(one_in):
    rows = [Item(f"a.py::test_{k}") for k in range(1000)]
    first, others = selection.drawn(rows, "first", one_in)
    assert 600 < len(first) * one_in < 1400 and len(first) + len(others) == 1000
    assert first == selection.drawn(rows, "first", one_in)[0] != selection.drawn(rows, "second", one_in)[0]


def test_examples_are_in_proportion():
    usual = settings.default.max_examples
    assert selection.examples(selection.EXAMPLES["thorough"]).max_examples == usual
    assert selection.examples(40).max_examples == usual * 40 // 100
