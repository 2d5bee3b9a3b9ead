"""Ship a gradient: write it as a module that needs NumPy alone, and use that where tapec is not installed.

python examples/export_gradient.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import tapec

SCALES = np.array([1.0, 10.0, 100.0])


@tapec.value_and_grad
def loss(w, x, y):
    """Mean square error of a model whose inputs are scaled first."""
    return np.mean((np.tanh((x / SCALES) @ w) - y) ** 2)


loss.example_args = (np.ones(3), np.ones((4, 3)), np.zeros(4))

USER = """
import sys
import numpy as np
from loss_gradient import loss_value_and_grad

value, gradient = loss_value_and_grad(np.ones(3), np.ones((4, 3)), np.zeros(4))
print("without tapec:", value, gradient, "tapec" in sys.modules)
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "loss_gradient.py"
        loss.export(path, *loss.example_args)
        print(path.read_text())
        sys.stdout.flush()
        subprocess.run([sys.executable, "-c", USER], cwd=folder, check=True)
    value, gradient = loss(*loss.example_args)
    print("with tapec:   ", value, gradient)


if __name__ == "__main__":
    main()
