"""Colour changes nothing but the colour."""

import re
from pathlib import Path

import pytest

import tapec.report.highlight as highlight

SOURCES = sorted(Path(highlight.__file__).resolve().parent.parent.rglob("*.py"))[:25]
AWKWARD = [
    "",
    "\n",
    "x",
    "x = 1\n\n\n",
    "def f(x):\n\treturn f'{x!r:>{3}} <&> {{}}'\n",
    's = """a\nb\n  c"""  # tail',
    "é = 'ü'; y = é @ é  # größer",
    "a = (1,\n     2)\\\n + b\n",
    "not python at all: ' ( [",
    "if x:\n  y\n z\n",
    "# only a comment",
    "\x0c",
]


@pytest.mark.parametrize("language", sorted(highlight.LANGUAGES))
@pytest.mark.parametrize("text", AWKWARD)
def test_pieces_join_to_the_text(text, language):
    assert "".join(part for _, part in highlight.pieces(text, language)) == text


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.name)
def test_real_files_join_to_the_text(path):
    text = path.read_text()
    assert "".join(part for _, part in highlight.pieces(text)) == text
    assert re.sub(r"\x1b\[[0-9;]*m", "", highlight.ansi(text)) == text


def test_kinds_of_python():
    found = dict((part, kind) for kind, part in highlight.pieces("def f(x):\n    return np.sum(len(x), 2.0)  # why\n"))
    assert found["def"] == found["return"] == "keyword"
    assert found["f"] == "definition"
    assert found["sum"] == "attribute"
    assert found["len"] == "builtin"
    assert found["2.0"] == "number"
    assert found["# why"] == "comment"
    assert found["x"] == ""


def test_kinds_of_graph_text():
    text = "graph(%x: f64[3,4]) {\n  %0: f64[] = sum %x {axis=(0,)}\n  return %0\n}"
    found = dict((part, kind) for kind, part in highlight.pieces(text, "graph"))
    assert found["graph"] == found["return"] == "keyword"
    assert found["%x"] == found["%0"] == "name"
    assert found["f64[3,4]"] == "type"
    assert found["sum"] == "definition"
    assert found["0"] == "number"


def test_html_is_escaped():
    assert highlight.html("a < b  # <b>&") == 'a &lt; b  <span class="tp-comment"># &lt;b&gt;&amp;</span>'


def test_lines_hold_whole_spans():
    lines = highlight.html_lines('s = """a\nb"""\nx = 1')
    assert len(lines) == 3
    assert all(line.count("<span") == line.count("</span>") for line in lines)


def test_colour_stops_at_the_end_of_a_line():
    for line in highlight.ansi('s = """a\nb"""', "python").split("\n"):
        assert line.endswith("\x1b[0m")
