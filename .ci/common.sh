# What `run` and `nightly` share: where they work, which Pythons there are, and how an environment is made.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

exec </dev/null
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV PYTEST_ADDOPTS
export CI=true PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1   # the processes of pytest share the cores

if [ -z "${CI_WORK:-}" ]; then   # nightly finds the environments of run where run has started it
    CI_WORK=$(mktemp -d)
    export CI_WORK
    trap 'rm -rf "$CI_WORK"' EXIT
fi

step() { printf '\n=== %s (at %d s)\n' "$*" "$SECONDS"; }

# find_python MINOR: the first Python 3.MINOR that runs and can make virtual environments; a shim on PATH may do neither.
find_python() {
    local candidate check="import sys, ensurepip, venv; sys.version_info[:2] == (3, $1) or sys.exit(1); print(sys.executable)"
    local pyenv=${PYENV_ROOT:-${HOME:-/root}/.pyenv}
    for candidate in $(type -ap "python3.$1" python3 || true) "$pyenv"/versions/3."$1".*/bin/python3; do
        if "$candidate" -c "$check" 2>/dev/null; then return; fi
    done
}

# environment NAME PYTHON PACKAGE...: a virtual environment at $CI_WORK/NAME, if there is none yet.
environment() {
    [ -e "$CI_WORK/$1" ] && return
    "$2" -m venv "$CI_WORK/$1"
    "$CI_WORK/$1/bin/python" -m pip install -q "${@:3}"
    "$CI_WORK/$1/bin/python" -c 'import sys; print("Python", sys.version.split()[0], end=" ")'
    "$CI_WORK/$1/bin/python" -m pip list --format=freeze | grep -i '^numpy==' || echo "without NumPy"
}

oldest='' newest='' oldest_numpy='' between=() pythons=()
for version in 11:2.0 12:2.0 13:2.1 14:2.3 15:2.5; do   # and the oldest NumPy that has wheels for it
    found=$(find_python "${version%:*}")
    [ -n "$found" ] || continue
    if [ -z "$oldest" ]; then
        oldest=$found oldest_numpy=${version#*:}
    elif [ "$newest" != "$oldest" ]; then
        between+=("$newest")
    fi
    newest=$found
    pythons+=("$found")
done
if [ -z "$oldest" ]; then echo "no Python from 3.11 to 3.15 that can make virtual environments" >&2; exit 1; fi
