"""Tables of pandas get plain values, as far as no gradient is lost by that."""

import operator
import types

import numpy as np
import pytest

import tapec
from tests.trace.capture.test_plain_arguments import SIZES, Box, states


@pytest.fixture
def table():
    pandas = pytest.importorskip("pandas", reason="pandas has no wheels for this Python")

    def make(n):
        return pandas.DataFrame({"a": np.arange(float(n)), "b": 1.0 + np.arange(n)})

    return make


KEYS = {
    "frame": lambda df, mask, rate: df[mask]["a"],
    "comparison": lambda df, mask, rate: df[df["a"] > rate]["b"],
    "loc": lambda df, mask, rate: df.loc[mask, "a"],
    "negated": lambda df, mask, rate: df.loc[~mask]["a"],
    "iloc": lambda df, mask, rate: df.iloc[np.nonzero(mask)[0]]["b"],
    "series": lambda df, mask, rate: df["a"][mask],
    "chain": lambda df, mask, rate: df[["a", "b"]][mask].loc[:, "b"],
    "times": lambda df, mask, rate: rate * df["a"] + df["b"] / rate,
    "method": lambda df, mask, rate: df["a"].where(mask, rate).clip(rate / 2),
    "groups": lambda df, mask, rate: df.groupby(mask)["b"].sum(),
    "assigned": lambda df, mask, rate: df.assign(c=mask * rate)[mask]["c"],
}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_rows_of_a_table(table, key, n):
    df, box = table(n), Box()

    def change(state):
        box.rate, box.mask = state, np.arange(n) % 3 < state % 3

    states(
        lambda x: np.sum(key(df, box.mask, box.rate).to_numpy()) * x,
        1.0,
        change,
        lambda: np.sum(key(df, box.mask, box.rate).to_numpy()),
    )


@pytest.mark.parametrize("n", SIZES)
def test_masks_and_tables_that_are_arguments(table, n):
    g = tapec.grad(lambda x, df, mask: np.sum(df[mask].to_numpy() @ x))
    for k in range(3):
        df, mask = table(n + k), np.arange(n + k) % 2 == k % 2
        np.testing.assert_allclose(g(np.ones(2), df, mask), np.sum(df[mask].to_numpy(), axis=0))


def test_masks_of_an_argument(table):
    df = table(4)
    g = tapec.grad(lambda x: np.sum(df[x > 0].to_numpy()) * np.sum(x))
    for x in (np.array([1.0, -1.0, 1.0, 1.0]), np.array([-1.0, -1.0, 1.0, 1.0]), -np.ones(4)):
        np.testing.assert_allclose(g(x), np.full(4, df[x > 0].to_numpy().sum()))


def test_tables_stay_what_they_are(table):
    pandas = pytest.importorskip("pandas")
    df = table(3)
    kinds = []

    def f(x):
        kinds.append((type(df) is pandas.DataFrame, isinstance(df["a"], pandas.Series)))
        return x * 2.0, df, df[np.array([True, False, True])], df["a"] * 2.0

    _, same, part, column = tapec.compile(f)(1.0)
    assert kinds[0] == (True, True) and same is df
    assert type(part) is pandas.DataFrame and type(column) is pandas.Series
    assert type(df) is pandas.DataFrame and type(df["a"]) is pandas.Series


def test_gradients_through_tables_are_recorded(table):
    df = table(3)
    np.testing.assert_allclose(tapec.grad(lambda x: np.sum(df @ x))(np.ones(2)), df.to_numpy().sum(0))
    np.testing.assert_allclose(tapec.grad(lambda x: np.sum(x * df["a"]))(2.0), 3.0)


def test_a_table_that_the_function_changes(table):
    df = table(3)

    def f(x):
        df.loc[df["a"] > 1.0, "b"] = 7.0
        return np.sum(df["b"].to_numpy()) * x

    assert tapec.grad(f)(1.0) == 10.0
    assert df["b"].tolist() == [1.0, 2.0, 7.0]


COLUMNS = {
    "to_numpy": lambda df: df["a"].to_numpy()[1],
    "values": lambda df: np.sum(df["a"].values),
    "attribute": lambda df: df.a.to_numpy()[0],
    "asarray": lambda df: np.asarray(df["a"])[2],
    "sum": lambda df: df["a"].sum(),
    "iteration": lambda df: sum(df["a"]),
    "mean of all": lambda df: df.mean().to_numpy()[0],
    "asarray of all": lambda df: np.asarray(df)[1, 0],
    "two": lambda df: df[["a", "b"]].to_numpy()[1, 0],
    "loc": lambda df: df.loc[:, "a"].to_numpy()[1],
    "iloc": lambda df: df.iloc[1, 0],
    "at": lambda df: df.at[1, "a"],
    "names": lambda df: df[df.columns[0]].to_numpy()[1],
    "in": lambda df: 2.0 if "z" in df else 3.0,
    "len": lambda df: len(df),
    "shape": lambda df: df.shape[1] * df["a"].size,
    "get": lambda df: df.get("a").iloc[0],
    "rows": lambda df: sum(row.a for row in df.itertuples()),
    "items": lambda df: sum(column.iloc[0] for _, column in df.items()),
    "index": lambda df: float(df["a"].index[-1]),
    "groups": lambda df: df.groupby("b")["a"].sum().iloc[0],
    "eval": lambda df: df.eval("a + b").iloc[1],
    "by name": lambda df: operator.itemgetter("a")(df).iloc[1],
}


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_never_stale(table, name, nested):
    read, held = COLUMNS[name], types.SimpleNamespace(df=table(4))
    f = lambda x: read(held.df) * x**2
    g = tapec.grad(f)
    if nested:
        g = tapec.compile(lambda x: tapec.grad(f)(x))

    def in_place(column):
        held.df.loc[1, column] = held.df.loc[1, column] + 1.5

    changes = [
        lambda: in_place("a"),
        lambda: in_place("b"),
        lambda: held.df.__setitem__("z", 1.0),
        lambda: held.df.__setitem__("a", held.df["a"] * 2),
        lambda: held.df.__delitem__("z"),
        lambda: setattr(held, "df", table(4)),
        lambda: setattr(held, "df", table(5)),
        lambda: setattr(held, "df", held.df[["b", "a"]]),
        lambda: setattr(held.df, "index", range(1, 6)),
        lambda: setattr(held.df, "columns", ["c", "a"]),
    ]
    for change in [lambda: None, *changes]:
        try:
            change()
            expected = read(held.df)
        except (KeyError, AttributeError, NameError):
            continue  # what the row asks for is there no more
        for _ in range(2):
            np.testing.assert_allclose(g(3.0), 6.0 * expected)


def test_a_column_costs_what_it_holds(table):
    df = table(4)
    g = tapec.grad(lambda x: df["a"].to_numpy()[1] * x)
    g(1.0), g(1.0)
    for change in (lambda: df.__setitem__("b", 3.0), lambda: df.__setitem__("z", "text"), lambda: df.pop("b")):
        change()
        with tapec.testing.assert_compiles(g, at_most=0):
            assert g(1.0) == 1.0
    df["a"] = 7.0
    assert g(1.0) == 7.0
