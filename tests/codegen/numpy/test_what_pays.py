"""Less plain forms are written where they save a good share of a program's time."""

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.numpy.what_pays import BUFFERS, forms_that_pay, microseconds
from tests.codegen.kit import check, graph_of
from tests.properties import in_place

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 200))  # 320 kB


def forms(f, *values):
    return forms_that_pay(graph_of(f, *values).nodes)


def cheap(x):
    return (x + 1.0) * x * x * x - x


def test_memory_is_used_again_where_elements_are_quickly_computed():
    assert BUFFERS in forms(cheap, X)
    assert BUFFERS not in forms(cheap, X[:20])  # little memory
    assert BUFFERS not in forms(lambda x: cheap(x) + x @ x @ x @ x @ x @ x, X)  # products take the time
    assert BUFFERS not in forms(lambda x: np.tanh(np.exp(x) + 1.0), X)  # and so do functions
    assert BUFFERS not in forms(lambda x: np.frexp(x)[0], X)  # several results are none in the memory of one operand


def test_arrays_of_megabytes_are_computed_in_place_in_any_program(monkeypatch):
    def net(x):
        return np.linalg.inv(x @ x.T + 1.0) * 2.0 - x

    plain = check(graph_of(net, X), X)
    monkeypatch.setattr(tuning, "BUFFER_ALWAYS_MIN_BYTES", X.nbytes)
    assert not in_place(plain) and in_place(check(graph_of(net, X), X))


def test_an_estimate_tells_functions_and_factorisations_from_sums():
    nodes = {n.op.name: n for n in graph_of(lambda x: (x + 1.0, np.exp(x), x @ x, np.linalg.inv(x)), X).nodes}
    times = [microseconds(nodes[name]) for name in ("add", "exp", "matmul", "inv")]
    assert times == sorted(times) and times[1] > 3 * times[0]
