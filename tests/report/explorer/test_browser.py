"""The page in a real browser: pointing, steps, keys, search, copying, two settings, a phone."""

import numpy as np
import pytest

import tapec
from tapec.report.explorer.page import Explored, explore_page
from tapec.runtime.compile import CompiledGraph, Options
from tests.report.browser import needs_browser, run_in_browser
from tests.report.explorer.test_page import page_of
from tests.report.programs import SHAPES, gradient_graph, loss, loss_graph

pytestmark = needs_browser

LINE = loss.__code__.co_firstlineno
HELP = """
const all = (selector) => [...document.querySelectorAll(selector)];
const shown = (selector) => all(selector).filter((item) => item.getClientRects().length > 0);
const fire = (item, kind) => item.dispatchEvent(new MouseEvent(kind, { bubbles: true }));
const key = (name, target = document.body) =>
  target.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
const line = (n) => document.querySelector(`#user .ln[data-at="programs.py:${n}"]`);
const current = () => document.querySelector("#steps [aria-current]").textContent;
"""


@pytest.fixture(scope="module")
def page() -> str:
    rng = np.random.default_rng(0)
    return page_of(loss_graph(), gradient_graph(), [rng.normal(size=shape) for shape in SHAPES.values()])


def test_pointing_at_a_line_lights_up_what_it_became(page, tmp_path):
    script = f"""{HELP}
    const at = "programs.py:{LINE + 1}";
    fire(line({LINE + 1}), "mouseover");
    const lit = all(".lit");
    const found = {{
      same: lit.every((item) => item.dataset.at.split(" ").includes(at)),
      boxes: lit.filter((i) => i.matches(".box")).map((i) => i.querySelector(".title").textContent),
      frames: shown(".frame.lit").length,
      code: shown("#code .ln.lit").length,
      color: getComputedStyle(line({LINE + 1})).backgroundColor,
      status: document.getElementById("status").textContent,
    }};
    fire(document.body, "mouseover");
    found.after = all(".lit").length;
    return found;
    """
    found = run_in_browser(page, script, tmp_path)
    assert found["same"] and found["after"] == 0
    assert {"matmul", "tanh"} <= set(found["boxes"])
    assert found["frames"] == 2  # the line, and its derivative
    assert found["code"] >= 1
    assert found["color"] == "rgb(255, 242, 191)"
    assert f"programs.py:{LINE + 1}" in found["status"] and "generated line" in found["status"]


def test_every_line_of_the_function_lights_code(page, tmp_path):
    script = f"""{HELP}
    return all("#user .ln[data-at], #user .ln[data-lights]").map((item) => {{
      fire(item, "mouseover");
      return shown("#code .ln.lit").length;
    }});
    """
    counts = run_in_browser(page, script, tmp_path)
    assert len(counts) == 6 and all(counts)


def test_a_click_pins_and_a_second_one_lets_go_and_keys_go_from_line_to_line(page, tmp_path):
    script = f"""{HELP}
    const count = () => all(".lit").length;
    fire(line({LINE + 3}), "click");
    fire(document.body, "mouseover");
    const pinned = count();
    fire(line({LINE + 3}), "click");
    fire(document.body, "mouseover");
    const gone = count();
    key("ArrowDown"); key("ArrowDown");
    const second = shown("#user .ln.lit").map((item) => item.dataset.at);
    key("Escape");
    return [pinned > 0, gone, second, count()];
    """
    assert run_in_browser(page, script, tmp_path) == [True, 0, [f"programs.py:{LINE + 1}"], 0]


def test_arrows_go_through_the_steps_and_digits_through_the_views(page, tmp_path):
    script = f"""{HELP}
    const steps = [];
    const max = Number(document.getElementById("slider").max);
    for (let k = 0; k < max; k++) key("ArrowLeft");
    for (let k = 0; k <= max; k++) {{
      key("1");
      const found = [current(), shown(".box").length, shown(".picture").length];
      const code = shown("#code [data-panel]").map((i) => i.textContent);
      key("2");
      const texts = shown('[data-view="text"] [data-panel]').length;
      key("3");
      const changes = shown('[data-view="changes"] [data-panel]').length;
      key("4");
      steps.push([...found, code.length, code[0].includes("def "), texts, changes, shown(".passes").length]);
      key("ArrowRight");
    }}
    return steps;
    """
    steps = run_in_browser(page, script, tmp_path)
    assert [steps[0][0], steps[1][0], steps[-1][0]] == ["forward", "gradient", "code"]
    assert all(s[2:] == [1, 1, True, 1, 1, 1] for s in steps)
    assert steps[0][1] < steps[1][1] and steps[-1][1] < steps[1][1]  # passes take boxes away


