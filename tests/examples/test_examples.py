"""Every example runs without a window, ends well, says what it should, and shows its gradient on the command line.

None is skipped: what they need (scikit-learn, SciPy, matplotlib) comes with the extra `test`.
"""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tapec.cli import main
from tapec.ir import OPS

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
HELPERS = {"picture"}
NAMES = sorted(p.stem for p in EXAMPLES.glob("*.py") if p.stem not in HELPERS)

# what each must print, besides ending well
SAYS = {
    "adaptive_integrator": r"mu 2\.0 +x\(1\) = (0\.\d+) +dx/dmu = (-0\.\d{5})\d +measured \2",
    "bundle_adjustment": r"found: pixels missed by 0\.000\d+",
    "custom_op": r"agree with differences",
    "density_flow": r"likelihood (0\.[89]|1\.0)\d+; probability in the picture (1\.0|0\.9[89])",
    "custom_pass": r"rules fired: small-cosine, small-sine[\s\S]*gradients differ by \d\.\de-0[5-7]",
    "export_gradient": r"without tapec: (\S+) (\[.*\]) False\nwith tapec: +\1 \2",
    "gaussian_process": r"noise 0\.2\d",
    "heat_pinn": r"largest error at t = 0\.7: \d\.\de-0[3-9]",
    "image_alignment": r"found \[ 0\.35 -0\.15  4\.   -3\.  \]",
    "implicit_layer": r"slope is (-?\d+\.\d{6})\d*; differences say \1",
    "linear_regression": r"w = \[ 0\.99 -2\.01  0\.51\]  b = 3\.0[\s\S]*served every step: True",
    "logistic_regression": r"accuracy 0\.8\d",
    "mlp_digits": r"epoch 15 +loss \S+ +right on unseen digits 9[6-9]\.\d%",
    "ode_fit": r"loss 0\.00[12]\d+",
    "pendulum_hmc": r"length +1\.2[5-9]\d|length +1\.3[0-4]\d",
    "pde_conductivity": r"conducts worst, 0\.[23]\d, at \(0\.3\d, 0\.(57|62)\)",
    "rnn_wave": r"loss 0\.00\d+; error of twenty values that it continued: 0\.0\d+",
    "robust_curve_fit": r"robust .* error of the curve 0\.0\d+",
    "slingshot": r"misses by \d\.\de-0[5-9]",
    "survival": r"treatment +0\.[45]\d ± 0\.1\d",
    "tape_training": r"step 599  loss 0\.0[01]\d+",
}


def test_every_example_is_told_what_to_say():
    assert sorted(SAYS) == NAMES


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", NAMES)
def test_example_runs(name, tmp_path):
    run = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::RuntimeWarning", str(EXAMPLES / f"{name}.py")],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg", "DISPLAY": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert re.search(SAYS[name], run.stdout), run.stdout
    pictures = {p.name for p in tmp_path.iterdir()}
    assert pictures == ({f"{name}.png"} if f"{name}.png" in run.stdout else set())


@pytest.mark.parametrize("name", NAMES)
def test_example_says_what_it_is_and_how_to_run_it(name):
    text = (EXAMPLES / f"{name}.py").read_text()
    doc = ast.get_docstring(ast.parse(text))
    assert f"python examples/{name}.py" in doc
    assert len(text.splitlines()) <= 90


@pytest.mark.parametrize("name", NAMES)
def test_functions_with_example_args_show_their_gradient(name, capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path[:])
    path = EXAMPLES / f"{name}.py"
    for function in re.findall(r"^(\w+)\.example_args = ", path.read_text(), re.MULTILINE):
        assert main(["source", f"{path}:{function}"]) == 0
        assert re.search(rf"^def {function}", capsys.readouterr().out, re.MULTILINE)
    sys.modules.pop(name, None)
    OPS.pop("log_cosh", None)  # which the example of an op defines
