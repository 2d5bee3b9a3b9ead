"""Names that code only counts with, or puts things under."""

import dataclasses

import pytest

from tapec.trace.remarks import only_noted

total: list = []


def noting(self, x, log, count):
    def inner():
        nonlocal x
        x += 1
        total.append(x)

    self.n += 1
    self.log.append(x)
    self.log += [x]
    self.table["a"] += 1
    count[0] += 1
    return inner


def reading(self, x):
    if self.first:
        self.first = False
    self.n += 1
    self.t = self.t + 1
    self.log.append(self.n)
    self.table["a"] += 1
    return x * len(self.log) + self.table["a"]


NOTED = ["self.n", "len(self.log)", "self.log[0]", "self.table['a']", "len(total)", "f.args[0].n"]


@pytest.mark.parametrize("label", NOTED)
def test_noted(label):
    assert only_noted(label, [noting.__code__])


def used_elsewhere(self, x, count):
    def inner():
        found = [0.0, 0.0]
        found[self.n] += x
        found[0] += count[0]
        return found

    count[0] += 1
    self.n += 1
    return inner


@pytest.mark.parametrize("label", ["self.n", "count[0]"])
def test_what_something_else_is_counted_with_is_read(label):
    assert not only_noted(label, [used_elsewhere.__code__])


def by_name(self):
    self.n += 1
    return getattr(self, "n")  # noqa: B009


def by_pattern(self):
    self.n += 1
    match self:
        case State(2):
            return 2


class State:
    __match_args__ = ("n",)

    def of_the_class_above(self):
        self.n += 1
        return super().twice()

    def as_a_row(self):
        self.n += 1
        return dataclasses.astuple(self)


def among_globals(self):
    global n
    n += 1
    return globals()["n"] + eval("n")


UNSPELT = [by_name, by_pattern, among_globals, State.of_the_class_above, State.as_a_row]


@pytest.mark.parametrize("function", UNSPELT)
def test_what_may_be_read_by_names_that_are_not_spelt_out_is_read(function):
    assert not only_noted("self.n", [function.__code__])


READ = ["self.n", "self.first", "self.t", "len(self.log)", "keys of self.table", "f.args[0].n", "self.other"]


@pytest.mark.parametrize("label", READ)
def test_read(label):
    assert not only_noted(label, [noting.__code__, reading.__code__])
