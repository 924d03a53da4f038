#!/bin/bash
# Create or refresh .venv-bench, where the peers of the benchmark live: tools/make_bench_venv.sh PYTHON
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
[ -d .venv-bench ] || "$1" -m venv --prompt ssik_bench .venv-bench
echo "bench: installing the peers into .venv-bench"
.venv-bench/bin/python -m pip install --quiet --progress-bar off -r requirements/bench.txt
