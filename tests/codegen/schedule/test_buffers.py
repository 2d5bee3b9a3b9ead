"""What buffers answer, asked without a lowering: they hold all that they need to know."""

import numpy as np
import pytest

from tapec.codegen import tuning
from tapec.codegen.common.block_items import items_of_path
from tapec.codegen.common.naming import Names, name_inputs
from tapec.codegen.schedule.buffers import Buffers
from tapec.codegen.schedule.inlining import Plan
from tests.codegen.kit import graph_of


@pytest.fixture(autouse=True)
def arrays_of_8_kb_are_computed_in_place(monkeypatch):
    monkeypatch.setattr(tuning, "BUFFER_MIN_BYTES", 1 << 13)
    monkeypatch.setattr(tuning, "BUFFER_ALWAYS_MIN_BYTES", 1 << 13)


BIG = np.ones((64, 64))


def buffers_of(function, *values, **options):
    """The buffers of a function of these values, the items of it that compute, and its inputs."""
    graph = graph_of(function, *values)
    donated = graph.inputs if options.pop("donated", False) else ()
    plan = Plan(graph.nodes, graph.outputs, donated=donated, **options)
    names = Names()
    memory = Buffers(plan, names, name_inputs(graph, names))
    items = items_of_path(graph, plan)
    memory.start(items)
    return memory, items[:-1], graph.inputs


def computed(memory, node):
    """A value has been computed in new memory; what its line read last is free."""
    memory.free_dead(memory.plan.leaves[node])
    memory.call(node)
    memory.own(node)


def chain(x):
    """Two arrays, of which the second alone reads the first, and a third that may have the memory of the first."""
    second = np.sort(x) @ x
    return second, np.sum(second), x * x


def test_an_array_is_free_once_it_is_read_for_the_last_time():
    memory, (first, second, *_), (x,) = buffers_of(chain, BIG)
    computed(memory, first)
    assert memory.name[first] not in memory.pooled
    memory.here = 1
    assert memory.is_overwritable(first, second.type) and not memory.is_overwritable(x, second.type)
    computed(memory, second)
    assert memory.name[first] in memory.pooled


def test_nothing_is_written_that_is_read_later():
    for also in (False, True):

        def function(x, also=also):
            first = np.sort(x)
            second = first @ x
            return (second, np.sum(second), *([first] if also else []))

        memory, (first, second, *_), _ = buffers_of(function, BIG)
        computed(memory, first)
        memory.here = 1
        assert memory.is_overwritable(first, second.type) != also


def test_an_input_is_written_only_if_it_is_donated():
    for donated in (False, True):
        memory, (first, *_), (x,) = buffers_of(lambda x: np.cumsum(np.sort(x), axis=0), BIG, donated=donated)
        assert memory.is_overwritable(x, first.type) == donated


def test_checked_values_keep_their_arrays():
    memory, (first, second, *_), _ = buffers_of(chain, BIG, checked=True)
    computed(memory, first)
    memory.here = 1
    assert not memory.is_overwritable(first, second.type)
    computed(memory, second)
    assert not memory.pooled


def test_a_path_takes_only_its_own_free_names():
    memory, (first, second, *_), _ = buffers_of(chain, BIG)
    computed(memory, first)
    memory.here = 1
    computed(memory, second)
    path = memory.branch()
    path.remove_from_pool(memory.name[first])
    assert memory.name[first] in memory.pooled and memory.name[first] not in path.pooled


def test_a_view_keeps_the_memory_that_it_looks_into():
    def function(x):
        view = np.sort(x)[1:]
        return np.sum(view), np.max(view)

    memory, (first, view), _ = buffers_of(function, BIG)
    computed(memory, first)
    memory.here = 1
    computed(memory, view)
    assert memory.root_of(view) is first and not memory.is_overwritable(first, first.type)
    assert memory.last_reader(first) is memory.items[-1]


def test_bytes_in_use():
    memory, (first, second, *_), _ = buffers_of(chain, BIG)
    computed(memory, first)
    memory.here = 1
    computed(memory, second)
    assert memory.use.alive == memory.use.peak == 2 * BIG.nbytes  # what is free is still there, for later values