def test_search_zoom_tooltip_copy_and_colours(page, tmp_path):
    script = f"""{HELP}
    const found = {{}};
    const search = document.getElementById("search");
    search.value = "tanh";
    search.dispatchEvent(new Event("input"));
    found.hits = [document.getElementById("hits").textContent, shown(".hit").length];
    key("Enter", search);
    found.place = document.getElementById("hits").textContent;
    const width = () => shown(".picture svg")[0].getBoundingClientRect().width;
    const before = width();
    key("+"); key("+");
    found.grown = width() / before;
    key("0");
    found.fits = Math.abs(width() - before) < 1;
    const box = shown(".box.forward").find((item) => item.textContent.startsWith("tanh"));
    fire(box, "mouseover");
    found.tip = document.getElementById("tip").textContent;
    fire(document.body, "mouseover");
    found.tipGone = document.getElementById("tip").hidden;
    const paper = () => getComputedStyle(document.body).backgroundColor;
    found.light = paper();
    key("d");
    found.dark = paper();
    let copied;
    Object.defineProperty(navigator, "clipboard", {{ value: {{ writeText: (text) => {{ copied = text; }} }} }});
    document.querySelector('[data-copy="code"]').click();
    found.copied = copied;
    return found;
    """
    found = run_in_browser(page, script, tmp_path)
    assert int(found["hits"][0]) == found["hits"][1] > 3 and found["place"].startswith("1 of ")
    assert found["grown"] == pytest.approx(1.25**2, rel=0.01) and found["fits"]
    assert "∂y/∂x = 1 - y * y" in found["tip"] and "np.tanh" in found["tip"] and found["tipGone"]
    assert found["light"] == "rgb(255, 255, 255)" and found["dark"] == "rgb(18, 22, 29)"
    code = CompiledGraph(gradient_graph(), Options("loss_grad"), loss_graph()).code.source
    assert found["copied"] == code


def test_panes_fit_the_window_and_their_widths_can_be_changed(page, tmp_path):
    script = f"""{HELP}
    const box = (selector) => document.querySelector(selector).getBoundingClientRect();
    const [user, code, main] = [box("#user"), box("#code"), box("main")];
    const gutter = document.querySelector(".gutter");
    for (let k = 0; k < 3; k++) key("ArrowRight", gutter);
    return {{
      order: user.right <= code.left, inside: main.bottom <= innerHeight + 1,
      over: document.body.scrollWidth > innerWidth,
      wider: box("#user").width - user.width, same: box("#code").width - code.width,
    }};
    """
    found = run_in_browser(page, script, tmp_path)
    assert found["order"] and found["inside"] and not found["over"]
    assert found["wider"] == pytest.approx(90, abs=2) and found["same"] == pytest.approx(0, abs=2)


def test_a_phone_shows_one_pane_at_a_time(page, tmp_path):
    script = f"""{HELP}
    const panes = () => shown("main > section").map((section) => section.dataset.pane);
    const found = [panes(), document.documentElement.scrollWidth <= innerWidth];
    fire(line({LINE + 1}), "click");
    found.push(/box.* and .*generated line/.test(document.getElementById("status").textContent));
    document.querySelector('[data-to="code"]').click();
    found.push(panes(), shown("#code .ln.lit").length > 0, document.documentElement.scrollWidth <= innerWidth);
    return found;
    """
    assert run_in_browser(page, script, tmp_path, "390,800") == [["user"], True, True, ["code"], True, True]


def test_the_code_of_other_settings_stands_beside(tmp_path):
    with tapec.settings(optimize=False):
        plain = CompiledGraph(gradient_graph(), Options("loss_grad"), loss_graph())
        other = Explored("optimize=False", loss_graph(), plain)
        lean = CompiledGraph(gradient_graph(), Options("loss_grad"), loss_graph())
    page = explore_page("loss", [Explored("these settings", loss_graph(), lean), other])
    script = f"""{HELP}
    const right = document.getElementById("right");
    right.value = "1";
    right.dispatchEvent(new Event("change"));
    fire(line({LINE + 1}), "mouseover");
    const name = document.getElementById("beside-name").textContent;
    const found = [shown("#beside .ln").length > 5, shown("#beside .ln.lit").length > 0, name];
    right.value = "";
    right.dispatchEvent(new Event("change"));
    return [...found, shown("#beside").length];
    """
    assert run_in_browser(page, script, tmp_path) == [True, True, "optimize=False", 0]
