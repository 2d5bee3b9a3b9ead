"""Each public name has a docstring in numpydoc form that says what is true of it, and an entry in the reference."""

import ast
import builtins
import doctest
import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module

import numpy as np
import pytest

import tapec
from docs.build import DOCS
from docs.numpydoc import SECTIONS, default_text, read, signature_text
from docs.reference import FAMILIES, REFERENCE, Name, entry, names_of, properties
from tapec import errors

ALL = {n.shown: n for family in FAMILIES for _, names in names_of(family) for n in names}
ERRORS = {f"tapec.{n}" for n in errors.__all__ if isinstance(getattr(errors, n), type)}  # they have a page of their own

VERBS = """add apply change check choose clear compute convolve correlate count create define describe
    differentiate divide draw drop explain factor filter find fit fold forget give gives hold
    interpolate keep let list look make mean measure multiply parse pass print put read record reduce
    register replace return run say set show solve stop subtract take tell transform turn use write"""
VERBS = {form for verb in VERBS.split() for form in (verb, f"{verb}s", f"{verb}es")}
STARS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def first_sentence(name: Name) -> Iterator[str]:
    summary = name.doc.summary
    if not summary.endswith(".") or len(summary) > 240:
        yield f"no short sentence: {summary}"
    if not inspect.ismodule(name.object) and re.split(r"\W", summary, maxsplit=1)[0].lower() not in VERBS:
        yield f"it begins with no verb: {summary}"


def same_parameters(name: Name) -> Iterator[str]:
    wanted = [(STARS.get(p.kind, "") + p.name, default_text(p)) for p in name.parameters]
    listed = [(n, e.default) for e in name.doc.entries("Parameters") for n in e.names]
    if listed != wanted:
        yield f"{listed} is documented, the signature has {wanted}"


def whole_sections(name: Name) -> Iterator[str]:
    doc, x = name.doc, name.object
    if list(doc.sections) != [s for s in SECTIONS if s in doc.sections]:
        yield f"another order of sections: {list(doc.sections)}"
    for section in ("Parameters", "Attributes", "Returns", "Yields"):
        for e in doc.entries(section):
            needs_name = section in ("Parameters", "Attributes")
            if not (e.names or not needs_name) or not e.kind or not e.text.endswith("."):
                yield f"{section}: an entry lacks its name, its type or a sentence: {e}"
    if (
        name.is_called
        and not inspect.isclass(x)
        and not gives_nothing(x)
        and not {"Returns", "Yields"} & {*doc.sections}
    ):
        yield "nothing says what it returns"
    if inspect.isclass(x):
        missing = set(properties(x)) - {n for e in doc.entries("Attributes") for n in e.names}
        if missing:
            yield f"attributes that are not documented: {missing}"


def its_errors(name: Name) -> Iterator[str]:
    listed = [n for e in name.doc.entries("Raises") for n in e.names]
    for error in listed:
        module, _, last = error.rpartition(".")
        home = import_module(module) if module else errors if hasattr(errors, last) else builtins
        if not issubclass(getattr(home, last, int), Exception):
            yield f"no error is called {error}"
    missing = (raised_in(name.object) if name.is_called else set()) - {error.rpartition(".")[2] for error in listed}
    if missing:
        yield f"errors that are not documented: {missing}"


def examples_that_run(name: Name) -> Iterator[str]:
    x = inspect.unwrap(name.object)
    if ">>> " not in name.doc.sections.get("Examples", ""):
        yield "no example"
    module = x if inspect.ismodule(x) else import_module(x.__module__)
    run = [inspect.cleandoc(test.docstring) for test in doctest.DocTestFinder().find(module) if test.examples]
    if inspect.getdoc(x) not in run:
        yield "doctest does not find the examples"


def siblings_that_exist(name: Name) -> Iterator[str]:
    listed = {n for e in name.doc.entries("See Also") for n in e.names}
    unknown = listed - ALL.keys() - ERRORS | listed & {name.shown}
    if unknown:
        yield f"no siblings: {unknown}"
    if not listed and not name.is_method and not inspect.ismodule(name.object) and name.shown.startswith("tapec."):
        yield "no sibling is named"


CHECKS = (first_sentence, same_parameters, whole_sections, its_errors, examples_that_run, siblings_that_exist)


def problems(name: Name) -> list[str]:
    return [f"{name.shown}: {text}" for check in CHECKS for text in check(name)]


def gives_nothing(x: object) -> bool:
    return inspect.signature(x).return_annotation in (None, "None")


def raised_in(x: object) -> set[str]:
    """The errors that the code of a function, or of the making of an object, raises itself."""
    x = inspect.unwrap(vars(x).get("__init__", x) if inspect.isclass(x) else x)
    if not inspect.isfunction(x):
        return set()
    tree = ast.parse(textwrap.dedent(inspect.getsource(x)))
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    return {call.func.id for call in calls if isinstance(call.func, ast.Name) and call.func.id[0].isupper()}


def test_docstrings_are_whole_and_true():
    assert not [text for name in ALL.values() for text in problems(name)]


