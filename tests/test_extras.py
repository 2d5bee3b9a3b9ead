"""Where an optional package is needed and is not there, the error says how to install it."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tapec.extras import EXTRAS, install_hint, is_missing, needs

ROOT = Path(__file__).resolve().parent.parent

# None in sys.modules is a module that cannot be imported
WITHOUT_SCIPY = "import sys; sys.modules['scipy'] = None; import numpy as np, tapec\n"
SCIPY_NEEDED = {
    "tapec.scipy.special": "tapec.scipy",
    "from tapec.scipy import stats": "tapec.scipy",
    "tapec.sparsity(lambda x: x * x)(np.ones(3))": "sparsity",
    "tapec.jacobian(lambda x: x * x, sparse=True)(np.ones(3))": "sparsity",
    "tapec.compat.tensorflow.math.erf(tapec.constant(1.0))": "tf.math.erf",
    "tapec.ir.op.get_op('scipy.special.erf')": "scipy.special.erf",
}


def run(code: str, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1"},
    )


@pytest.mark.parametrize("code", SCIPY_NEEDED)
def test_scipy_is_asked_for_by_the_name_of_its_extra(code):
    told = f"{SCIPY_NEEDED[code]} needs SciPy, which is not installed: pip install tapec[scipy]"
    assert run(WITHOUT_SCIPY + code).stderr.rstrip().endswith(f"ModuleNotFoundError: {told}")


def test_functions_of_math_that_scipy_has():
    code = WITHOUT_SCIPY + "import math; tapec.grad(lambda x: math.erf(x))(0.5)"
    assert "Fix: scipy.special.erf (pip install tapec[scipy]) works on tensors" in run(code).stderr


def test_the_support_table_without_scipy():
    code = WITHOUT_SCIPY + "from tapec.cli import main; sys.exit(main(sys.argv[1:]))"
    found = run(code, "support", "erf")
    assert found.returncode == 2
    assert found.stderr == (
        "tapec support: no public function of NumPy is called erf, and SciPy is not installed: "
        "pip install tapec[scipy]\n"
    )
    found = run(code, "support", "einsum")
    assert found.returncode == 0 and "SciPy is not installed, so its functions are not listed" in found.stdout


def test_commands_say_what_an_op_of_scipys_needs(tmp_path):
    graph = tmp_path / "f.ir"
    graph.write_text("graph f(%x: f64[2,2]) {\n  %0: f64[2,2] = scipy.linalg.expm %x\n  return %0\n}")
    code = WITHOUT_SCIPY + "from tapec.cli import main; sys.exit(main(sys.argv[1:]))"
    found = run(code, "source", str(graph))
    assert found.returncode == 2 and found.stderr.rstrip().endswith("(pip install tapec[scipy])")


def test_other_errors_pass():
    with pytest.raises(ModuleNotFoundError, match="No module named 'tapec_nothing'"), needs("scipy", "this"):
        import tapec_nothing  # noqa: F401
    with pytest.raises(ValueError, match="mine"), needs("scipy", "this"):
        raise ValueError("mine")


def test_the_extras_are_those_of_the_package():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(EXTRAS) <= set(declared)
    assert not is_missing("pytest") and is_missing("tapec_nothing")
    assert install_hint("scipy") == "pip install tapec[scipy]"
