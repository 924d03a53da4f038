#!/bin/bash
# Run the tests: tools/run_tests.sh quick|all [PYTEST_ARGS...]
# "quick" leaves out what is marked slow. On all cores where pytest-xdist is installed; a choice, or a machine with one
# core, in one process.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

suite=$1
shift
options=()
if [ "$#" -eq 0 ]; then
  [ "$suite" = all ] || options+=(-m 'not slow')
  if [ "$(nproc)" -gt 1 ] && python -c 'import xdist' 2> /dev/null; then
    # By files: fixtures of a module are made once, and tests of one file never run side by side.
    options+=(-n "$(nproc)" --dist loadfile)
  fi
fi
exec python -m pytest "${options[@]}" "$@"
