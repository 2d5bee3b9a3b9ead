"""Classify every public function of NumPy for the support table, read off the registry.

Only what the registry cannot know stands here as data: which compositions carry no gradient, and why the rest has no
meaning for tensors. A public name that is in no table is an error, so a new NumPy cannot bring one unnoticed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import OPS, Op, ops
from tapec.ops.core.lazy import import_all
from tapec.ops.core.stand_in import FUNCTIONS, LIKE, UFUNCS

__all__ = ["KINDS", "MODULES", "Entry", "classify", "entries", "public_names"]

KINDS = {
    "differentiable": "an op with a derivative rule",
    "composite": "put together from ops that have one",
    "no gradient": "integer or piecewise constant: gradients through it are None",
    "creation": "makes an array, from numbers that have no gradient",
    "query": "answers with a plain Python value",
    "in place": "writes into a tensor; gradients flow from what is written",
    "plain": "takes no array of numbers",
    "refused": "an error on tensors, with the reason",
}

MODULES = {
    "np": np,
    "np.linalg": np.linalg,
    "np.fft": np.fft,
    "np.emath": np.emath,
    "np.lib.stride_tricks": np.lib.stride_tricks,
}


class Entry(NamedTuple):
    """Holds a row of the support table. `complex` and `batched` are about the op; a composition has them from its
    parts."""

    name: str
    kind: str
    op: Op | None = None
    note: str = ""

    @property
    def gradient(self) -> bool:
        return self.kind in ("differentiable", "composite", "in place")

    @property
    def complex(self) -> bool | None:
        return None if self.op is None else _takes_complex(self.op)

    @property
    def batched(self) -> str:
        """Says how `vmap` treats the function."""
        if self.op is None:
            return "" if self.kind != "composite" else "by its parts"
        if self.op.kind == "dynamic":
            return "no: the shape depends on values"
        generic = self.op.kind in ("elementwise", "reduction") or self.op is ops.cast
        return "at once" if self.op.batch is not None or generic else "in a loop"


def _takes_complex(op: Op) -> bool:
    if isinstance(op.numpy, np.ufunc):
        return any(set(t.split("->")[0]) & set("FDG") for t in op.numpy.types)
    if isinstance(op.sample, tuple) or op.sample is None:
        return any(d.kind == "c" for d in op.sample or ())
    cases = op.sample(np.random.default_rng(0))
    return any(np.iscomplexobj(x) for case in cases for x in case.inputs)


# -- what the registry cannot know ------------------------------------------------------------------------------------
_TOLD_TEXT = {
    "no gradient": """
        allclose argwhere array_equal array_equiv einsum_path fix flatnonzero iscomplex isclose isin isneginf isposinf
        isreal ix_ nanargmax nanargmin ravel_multi_index
        diag_indices_from tril_indices_from triu_indices_from""",
    "creation": """
        arange bartlett blackman diag_indices empty empty_like eye fftfreq frombuffer fromfile fromfunction fromiter
        fromregex fromstring genfromtxt hamming hanning identity indices kaiser load loadtxt mask_indices mgrid ogrid
        ones ones_like rfftfreq tri tril_indices triu_indices zeros zeros_like""",
    "query": """
        array2string array_repr array_str can_cast common_type iscomplexobj isfortran isrealobj may_share_memory
        min_scalar_type ndim result_type save savetxt savez savez_compressed shape shares_memory size""",
    "in place": "copyto fill_diagonal place put put_along_axis putmask",
    "plain": """
        base_repr binary_repr broadcast_shapes datetime_data format_float_positional format_float_scientific get_include
        get_printoptions getbufsize geterr geterrcall info isdtype isscalar issubdtype iterable mintypecode printoptions
        promote_types require set_printoptions setbufsize seterr seterrcall show_config show_runtime test typename
        errstate finfo iinfo dtype index_exp s_""",
    # what gets tensors in through their elements, or through other functions
    "composite": """
        array asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray full full_like row_stack frompyfunc
        vectorize c_ r_ broadcast ndenumerate poly1d intersect1d setdiff1d setxor1d union1d unique_all
        unique_counts unique_inverse unique_values""",
}
_TOLD = {name: kind for kind, names in _TOLD_TEXT.items() for name in names.split()}
REFUSED = {
    "asmatrix": "np.matrix is no array of tapec's; use two axes",
    "bmat": "np.matrix is no array of tapec's; use np.block",
    "matrix": "np.matrix is no array of tapec's; use two axes",
    "busday_count": "dates are no numbers",
    "busday_offset": "dates are no numbers",
    "busdaycalendar": "dates are no numbers",
    "is_busday": "dates are no numbers",
    "isnat": "dates are no numbers",
    "datetime_as_string": "dates are no numbers",
    "from_dlpack": "another library's array is taken in by tapec.constant(np.from_dlpack(x))",
    "nested_iters": "loops in C are not recorded; index the tensor",
    "nditer": "loops in C are not recorded; index the tensor",
    "flatiter": "loops in C are not recorded; use np.ravel",
    "memmap": "a file is no tensor; read it with tapec.constant",
    "recarray": "a tensor has no fields",
    "record": "a tensor has no fields",
    "as_strided": "looks at memory by bytes; use np.lib.stride_tricks.sliding_window_view, or an index array",
}
_EMATH = "real or complex by the values it is given; np.sqrt(x.astype(complex)) and the like are complex always"


# -- classification ---------------------------------------------------------------------------------------------------
def public_names(module: Any) -> list[str]:
    """Return the names that people may call in a module, or put an index to, as to `np.r_`; not dtypes or warnings."""
    found = []
    for name in dir(module):
        value = getattr(module, name)
        if name.startswith("_") or not (callable(value) or type(value).__module__.startswith("numpy.lib.")):
            continue
        if isinstance(value, type) and issubclass(value, (np.generic, Warning, Exception, np.ndarray)):
            if name not in REFUSED:
                continue
        found.append(name)
    return [n for n in found if n not in ("ndindex", "ufunc")]


def classify(name: str, function: Any) -> Entry:
    """Return the row of one function; KeyError when nothing is known about it."""
    import_all()
    short = name.rpartition(".")[2]
    if name.startswith("np.emath."):
        return Entry(name, "refused", None, _EMATH)
    if short in REFUSED:
        return Entry(name, "refused", None, REFUSED[short])
    op = _op_of(function)
    if short in _TOLD:
        return Entry(name, _TOLD[short], op)
    if op is not None:
        kind = "no gradient" if op.gradient == "none" else "differentiable"
        return Entry(name, kind, op, op.note)
    if function in FUNCTIONS or function in LIKE:
        return Entry(name, "composite")
    raise KeyError(f"{name} is in no table: give it an op, or say in tapec/report/numpy_coverage.py what it is")


def _op_of(function: Any) -> Op | None:
    """The op that a function is; several names (np.max, np.amax) may lead to the same."""
    if isinstance(function, np.ufunc):
        return UFUNCS.get(function)
    ours = FUNCTIONS.get(function)
    for op in OPS.values():
        if op.numpy is function or (ours is not None and FUNCTIONS.get(op.numpy) is ours):
            return op
    return None


def entries() -> list[Entry]:
    """Return the rows of all of NumPy's public functions."""
    import_all()
    return [
        classify(f"{prefix}.{name}", getattr(module, name))
        for prefix, module in MODULES.items()
        for name in public_names(module)
    ]
