#!/bin/bash
# Run the tests: tools/run_tests.sh [PYTEST_ARGS...]
# All of them on all cores where pytest-xdist is installed; a choice, or a machine with one core, in one process.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

workers=()
if [ "$#" -eq 0 ] && [ "$(nproc)" -gt 1 ] && python -c 'import xdist' 2> /dev/null; then
  # By files: fixtures of a module are made once, and tests of one file never run side by side.
  workers=(-n "$(nproc)" --dist loadfile)
fi
exec python -m pytest "${workers[@]}" "$@"
