"""einsum in all its forms against NumPy, and its derivatives against differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapec
from tapec.ir import Builder, Type, input_node
from tapec.ops import Symbol
from tests.ops.derivatives import assert_same, check

rng = np.random.default_rng(4)
SIZES = {"a": 2, "b": 3, "c": 4, "d": 2, "i": 3, "j": 2, "k": 4, "l": 3, "A": 2, "Z": 3}

EXPLICIT = [
    "ij->ji",
    "ij->i",
    "ij->",
    "ij->ij",
    "ii->i",
    "ii->",
    "iii->i",
    "iijj->ij",
    "iij->j",
    "ijk->kij",
    "i,i->",
    "i,i->i",
    "i,j->ij",
    "i,j->ji",
    "i,j->",
    "ij,jk->ik",
    "ij,kj->ki",
    "ij,ij->",
    "ij,ij->ij",
    "ij,ij->ji",
    "ij,ji->",
    "ij,j->i",
    "ij,i->ij",
    "ij,j->ij",
    "i,ij->ij",
    "bij,bjk->bik",
    "bij,bkj->bik",
    "bij,bjk->ikb",
    "bij,bik->bijk",
    "aibj,ajbk->aibk",
    "aibj,ajck->abick",
    "abi,abi->ab",
    "abi,abi->ba",
    "ai,abi->ab",
    "aijb,aijc->abc",
    "ijk,jkl->il",
    "ijk,kjl->li",
    "ijk,i->jk",
    "ij,jk,kl->il",
    "ij,ik,il->jkl",
    "i,ij,j->",
    "i,i,i->i",
    "a,b,c,d->dcba",
    "ii,ij->j",
    "iij,jk->ik",
    ",i->i",
    ",->",
    "->",
    "ij,->i",
]
IMPLICIT = ["ij,jk", "ba", "ii", "ij,ij", "Za", "i,j", "ijk,kl", "ij,j", "aiA,iZ"]


def operands(subscripts, complex=False):
    terms = subscripts.split("->")[0].split(",")
    shapes = [tuple(3 if t.count(c) > 1 or c == "i" else SIZES[c] for c in t) for t in terms]
    sizes = {}
    for t, s in zip(terms, shapes):
        for c, n in zip(t, s):
            sizes[c] = max(n, sizes.get(c, 0))
    arrays = [rng.standard_normal([sizes[c] for c in t]) for t in terms]
    return [a + 1j * rng.standard_normal(a.shape) for a in arrays] if complex else arrays


@pytest.mark.parametrize("subscripts", EXPLICIT + IMPLICIT)
@pytest.mark.parametrize("complex", [False, True])
def test_subscripts(subscripts, complex):
    check(lambda *xs: np.einsum(subscripts, *xs), *operands(subscripts, complex))


@pytest.mark.parametrize("optimize", [True, "greedy", "optimal", ["einsum_path", (0, 2), (0, 1)]])
def test_optimize(optimize):
    xs = operands("ij,jk,kl->il")
    check(lambda *xs: np.einsum("ij,jk,kl->il", *xs, optimize=optimize), *xs)


@pytest.mark.parametrize(
    "subscripts, shapes",
    [
        ("...ij,...jk->...ik", [(2, 3, 2), (2, 2, 4)]),
        ("...ij,...jk", [(2, 3, 2), (2, 2, 4)]),
        ("...ij,...jk->...ik", [(5, 1, 3, 2), (2, 2, 4)]),
        ("...ij,jk->ik...", [(2, 3, 2), (2, 4)]),
        ("i...->...", [(3, 2, 4)]),
        ("...ii->...i", [(2, 3, 3)]),
        ("...,...", [(2, 3), (3,)]),
        ("i...,i...->i...", [(3, 2), (3, 1)]),
        ("...i->i...", [(3,)]),
        ("ij,...->ij...", [(2, 3), ()]),
        (" ij , jk -> ik ", [(2, 3), (3, 2)]),
        ("ij,ij->ij", [(1, 3), (2, 3)]),
        ("ij,ij->", [(2, 1), (2, 3)]),
        ("ij,jk->ik", [(2, 1), (3, 2)]),
        ("ij,jk->ik", [(0, 3), (3, 2)]),
        ("ij,jk->ik", [(2, 0), (0, 2)]),
        ("ij->i", [(2, 1)]),
    ],
)
def test_ellipsis_and_broadcasting(subscripts, shapes):
    check(lambda *xs: np.einsum(subscripts, *xs), *[rng.standard_normal(s) for s in shapes])


def test_interleaved():
    a, b = rng.standard_normal((2, 3)), rng.standard_normal((3, 4))
    check(lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [0, 2]), a, b)
    check(lambda a, b: np.einsum(a, [7, 3], b, [3, 1]), a, b)
    check(lambda a, b: np.einsum(a, [0, Ellipsis], b, [Ellipsis, 2], [0, Ellipsis, 2]), a, a.T)
    check(lambda a, b: np.einsum(a, [30, 1], b, [1, 51]), a, b)


def test_dtypes():
    a = rng.standard_normal((2, 3)).astype(np.float32)
    check(lambda a: np.einsum("ij,kj->ik", a, a), a, rtol=1e-2, order=1)
    n = tapec.constant(np.arange(6, dtype=np.int8).reshape(2, 3))
    for subscripts in ("ij->i", "ij->", "ij,ij->j"):
        terms = [n] * (subscripts.count(",") + 1)
        assert_same(np.einsum(subscripts, *terms), np.einsum(subscripts, *[t.numpy() for t in terms]))
    check(lambda a: np.einsum("ij,kj->ik", a, a, dtype=complex), a.astype(float))


def test_path_of_tensors():
    xs = operands("ij,jk,kl->il")
    want = np.einsum_path("ij,jk,kl->il", *xs)
    assert np.einsum_path("ij,jk,kl->il", *map(tapec.constant, xs)) == want


def ops_of(subscripts, *shapes):
    builder = Builder()
    xs = [Symbol(input_node(f"x{k}", Type(s, float)), builder) for k, s in enumerate(shapes)]
    np.einsum(subscripts, *xs)
    return [n.op.name for n in builder.nodes]


def test_matrix_products_are_written_as_such():
    assert ops_of("ij,jk->ik", (2, 3), (3, 4)) == ["matmul"]
    assert ops_of("ij,kj->ik", (2, 3), (4, 3)) == ["transpose", "matmul"]
    assert ops_of("bij,bjk->bik", (2, 3, 4), (2, 4, 5)) == ["matmul"]
    assert ops_of("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)) == ["transpose", "matmul"]
    assert ops_of("bhqk,bkd->bhqd", (2, 3, 4, 5), (2, 5, 6)) == ["reshape", "matmul", "reshape"]
    assert ops_of("bhqk,bhqd->bkd", (2, 3, 4, 5), (2, 3, 4, 6)) == ["reshape", "transpose", "reshape", "matmul"]
    assert ops_of("bij,bij->b", (2, 3, 4), (2, 3, 4)) == ["reshape", "reshape", "matmul", "reshape"]
    assert ops_of("ii->", (3, 3)) == ["trace"]
    assert ops_of("ij->j", (3, 3)) == ["sum"]
    assert ops_of("ij,jk,k->i", (20, 30), (30, 40), (40,)) == ["matmul", "matmul"]


def test_products_lie_as_the_result_does():
    """Not as a transposed view of it, which later operations would be slow to read."""
    assert ops_of("rij,kr->ijk", (4, 2, 3), (5, 4)) == ["tensordot"]
    assert ops_of("bji,bkj->bki", (2, 3, 4), (2, 5, 3)) == ["matmul"]


@st.composite
def programs(draw):
    """Random subscripts of two or three operands, with sizes of which some are one."""
    count = draw(st.integers(1, 3))
    terms = [draw(st.text("abcd", min_size=0, max_size=4)) for _ in range(count)]
    letters = sorted(set("".join(terms)))
    out = draw(st.lists(st.sampled_from(letters), unique=True)) if letters else []
    sizes = {c: draw(st.integers(1, 3)) for c in letters}
    shapes = []
    for t in terms:
        unit = draw(st.booleans())
        shapes.append(tuple(1 if unit and t.count(c) == 1 and draw(st.booleans()) else sizes[c] for c in t))
    return ",".join(terms) + "->" + "".join(out), shapes


@given(programs())
def test_any_subscripts(program):
    subscripts, shapes = program
    xs = [np.random.default_rng(k).standard_normal(s) for k, s in enumerate(shapes)]
    assert_same(np.einsum(subscripts, *map(tapec.constant, xs)), np.einsum(subscripts, *xs))
