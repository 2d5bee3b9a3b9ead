"""The pages make a site, which fits a phone."""

import functools
import http.server
import importlib.util
import json
import queue
import re
import shutil
import subprocess
import threading

import pytest

from docs import gallery, notebooks
from docs.build import DOCS, for_site, site, with_edit_links, with_labels
from docs.screenshot import BROWSERS, FLAGS

PHONE = 390  # pixels


def test_every_page_is_in_the_site():
    nav = (DOCS / "mkdocs.yml").read_text()
    assert sorted(re.findall(r"[-:] (\S+\.md)$", nav, re.MULTILINE)) == sorted(
        p.relative_to(DOCS).with_suffix(".md").as_posix() for p in [*DOCS.rglob("*.md"), *notebooks.paths()]
    )


def test_lines_are_numbered_where_outputs_name_them():
    page = "```python\nx = 1\ny = 2\n```\ntext\n```python\nf()\n```\n```text\n{}\n```\n"
    named = for_site(page.format("tour.py:3"), "tour")
    assert '```python title="tour.py" linenums="1"\nx = 1' in named and '```python linenums="3"\nf()' in named
    assert for_site(page.format("3"), "tour") == page.format("3")


def test_a_file_of_a_page_is_shown_with_its_name_and_lines():
    assert for_site("```python\n# file: model.py\nx = 1\n```\n", "tour").startswith(
        '```python title="model.py" linenums="1"\n# file: model.py\n'
    )


def test_generated_code_has_colours():
    assert for_site("```text\n# 2 flop\ndef f(x):\n    return x\n```\n", "tour").startswith("```python\n# 2 flop\n")


def test_blocks_in_lists_keep_their_indentation():
    page = "1. item\n\n    ```python\n    x = 1\n    ```\n    ```text\n    tour.py:1\n    ```\n"
    assert for_site(page, "tour") == page.replace("python", 'python title="tour.py" linenums="1"')


def test_links_to_code_lead_to_the_repository_or_are_plain_text():
    page = "[x.py](../tapec/x.py#L3), [tour](tour.md)"
    assert for_site(page, "a") == "`x.py`, [tour](tour.md)"
    assert for_site(page, "a", "https://x.org/t") == "[x.py](https://x.org/t/blob/main/tapec/x.py#L3), [tour](tour.md)"


def test_links_to_notebooks_lead_to_their_pages():
    assert for_site("[a](notebooks/1-a.ipynb), [b](2-b.ipynb)", "x") == "[a](notebooks/1-a.md), [b](2-b.md)"
    kept = '[file](2-b.ipynb){ download="2-b.ipynb" }'
    assert for_site(kept, "x") == kept


def test_cells_of_wide_tables_are_labelled():
    def table(columns):
        heads = "".join(f"<th><code>h{k}</code></th>" for k in range(columns))
        return f"<table><thead><tr>{heads}</tr></thead><tr>{'<td>x</td>' * columns}</tr></table>"

    assert with_labels(table(5)) == table(5)
    assert '<td data-label="h0">x</td><td data-label="h1">' in with_labels(table(6))


def test_link_to_edit_leads_to_the_notebook():
    assert with_edit_links("edit/main/docs/notebooks/1-a.md") == "edit/main/docs/notebooks/1-a.ipynb"
    assert with_edit_links("edit/main/docs/tour.md") == "edit/main/docs/tour.md"


def test_every_example_that_draws_is_in_the_gallery():
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\(gallery/(\w+)\.png\)", page)) == gallery.names()
    assert all(0 < path.stat().st_size < 60_000 for path in gallery.PICTURES.iterdir())
    assert sorted(p.stem for p in gallery.PICTURES.iterdir()) == gallery.names()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    if importlib.util.find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed (tapec[docs])")  # only it makes the pages
    out = tmp_path_factory.mktemp("site")
    site(out)
    return out


@pytest.mark.thorough
def test_site_builds(built):
    assert (built / "tour" / "index.html").read_text().count("<h2") > 5


CHECK = """<body><script>
const pages = %s, found = {};
async function measure() {
  for (const page of pages) {
    const frame = document.createElement("iframe");
    frame.style.cssText = "width:%dpx;height:800px;border:0";
    await new Promise(done => { frame.onload = done; frame.src = page; document.body.append(frame); });
    const shown = frame.contentDocument;
    const tables = [...shown.querySelectorAll("table")].map(table => table.getBoundingClientRect().width);
    found[page] = Math.ceil(Math.max(shown.documentElement.scrollWidth, ...tables));
    frame.remove();
  }
  await fetch("/found", {method: "POST", body: JSON.stringify(found)});
}
measure();
</script></body>"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site, and takes what the page above has found."""

    found: queue.Queue[dict[str, int]] = queue.Queue()

    def do_POST(self):
        self.found.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *words):
        pass


@pytest.mark.thorough
def test_no_page_and_no_table_is_wider_than_a_phone(built, tmp_path):
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("there is no Chromium or Chrome on PATH")  # how wide a page is, only a browser tells
    pages = sorted("/" + p.relative_to(built).parent.as_posix() + "/" for p in built.rglob("index.html"))
    (built / "check.html").write_text(CHECK % (json.dumps(pages), PHONE))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=built))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/check.html"
    with subprocess.Popen(
        [browser, *FLAGS, f"--user-data-dir={tmp_path}", "--remote-debugging-port=0", url], stderr=subprocess.DEVNULL
    ) as running:
        try:
            found = Handler.found.get(timeout=200)
        finally:
            running.terminate()
            server.shutdown()
            server.server_close()
    assert len(found) == len(pages) > 40
    assert {page: width for page, width in found.items() if width > PHONE} == {}
