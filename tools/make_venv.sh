#!/bin/bash
# Create or refresh .venv: tools/make_venv.sh PYTHON FLAVOUR
# FLAVOUR is the name of a sourced ROS distribution, or "wheels" where there is none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=$1
flavour=$2
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

fail() {
  echo "setup: $*" >&2
  exit 1
}

"$python" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' ||
  fail "$python is not a Python 3.10 to 3.14; name one with PYTHON=python3.12"
# From an activated shell PYTHON may be the .venv that is about to go.
python=$("$python" -c 'import sys; print(sys._base_executable)')

# A venv of another flavour sees other packages: start again, with what was built against it.
if [ -d .venv ] && [ "$(cat .venv/flavour 2> /dev/null)" != "$flavour" ]; then
  rm -rf .venv build install log
fi
if [ ! -d .venv ]; then
  options=(--prompt ssik_ros)
  [ "$flavour" = wheels ] || options+=(--system-site-packages)
  "$python" -m venv "${options[@]}" .venv ||
    { rm -rf .venv; fail "no venv from $python; Debian and Ubuntu have it in python3-venv"; }
  echo "$flavour" > .venv/flavour
fi
pip=(.venv/bin/python -m pip install --quiet --progress-bar off)

core=requirements/core.txt
if [ "$flavour" != wheels ]; then
  # The messages of ROS are compiled against the machine's numpy: pip must not put a newer one before it.
  .venv/bin/python -c 'import numpy; print(f"numpy=={numpy.__version__}")' > .venv/machine.txt 2> /dev/null || true
  pip+=(--constraint .venv/machine.txt)
  # ROS packages pinocchio under a name that pip does not know: two copies would clash.
  .venv/bin/python -c 'import pinocchio' 2> /dev/null || "${pip[@]}" --no-deps -r requirements/pinocchio.txt
  core=.venv/core-without-pin.txt
  grep -v '^pin\b' requirements/core.txt > "$core"
fi
echo "setup: installing the dependencies into .venv"
"${pip[@]}" -r "$core" -r requirements/native.txt -r requirements/dev.txt -r requirements/build.txt \
  -r requirements/view.txt -r requirements/xacro.txt
# Without these, as on Python 3.10, reach maps and data sets cannot be made.
"${pip[@]}" -r requirements/reach.txt ||
  echo "setup: no packages for reach maps and data sets (requirements/reach.txt); going on without them" >&2

if [ "$flavour" != wheels ]; then
  .venv/bin/python -c 'import rclpy' 2> /dev/null ||
    echo "setup: ROS_DISTRO is $flavour, yet $python cannot import rclpy; see PYTHON in the Makefile" >&2
  exit 0
fi

# The wheels exist for some Pythons and platforms only. One small wheel tells for all of them.
probe=$(grep '^ros-std-msgs' requirements/ros.txt)
if answer=$(.venv/bin/python -m pip download --quiet --no-deps --only-binary :all: \
  --dest .venv/probe "$probe" 2>&1); then
  echo "setup: installing the ROS 2 wheels into .venv"
  "${pip[@]}" -r requirements/ros.txt
  .venv/bin/python tools/mend_ros_wheels.py
elif [[ $answer == *"No matching distribution"* ]]; then
  echo "setup: no ROS 2 wheels for this Python or platform; going on without ROS" >&2
else
  fail "$answer"
fi
rm -rf .venv/probe
