"""The support table: every public name of NumPy is in it, and what it says is true."""

import numpy as np
import pytest

import tapec
from tapec.errors import UnsupportedError
from tapec.ops import FUNCTIONS, METHODS, UFUNCS
from tapec.report.numpy_coverage import KINDS, MODULES, REFUSED, classify, entries, public_names

TABLE = {entry.name: entry for entry in entries()}


@pytest.mark.parametrize("prefix", MODULES)
def test_every_public_function_is_classified(prefix):
    for name in public_names(MODULES[prefix]):
        assert TABLE[f"{prefix}.{name}"].kind in KINDS


def test_tensors_have_the_methods_of_arrays():
    of_memory_and_fields = {"ctypes", "data", "getfield", "setfield", "to_device"}
    gone_since_numpy_2 = {"itemset", "newbyteorder", "ptp", "tostring"}
    missing = {n for n in dir(np.ndarray) if not n.startswith("_") and not hasattr(tapec.Tensor, n)}
    assert missing <= of_memory_and_fields | gone_since_numpy_2


def test_what_is_said_to_be_implemented_is():
    for name, entry in TABLE.items():
        function = getattr(MODULES[name.rpartition(".")[0]], name.rpartition(".")[2])
        known = function in FUNCTIONS or (isinstance(function, np.ufunc) and function in UFUNCS)
        if entry.kind in ("differentiable", "in place"):
            assert known, name
        if entry.kind == "refused":
            assert not known and entry.note, name


def test_a_name_in_no_table_is_an_error():
    with pytest.raises(KeyError, match="np.brand_new is in no table"):
        classify("np.brand_new", lambda x: x)


def test_no_name_is_told_twice():
    assert not {n for n in REFUSED if f"np.{n}" in TABLE and TABLE[f"np.{n}"].kind != "refused"}


def test_rows():
    tanh = TABLE["np.tanh"]
    assert tanh.kind == "differentiable" and tanh.complex and tanh.batched == "at once"
    assert TABLE["np.floor"].kind == "no gradient" and not TABLE["np.floor"].gradient
    assert TABLE["np.vstack"].kind == "composite" and TABLE["np.zeros"].kind == "creation"
    assert TABLE["np.acos"].op is TABLE["np.arccos"].op is not None
    assert TABLE["np.nonzero"].batched.startswith("no")
    assert TABLE["np.lib.stride_tricks.sliding_window_view"].kind == "differentiable"
    assert TABLE["np.sqrt"].kind == "differentiable" and TABLE["np.emath.sqrt"].kind == "refused"
    assert TABLE["np.r_"].kind == TABLE["np.c_"].kind == "composite" and TABLE["np.mgrid"].kind == "creation"


@pytest.mark.parametrize("name", ["sqrt", "log", "power"])
def test_functions_that_turn_complex_say_that_they_are_refused(name):
    with pytest.raises(UnsupportedError, match=f"{name} has no op"):
        getattr(np.emath, name)(tapec.constant([1.0, 2.0]), *[2.0] * (name == "power"))


def test_a_refused_function_says_so():
    with pytest.raises((UnsupportedError, TypeError)):
        np.busday_count(tapec.constant(1.0), tapec.constant(2.0))


@pytest.mark.parametrize("name", sorted(n for n in METHODS if not n.startswith("_")))
def test_methods_exist_where_numpy_has_them(name):
    assert hasattr(np.ndarray, name) and callable(getattr(tapec.Tensor, name))
