"""Names that code only counts with, or puts things under."""

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


def test_names_that_are_put_together_are_read():
    assert not only_noted("self.n", [by_name.__code__])


READ = ["self.n", "self.first", "self.t", "len(self.log)", "keys of self.table", "f.args[0].n", "self.other"]


@pytest.mark.parametrize("label", READ)
def test_read(label):
    assert not only_noted(label, [noting.__code__, reading.__code__])
