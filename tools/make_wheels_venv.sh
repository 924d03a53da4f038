#!/bin/bash
# Create or refresh .venv-wheels, which links, audits and packs the distributions: tools/make_wheels_venv.sh PYTHON
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
[ -d .venv-wheels ] || "$1" -m venv --prompt ssik_wheels .venv-wheels
echo "wheels: installing the linker and the auditors into .venv-wheels"
.venv-wheels/bin/python -m pip install --quiet --progress-bar off -r requirements/wheels.txt
