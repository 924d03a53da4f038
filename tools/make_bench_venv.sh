#!/bin/bash
# Create or refresh .venv-bench, where the peers of the benchmark live: tools/make_bench_venv.sh PYTHON
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
[ -d .venv-bench ] || "$1" -m venv --prompt ssik_bench .venv-bench
echo "bench: installing the peers into .venv-bench"
.venv-bench/bin/python -m pip install --quiet --progress-bar off -r requirements/bench.txt
# Peers that not every machine can have: the rows of a missing one say so.
.venv-bench/bin/python -m pip install --quiet --progress-bar off --only-binary :all: \
  -r requirements/bench_optional.txt || echo 'bench: TRAC-IK has no wheel for this Python'
# PyKDL comes as a package of the system (python3-pykdl, or ROS); a file for another Python is not loaded.
if kdl=$(python3 -c 'import PyKDL; print(PyKDL.__file__)' 2> /dev/null); then
  ln -sf "$kdl" .venv-bench/lib/python3.*/site-packages/
fi
# A JavaScript peer of mechanisms with loops.
if command -v npm > /dev/null; then
  npm install --silent --no-audit --no-fund --no-save --no-package-lock --omit=peer --prefix .venv-bench \
    "$(cat requirements/bench_npm.txt)" || echo 'bench: closed-chain-ik could not be installed'
fi
