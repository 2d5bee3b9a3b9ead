"""The page: what is on it, and that pointing and dragging do what they promise, in a real browser."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from tapec.codegen import compile_graph
from tapec.passes.pipeline import PIPELINE, optimize
from tapec.report.explore import code_lines, explore_page
from tapec.report.line_profile import LineTimes
from tests.report.browser import needs_browser, run_in_browser
from tests.report.programs import SHAPES, chain_graph, gradient_graph, loss, loss_graph

LINE = loss.__code__.co_firstlineno


def page_of(forward, gradient, values=None) -> str:
    code = compile_graph(optimize(gradient), "loss_grad")
    generated = None if values is None else (code.function, code.source, values)
    return explore_page("loss_grad", forward, gradient, code.source, generated)


@pytest.fixture(scope="module")
def page() -> str:
    rng = np.random.default_rng(0)
    return page_of(loss_graph(), gradient_graph(), [rng.normal(size=shape) for shape in SHAPES.values()])


class Checker(HTMLParser):
    """Every element that is opened is closed, in order."""

    VOID = {"meta", "input"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.addresses += [v for k, v in attrs if k in ("src", "href", "xlink:href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_is_whole_and_needs_no_network(page):
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert checker.addresses == []
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttp|https?://(?!www\.w3\.org/2000/svg)", page)


def test_page_holds_source_graph_code_and_times(page):
    text = re.sub(r"<[^>]*>", "", page)
    assert "h = np.tanh(x @ w1)" in text  # the user's source
    assert "graph loss(" in text  # text of the graph
    assert "def loss_grad(" in text  # generated code
    assert re.search(r'<b style="--share:\d+%" title="[\d.]+ % of the call">[\d.]+ (ns|µs|ms)</b>', page)


def test_lines_of_code_follow_the_last_comment():
    body = ["y = x  # model.py:3   x", "y += 1", "z = y  # a.py:1, b.py:2", "# no place", "return z"]
    source = "def f(x):\n    " + "\n    ".join(body) + "\n"
    found = [re.search(r'data-at="(.*?)"', line) for line in code_lines(source, None)]
    assert [m and m.group(1) for m in found] == [None, "model.py:3", "model.py:3", *["a.py:1 b.py:2"] * 3]


def test_times_stand_beside_their_lines():
    times = LineTimes({2: 3e-6, 3: 1e-6}, {2: 1.0, 3: 1.0}, 1)
    lines = code_lines("def f(x):\n    y = x\n    return y\n", times)
    assert "<b></b>" in lines[0]
    assert '<b style="--share:75%" title="75.0 % of the call">3.00 µs</b>' in lines[1]


def test_text_that_looks_like_html_stays_text():
    source = 'def f(x):\n    return "</script><b>"  # a<b.py:1\n'
    page = explore_page("<loss>", loss_graph(), gradient_graph(), source)
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert "<title>&lt;loss&gt;</title>" in page


def test_a_large_graph_makes_a_small_page():
    graph = chain_graph(600)
    page = page_of(graph, graph)
    assert len(page) < 2_000_000 and "more lines" in page


@needs_browser
def test_pointing_at_a_line_lights_up_what_it_became(page, tmp_path):
    script = f"""
    const at = "programs.py:{LINE + 1}";
    const shown = (item) => item.getClientRects().length > 0;
    const line = [...document.querySelectorAll("#user .ln")].find((l) => l.dataset.at === at);
    line.dispatchEvent(new MouseEvent("mouseover", {{ bubbles: true }}));
    const lit = [...document.querySelectorAll(".lit")];
    const found = {{
      same: lit.every((item) => item.dataset.at.split(" ").includes(at)),
      boxes: lit.filter((i) => shown(i) && i.matches(".box")).map((i) => i.querySelector(".title").textContent),
      frames: lit.filter((i) => shown(i) && i.matches(".frame")).length,
      code: lit.filter((i) => shown(i) && i.closest("#code")).length,
      color: getComputedStyle(line).backgroundColor,
    }};
    document.body.dispatchEvent(new MouseEvent("mouseover", {{ bubbles: true }}));
    found.after = document.querySelectorAll(".lit").length;
    return found;
    """
    found = run_in_browser(page, script, tmp_path)
    assert found["same"] and found["after"] == 0
    assert {"matmul", "tanh"} <= set(found["boxes"])
    assert found["frames"] == 2  # the line, and its derivative
    assert found["code"] >= 1
    assert found["color"] == "rgb(255, 243, 176)"


@needs_browser
def test_a_click_pins_and_a_second_one_lets_go(page, tmp_path):
    script = f"""
    const count = () => document.querySelectorAll(".lit").length;
    const fire = (item, kind) => item.dispatchEvent(new MouseEvent(kind, {{ bubbles: true }}));
    const line = document.querySelector('#user .ln[data-at="programs.py:{LINE + 3}"]');
    fire(line, "click");
    fire(document.body, "mouseover");
    const pinned = count();
    fire(line, "click");
    fire(document.body, "mouseover");
    return [pinned > 0, count()];
    """
    assert run_in_browser(page, script, tmp_path) == [True, 0]


@needs_browser
def test_the_slider_goes_through_the_passes(page, tmp_path):
    script = """
    const slider = document.getElementById("slider");
    const shown = (selector) => [...document.querySelectorAll(selector)].filter((i) => i.getClientRects().length);
    const steps = [];
    for (let k = 0; k <= Number(slider.max); k++) {
      slider.value = k;
      slider.dispatchEvent(new Event("input"));
      document.querySelector('[data-shows="picture"]').click();
      const name = document.getElementById("stage").textContent;
      const boxes = shown(".box").length, pictures = shown(".picture").length;
      const code = shown("#code [data-panel]").map((i) => i.textContent);
      document.querySelector('[data-shows="text"]').click();
      const texts = shown('[data-view="text"] [data-panel]').length;
      document.querySelector('[data-shows="changes"]').click();
      steps.push([name, boxes, pictures, code.length, code[0].includes("def "), texts, shown("[data-diff]").length]);
    }
    return steps;
    """
    steps = run_in_browser(page, script, tmp_path)
    assert [s[0] for s in steps] == ["forward", "gradient", *[p.name for p in PIPELINE]]
    assert all(s[2:6] == [1, 1, True, 1] for s in steps)
    assert (
        steps[0][1] < steps[1][1] and steps[-1][1] < steps[1][1]
    )  # the gradient has more boxes, the passes take some away
    assert [s[6] for s in steps] == [0, *[1] * (len(steps) - 1)]


@needs_browser
def test_three_panes_fit_the_window_and_scroll_by_themselves(page, tmp_path):
    script = """
    const box = (selector) => document.querySelector(selector).getBoundingClientRect();
    const [user, code, main] = [box("#user"), box("#code"), box("main")];
    const over = document.body.scrollWidth > innerWidth;
    return { order: user.right <= code.left, inside: main.bottom <= innerHeight + 1, over };
    """
    found = run_in_browser(page, script, tmp_path)
    assert found["order"] and found["inside"] and not found["over"]
