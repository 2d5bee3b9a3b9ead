"""Try an installed tapec as a new user would, in a process whose current folder has no checkout.

python smoke.py VERSION     the environment has the wheel and what it depends on, and nothing else
"""

import importlib.metadata
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import tapec

MODEL = """
import numpy as np


def loss(w, x, y):
    return np.mean((np.tanh(x @ w) - y) ** 2)


loss.example_args = (np.ones(3), np.ones((4, 3)), np.zeros(4))
"""


def run(*words: str, code: int = 0) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def installed_alone(version: str) -> None:
    assert "site-packages" in tapec.__file__, tapec.__file__
    assert tapec.__version__ == importlib.metadata.version("tapec") == version
    assert (Path(tapec.__file__).parent / "py.typed").exists()
    assert not [name for name in ("scipy", "optree", "matplotlib") if importlib.util.find_spec(name)]


def gradients() -> None:
    w = np.array([0.1, -0.2, 0.3])
    assert np.allclose(tapec.grad(lambda w: np.sum(np.sin(w) ** 2))(w), np.sin(2 * w))
    assert np.allclose(tapec.hessian(lambda w: np.sum(w**3))(w), np.diag(6 * w))
    v = tapec.Variable(w)
    with tapec.GradientTape() as tape:
        loss = np.sum(v * v)
    assert np.allclose(tape.gradient(loss, v), 2 * w)
    tapec.check_grads(lambda w: np.sum(np.exp(w)), (w,))


def commands(folder: Path) -> None:
    tool, model = str(Path(sys.executable).parent / "tapec"), folder / "model.py"
    model.write_text(MODEL)
    target = f"{model}:loss"
    assert "def loss_grad" in run(tool, "source", target)
    assert "complex step" in run(tool, "check", target)
    run(tool, "export", target, "-o", str(folder / "made.py"))
    run(
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {str(folder)!r}); import made; assert 'tapec' not in sys.modules",
    )
    run(tool, "explore", target, "--no-times", "-o", str(folder / "explore.html"))
    run(tool, "graph", target, "-o", str(folder / "graph.svg"))
    assert "pip install tapec[scipy]" in run(tool, "support", "erf", code=2)
    assert run(tool, "--version") == run(sys.executable, "-m", "tapec", "--version") == f"tapec {tapec.__version__}\n"


if __name__ == "__main__":
    installed_alone(sys.argv[1])
    gradients()
    with tempfile.TemporaryDirectory() as folder:
        commands(Path(folder))
    print(f"tapec {tapec.__version__} works on Python {sys.version.split()[0]} with NumPy {np.__version__} alone")
