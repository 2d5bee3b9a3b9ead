// The page "Try it here": sends code to the worker that runs Python, and shows what it answers.
(() => {
  const place = (name) => document.getElementById(`live-${name}`);
  const [code, start, examples, state, answer] = ["code", "start", "examples", "state", "answer"].map(place);
  const LIMIT = 30000; // milliseconds that one piece of code may take

  const EXAMPLES = {
    "a loss": code.value,
    "a branch": `import numpy as np


def huber(r):
    if abs(r) < 1.0:
        return 0.5 * r * r
    return abs(r) - 0.5


args = (0.3,)
`,
    "a loop": `import numpy as np


def logistic_map(r):
    x = 0.3
    for _ in range(50):
        x = r * x * (1 - x)
    return x


args = (2.9,)
`,
    "assignment": `import numpy as np


def smooth(x):
    y = np.zeros(5)
    y[0] = x[0]
    for i in range(1, 5):
        y[i] = 0.5 * y[i - 1] + 0.5 * x[i]
    return np.sum(y**2)


args = (np.array([1.0, 2.0, 3.0, 2.0, 1.0]),)
`,
    "a Jacobian": `import numpy as np


def polar(p):
    r, angle = p
    return np.array([r * np.cos(angle), r * np.sin(angle)])


args = (np.array([2.0, 0.5]),)
`,
  };

  let worker = null, ready = false, timer = null, limit = null, asked = 0;

  function begin() {
    start.disabled = true;
    state.textContent = "Loading Python, NumPy and tapec …";
    worker = new Worker("worker.js", { type: "module" });
    worker.onmessage = ({ data }) => {
      if (data.state) state.textContent = data.state;
      if (data.ready) { ready = true; ask(); }
      if (data.failed) stop(data.failed);
      if (data.number === asked) {
        clearTimeout(limit);
        answer.textContent = data.answer;
        state.textContent = `Done in ${data.milliseconds} ms.`;
      }
    };
    worker.onerror = (event) => stop(`Python could not be started: ${event.message}`);
    worker.postMessage({ pyodide: document.getElementById("live").dataset.pyodide });
  }

  function stop(why) {
    worker.terminate();
    clearTimeout(limit);
    ready = start.disabled = false;
    state.textContent = why;
  }

  function ask() {
    if (!ready) return;
    asked += 1;
    state.textContent = "Running …";
    clearTimeout(limit);
    limit = setTimeout(() => stop("It took longer than 30 seconds, and was stopped. Start Python again."), LIMIT);
    worker.postMessage({ code: code.value, number: asked });
  }

  code.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 500); });
  code.addEventListener("keydown", (event) => {
    if (event.key !== "Tab" || event.shiftKey) return;
    event.preventDefault();
    code.setRangeText("    ", code.selectionStart, code.selectionEnd, "end");
  });
  start.addEventListener("click", begin);
  for (const name of Object.keys(EXAMPLES)) examples.add(new Option(name, name));
  examples.addEventListener("change", () => { code.value = EXAMPLES[examples.value]; ask(); });
})();
