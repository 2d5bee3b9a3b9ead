"""Who may import whom: the layers of pyproject.toml, one module for astor, no optional package before it is needed."""

import ast
import subprocess
import sys
from pathlib import Path

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

import tapec

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tapec"
LAZY = {"optree", "scipy", "graphviz", "matplotlib", "sklearn"}
OPTIONAL_PACKAGES = {"scipy"}

IMPORT_ONE_BY_ONE = """
import importlib, sys

lazy, names = eval(sys.argv[1])
for name in names:
    importlib.import_module(name)
    if loaded := sorted(lazy & set(sys.modules)):
        sys.exit(f"importing {name} imports {', '.join(loaded)}")
"""


def imported_packages(path: Path) -> set[str]:
    """Top-level names of every absolute import in a file, inside functions too."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    from_ = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0}
    return {name.partition(".")[0] for name in plain | from_}


def core_modules() -> list[str]:
    """Names of all modules but `__main__` and the packages that an optional package is for."""
    paths = [path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py") if path.stem != "__main__"]
    core = [path.parts for path in paths if path.parts[0] not in OPTIONAL_PACKAGES]
    return sorted({".".join(("tapec", *parts)).removesuffix(".__init__") for parts in core})


def test_contracts_hold(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    status = lint_imports(config_filename="pyproject.toml", no_cache=True, no_logo=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_one_module_of_emission_imports_astor():
    users = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if "astor" in imported_packages(path)]
    assert len(users) <= 1 and all(path.parts[0] == "codegen" for path in users), users


def test_named_tuples_are_those_that_are_quickly_made():
    for path in PACKAGE.rglob("*.py"):
        nodes = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
        assert not any(n.module == "typing" and "NamedTuple" in [a.name for a in n.names] for n in nodes), path


def test_importing_every_module_loads_no_optional_package():
    command = [sys.executable, "-c", IMPORT_ONE_BY_ONE, repr((LAZY, core_modules()))]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_rooms_for_others_are_found_as_attributes():
    """In a process where nobody has imported them."""
    code = "import tapec; tapec.compat.tensorflow.constant(3.0); tapec.scipy.special.logsumexp"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_a_first_call_imports_what_it_needs_alone():
    """Tapes do without what traces functions; small arrays, too, without code on floats, if that would not pay."""
    code = """if True:
        import sys
        import numpy as np
        import tapec

        w, x = tapec.Variable(np.ones((8, 4))), np.ones((16, 8))
        with tapec.GradientTape() as tape:
            loss = np.mean(np.tanh(x @ w) ** 2)
        tape.gradient(loss, w)
        functions = {"tapec.trace.capture.captures", "tapec.api.compiled.programs.path_set"}
        assert not {*functions, "tapec.codegen.floats.float_function"} & set(sys.modules)
        masked, labels = "numpy.ma" in sys.modules, np.arange(16) % 8
        tapec.grad(lambda x: np.sum(x[np.arange(16), labels] ** 2))(x)
        assert ("numpy.ma" in sys.modules) == masked
    """
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_a_traced_function_imports_what_it_needs_alone():
    """Small programs do without what stands behind the gates, and without random generators."""
    code = """if True:
        import sys
        import numpy as np
        import tapec

        random = {"numpy.random", "random"} - set(sys.modules)
        tapec.grad(lambda w, x: np.mean(np.tanh(x @ w) ** 2))(np.ones((8, 4)), np.ones((16, 8)))
        rare = {"tapec.codegen.floats.float_function", "tapec.codegen.floats.loop_bodies", "heapq"}
        rare |= {"tapec.api.compiled.exporting.export", "tapec.api.compiled.explain"}
        rare |= {"tapec.autodiff.jacobian.jacobian_graph", "tapec.runtime.observed.compilation"}
        rare |= {"tapec.api.tape.tape_jacobian", "tapec.report.notebook"}
        tapec.grad(lambda x: x * x)(np.float64(3.0))
        print(sorted((rare | random) & set(sys.modules)))
    """
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.stdout == "[]\n", run.stdout + run.stderr


def test_math_is_used_without_scipy():
    """Only `math.erf` and a few others are computed by SciPy, whose import takes a quarter of a second."""
    code = """if True:
        import math, sys
        import tapec

        tapec.grad(lambda x: x * math.log(x) + math.pi)(2.0)
        assert "scipy" not in sys.modules
        tapec.grad(lambda x: math.erf(x))(2.0)
        assert "scipy" in sys.modules
    """
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_dir_has_what_people_may_use_once():
    names = [name for name in dir(tapec) if not name.startswith("__")]
    assert len(names) == len(set(names)) and set(tapec.__all__) < set(names)
    assert {"TYPE_CHECKING", "import_module"}.isdisjoint(names)
