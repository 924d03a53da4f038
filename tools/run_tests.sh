#!/bin/bash
# Run the tests: tools/run_tests.sh quick|long|all [PYTEST_ARGS...]
# "quick" runs the tests that are not slow, sampled ones with their first parameters; "long" runs the others that are not
# heavy. All cores are used if pytest-xdist is installed; with PYTEST_ARGS, or on one core, one process runs the tests.
# If numba can build the checked library, "all" first runs the tests of the kernels on it, and "long" each of these that
# is not heavy with its first parameters.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

suite=$1
shift
# Without kept byte code each worker, and each command that a test runs, compiles all modules again.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX=$PWD/build/pycache
if [ "${SSIK_ROS_CLOCK_FACTOR:-1}" != 1 ]; then
  # Budgets and timeouts end sooner, as on a slower machine.
  mkdir -p build
  cc -O2 -shared -fPIC -o build/fast_clock.so tools/fast_clock.c -ldl -pthread
  export LD_PRELOAD=$PWD/build/fast_clock.so
fi
checked=(test/kernels test/closed_form test/search test/tasks test/mechanisms)
[ "$suite" = all ] || checked+=(--first-parameters)
options=() part=()
if [ "$#" -eq 0 ]; then
  [ "$suite" = all ] || part=(--part "$suite")
  if [ "$(nproc)" -gt 1 ] && python -c 'import xdist' 2> /dev/null; then
    # By files: fixtures of a module are made once, and tests of one file never run side by side.
    options+=(-n "$(nproc)" --dist loadfile)
  fi
  if [ "$suite" != quick ] && python -c 'import numba' 2> /dev/null; then
    python tools/build_native.py --checked
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    # Where memory was overwritten, the other tests would mean nothing: a failure ends the run.
    SSIK_ROS_TARGET=checked python -m pytest "${options[@]}" -m 'not slow' "${checked[@]}" | tee "$log"
    SSIK_ROS_CHECKED_SUMMARY=$(tail -n 1 "$log" | sed -E 's/^=+ | =+$//g')
    export SSIK_ROS_CHECKED_SUMMARY
  fi
fi
python -m pytest "${options[@]}" "${part[@]}" "$@"
