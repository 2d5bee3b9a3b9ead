"""The page: what stands on it, for a person with a browser and for one who reads the file."""

import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import tapec
from tapec.passes.pipeline import PIPELINE
from tapec.report import tuning
from tapec.report.explorer.page import Explored, explore_page
from tapec.runtime.compile import CompiledGraph, Options
from tests.report.programs import SHAPES, chain_graph, gradient_graph, loss, loss_graph

LINE = loss.__code__.co_firstlineno


def page_of(forward, gradient, values=None, name="loss_grad") -> str:
    compiled = CompiledGraph(gradient, Options(name), forward)
    generated = None if values is None else (compiled.code.function, compiled.code.source, values)
    return explore_page(name, [Explored("", forward, compiled, generated)])


def page_of_function(function, *calls) -> str:
    """The page of a gradient after these calls; the first is the one that is shown."""
    grad = tapec.grad(function)
    for args in calls[::-1]:
        grad(*args)
    _, program, path = grad.locate(*calls[0])
    paths = grad.explain(*calls[0]).paths
    forward, tree = program.recorded_paths() if program.branches else (path.forward, None)
    return explore_page(function.__name__, [Explored("", forward, program.compiled, None, paths, None, tree)])


def data_of(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))


def text_of(page: str) -> str:
    return re.sub(r"<[^>]*>", "", page)


@pytest.fixture(scope="module")
def page() -> str:
    rng = np.random.default_rng(0)
    return page_of(loss_graph(), gradient_graph(), [rng.normal(size=shape) for shape in SHAPES.values()])