def add(a, *more, dtype=float, check=True):
    """Add numbers.

    Parameters
    ----------
    a : array
        It.
    *more : array
        Others.
    dtype : dtype, default float
        Of the sum.
    check : bool, default True
        Whether to look.

    Returns
    -------
    array
        The sum.

    Raises
    ------
    ValueError
        If it cannot be.

    Examples
    --------
    >>> 1 + 2
    3

    See Also
    --------
    tapec.grad : no more than an example
    """
    if check:
        raise ValueError("it cannot be")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("Add numbers.", "The sum of numbers.", "it begins with no verb"),
        ("Add numbers.", "Add numbers", "no short sentence"),
        ("a : array", "b : array", "the signature has [('a', None)"),
        ("default True", "default False", "the signature has [('a', None)"),
        ("Others.", "", "an entry lacks"),
        ("    Returns\n    -------\n    array\n        The sum.\n", "", "nothing says what it returns"),
        (
            "    ValueError\n        If it",
            "    TypeError\n        If it",
            "errors that are not documented: {'ValueError'}",
        ),
        ("tapec.grad : ", "tapec.add : ", "no siblings: {'tapec.add'}"),
    ],
)
def test_what_is_wrong_is_told(monkeypatch, old, new, problem):
    assert not problems(Name("tapec.add", add))
    monkeypatch.setattr(add, "__doc__", inspect.cleandoc(add.__doc__).replace(*map(textwrap.dedent, (old, new))))
    assert any(problem in text for text in problems(Name("tapec.add", add)))


def test_examples_that_nobody_runs_are_told():
    made = type(add)(add.__code__, {"__name__": "tests.docs.test_build"}, "add")
    made.__doc__ = add.__doc__.replace("1 + 2", "2 + 1")
    made.__defaults__, made.__kwdefaults__ = add.__defaults__, add.__kwdefaults__
    assert "tapec.add: doctest does not find the examples" in problems(Name("tapec.add", made))


# -- the pages ---------------------------------------------------------------------------------------------------------
def test_every_public_name_has_an_entry():
    assert {f"tapec.{n}" for n in tapec.__all__} - ERRORS == {
        n for n in ALL if n.removeprefix("tapec.") in tapec.__all__
    }


def test_every_name_of_graphs_and_tests_has_an_entry():
    data = {n for e in ALL["tapec.ir"].doc.entries("Attributes") for n in e.names}
    assert {f"tapec.ir.{n}" for n in set(tapec.ir.__all__) - data} <= ALL.keys()
    assert {f"tapec.testing.{n}" for n in tapec.testing.__all__} <= ALL.keys()


def test_the_pages_are_up_to_date():  # all of them in the default run, where `test_build.py` looks at some
    texts = {name: (DOCS / f"{name.replace('_', '-')}.md").read_text(encoding="utf-8") for name in REFERENCE}
    assert [name for name, text in texts.items() if REFERENCE[name]().strip() not in text] == []


def test_the_index_links_to_every_entry():
    text = REFERENCE["api"]()
    pages = {f"api-{family}.md": REFERENCE[f"api_{family.replace('-', '_')}"]() for family in FAMILIES}
    for shown, page, anchor in re.findall(r"^- \[`(.*)`\]\((.*)#(.*)\):", text, re.MULTILINE):
        assert (
            re.search(rf"^###+ {re.escape(shown)}$", pages[page], re.MULTILINE)
            and anchor == shown.replace(".", "").lower()
        )
    assert len(re.findall("^- ", text, re.MULTILINE)) == len(ALL)


# -- the parser --------------------------------------------------------------------------------------------------------
TEXT = """Add numbers.

    More of it.

    Parameters
    ----------
    a, b : float
        The numbers,
        both.
    *more : float
        Others.
    dtype : str or None, default None
        The class.

    Returns
    -------
    float
        The sum.

    Examples
    --------
    >>> 1 + 2
    3

    See Also
    --------
    other : subtracts
    """


def test_a_docstring_is_taken_apart():
    doc = read(TEXT)
    assert (doc.summary, doc.extended) == ("Add numbers.", "More of it.")
    first, more, dtype = doc.entries("Parameters")
    assert first == (("a", "b"), "float", None, "The numbers,\nboth.")
    assert more.names == ("*more",) and dtype == (("dtype",), "str or None", "None", "The class.")
    assert doc.entries("Returns") == [((), "float", None, "The sum.")]
    assert doc.sections["Examples"] == ">>> 1 + 2\n3"
    assert doc.entries("See Also") == [(("other",), "subtracts", None, "")]


def test_an_unknown_section_is_an_error():
    with pytest.raises(ValueError, match="a section 'Paramters' in a docstring that begins 'Add.'"):
        read("Add.\n\nParamters\n---------\na : float\n    It.\n")


def test_an_entry_as_markdown():
    def add(a, *more, dtype=float, check=True):
        """Add.

        Parameters
        ----------
        a : array
            It.

        Returns
        -------
        array
            The sum.
        """

    assert entry(Name("tapec.add", add)) == (
        "### tapec.add\n\n```text\ntapec.add(a, *more, dtype=float, check=True)\n```\n\nAdd.\n\n**Parameters**\n\n"
        "- `a` (array): It.\n\n**Returns**\n\n- array: The sum.\n"
    )


def test_a_long_signature_has_a_line_for_each_parameter():
    p = [inspect.Parameter(c * 40, inspect.Parameter.KEYWORD_ONLY, default=np.float64) for c in "abc"]
    text = signature_text("f", p)
    assert text.startswith("f(\n    *,\n    a") and text.endswith("=float64,\n)")