class Checker(HTMLParser):
    """Every element that is opened is closed, in order; no two have one id."""

    VOID = {"meta", "input"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.addresses += [v for k, v in attrs if k in ("src", "href", "xlink:href")]
        self.ids += [v for k, v in attrs if k == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_is_whole_and_needs_no_network(page):
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert set(checker.addresses) <= {"#"}
    assert len(checker.ids) == len(set(checker.ids))
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttp|https?://(?!www\.w3\.org/2000/svg)", page)
    assert "{{" not in page


def test_page_holds_source_graph_code_and_times(page):
    text = text_of(page)
    assert "h = np.tanh(x @ w1)" in text  # the user's source
    assert "graph loss(" in text  # text of the graph
    assert "def loss_grad(" in text  # generated code
    assert re.search(r'<b style="--share:\d+%" title="[\d.]+ % of the call">[\d.]+ (ns|µs|ms)</b>', page)


def test_only_steps_that_changed_something_can_be_gone_to(page):
    steps = [s["name"] for s in data_of(page)["variants"][0]["steps"]]
    assert steps[:2] == ["forward", "gradient"] and steps[-1] == "code"
    assert "algebra" in steps and "cse" not in steps
    assert all(s["does"] for s in data_of(page)["variants"][0]["steps"])


def test_all_passes_are_listed_with_what_fired_where_and_the_text_of_the_rule(page):
    listed = re.search(r'<ol class="passes">(.*?)</ol>', page, re.S).group(1)
    text = text_of(listed)
    assert all(p.name in text for p in PIPELINE) and "nothing to do" in text
    fired = dict(re.findall(r'<div class="fired"><b>(.*?)</b>(.*?)</div>', listed, re.S))
    assert fired
    for told in fired.values():
        assert re.search(rf'data-at="programs.py:{LINE + 1}|programs.py:\d+"', told) and "→" in told


def test_tooltips_know_the_derivative_of_each_op(page):
    ops = data_of(page)["ops"]
    assert ops["tanh"] == {"numpy": "np.tanh", "rule": "∂y/∂x = 1 - y * y"}
    assert ops["multiply"]["rule"] == "∂y/∂a = b\n∂y/∂b = a"
    assert "ct @" in ops["matmul"]["rule"]


def test_a_loop_is_a_few_boxes_with_a_count():
    def rounds(w, xs):
        h = np.zeros(20)
        for x in xs:
            h = np.tanh(w @ h + x)
        return np.sum(h)

    page = page_of_function(rounds, (np.eye(20), np.ones((60, 20))))
    pictures = re.findall(r'<div class="picture">(.*?)</svg>', page, re.S)
    assert all(picture.count('class="box') < 30 for picture in pictures)
    assert "tanh ×60" in pictures[0]


def test_branches_are_shown_with_their_tests_and_all_paths():
    def bent(x):
        if np.sum(x) > 0:
            return np.sum(x * x)
        return np.sum(np.sin(x))

    page = page_of_function(bent, (np.ones(3),), (-np.ones(3),))
    text = text_of(page)
    assert "2 paths are recorded" in text and "taken by these arguments" in text
    forward, gradient = re.findall(r'<div class="picture">(.*?)</svg>', page, re.S)[:2]
    for picture in (forward, gradient):
        assert ">test<" in picture and "np.sum(x) &gt; 0" in picture
        assert "if np.sum(x) &gt; 0" in picture and "if not np.sum(x) &gt; 0" in picture
    assert "sin" in forward and "cos" in gradient  # of the path that was not taken


def test_one_path_says_how_to_add_others():
    page = page_of_function(lambda x: x * x if x > 0 else x, (2.0,))
    assert "One path is recorded" in text_of(page) and "--more-args" in page


def test_a_line_stands_for_its_statement_and_the_head_of_a_loop_for_its_body():
    def f(x):
        for _ in range(3):
            x = np.sin(
                x  # a line of its own
            )
        return x

    page = page_of_function(f, (0.5,))
    first = f.__code__.co_firstlineno
    lights = re.findall(r'<span class="ln" data-lights="(.*?)"><i>(\d+)</i>', page)
    found = {int(line) - first: [int(k.rpartition(":")[2]) - first for k in keys.split()] for keys, line in lights}
    assert found == {0: [2], 1: [2], 3: [2], 4: [2]}


def test_operations_with_several_results_and_bodies_are_shown():
    def f(w, x):
        q, r = np.linalg.qr(x)
        layer = tapec.checkpoint(lambda w, x: np.tanh(x @ w))
        return np.sum(layer(w, q)) + np.sum(r)

    page = page_of_function(f, (np.eye(3), np.ones((5, 3)) + np.eye(5, 3)))
    assert "qr" in data_of(page)["ops"] and "def f_grad(" in text_of(page)
    forward = re.search(r'<div class="picture">(.*?)</svg>', page, re.S).group(1)
    told = re.search(r'data-at="([^"]*)"[^>]*data-box="[^"]*checkpoint[^"]*tanh', forward).group(1)
    first = f.__code__.co_firstlineno
    assert {int(line.rpartition(":")[2]) - first for line in told.split()} == {2, 3}  # the body, and its call


def test_values_for_which_floats_raise_are_shown_without_times():
    def sinc(x):
        return np.sin(x) / x

    grad = tapec.grad(sinc)
    _, program, path = grad.locate(1.0)
    code = program.compiled.code
    page = explore_page("sinc", [Explored("", path.forward, program.compiled, (code.function, code.source, [0.0]))])
    assert "def sinc_grad(" in text_of(page) and "--share" not in page.partition("<body")[2]


def test_text_that_looks_like_html_stays_text():
    name = "</script><b>{{data}}"
    page = page_of(loss_graph(), gradient_graph(), name=name)
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert "<title>&lt;/script&gt;&lt;b&gt;{{data}} · tapec explore</title>" in page


def test_a_large_graph_makes_a_small_page():
    graph = chain_graph(600)
    page = page_of(graph, graph)
    assert len(page) < 400_000 and "more operations" in page


def test_it_takes_at_most_twice_the_first_call():
    def steps(x):
        for _ in range(2000):
            x = np.sin(x) * 1.01
        return x

    page_of_function(steps, (0.5,))  # which imports what it needs
    grad, found = tapec.grad(steps), []
    first = python_calls(lambda: found.extend(grad.locate(0.5)))
    _, program, path = found
    again = python_calls(lambda: explore_page("steps", [Explored("", path.forward, program.compiled)]))
    assert again <= 2 * first


def python_calls(run) -> int:
    """Count the calls of Python functions: a measure of time that is the same on every machine."""
    count = 0

    def called(frame, event, arg):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


def test_code_of_every_step_is_written_for_small_programs_alone(page, monkeypatch):
    assert not data_of(page)["variants"][0]["steps"][0]["last"]
    monkeypatch.setattr(tuning, "STEP_CODE_MAX_NODES", 5)
    steps = data_of(page_of(loss_graph(), gradient_graph()))["variants"][0]["steps"]
    assert all(s["last"] and s["code"] == "0.code" for s in steps[:-1])


def test_two_settings_share_a_page():
    compiled = CompiledGraph(gradient_graph(), Options("loss_grad"), loss_graph())
    with tapec.settings(optimize=False):
        plain = CompiledGraph(gradient_graph(), Options("loss_grad"), loss_graph())
        page = explore_page("loss", [Explored(n, loss_graph(), c) for n, c in (("a", compiled), ("b<", plain))])
    assert [v["label"] for v in data_of(page)["variants"]] == ["a", "b<"]
    assert page.count('<option value="1">b&lt;</option>') == 2
    assert 'data-panel="1.code"' in page


def test_two_targets_share_a_page():
    compiled = CompiledGraph(gradient_graph(), Options("loss_grad"), loss_graph())
    one, two = [Explored(name, loss_graph(), compiled, target=name) for name in ("numpy", "portable")]
    page = explore_page("loss", [one, two])
    code = re.search(r'<div data-panel="1.code" hidden>(.*?)</pre>', page, re.S).group(1)
    assert "xp" in text_of(code) and f'data-at="programs.py:{LINE + 1}"' in code


def test_passes_of_the_target_are_listed_too(page):
    assert text_of(re.search(r'<ol class="passes">(.*?)</ol>', page, re.S).group(1)).count("numpy") >= 5


def test_a_program_without_derivatives_is_not_said_to_have_some():
    steps = data_of(page_of(loss_graph(), loss_graph()))["variants"][0]["steps"]
    does = {step["name"]: step["does"] for step in steps}
    assert does["gradient"] == "The graph that the passes begin with: there are no derivatives in it."
