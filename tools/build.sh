#!/bin/bash
# Build into install/, as colcon users do:
#   tools/build.sh interfaces   the interface packages that are needed and not there
#   tools/build.sh package      this package and, where MoveIt or ros2_control is, the plugins for it
set -euo pipefail
what=$1
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Only the underlay counts here: what install/ already holds is what gets built anew.
# The files that activate reads were not written for nounset.
set +u
SSIK_UNDERLAY_ONLY=1 . ./activate
set -u
# Under make the compilers' make would look for a job server that colcon does not hand on; and by itself colcon starts no
# second job on a machine that is busy, as this one is with the kernels.
unset MFLAGS MAKELEVEL
export MAKEFLAGS="-j$(getconf _NPROCESSORS_ONLN)"

in_underlay() {  # package
  local prefix
  while IFS= read -r -d : prefix; do
    [ -f "$prefix/share/$1/package.xml" ] && [[ $prefix != "$PWD/install"* ]] && return 0
  done <<< "${AMENT_PREFIX_PATH:-}:"
  return 1
}

can_compile() {
  local headers
  headers=$(python -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
  command -v cmake > /dev/null && command -v c++ > /dev/null && [ -f "$headers/Python.h" ]
}

paths=()
options=()
if [ "$what" = package ]; then
  paths=(.)
  # Without MoveIt nothing would use what it builds; the tests of its transport build that by themselves.
  if [ -f moveit_plugin/package.xml ] && in_underlay moveit_core && can_compile; then
    paths+=(moveit_plugin)
  fi
  if [ -f control_plugin/package.xml ] && in_underlay kinematics_interface && can_compile; then
    paths+=(control_plugin)
  fi
elif ! in_underlay rosidl_default_generators; then
  echo "build: no ROS 2 here, leaving out interfaces/" >&2
elif ! can_compile; then
  echo "build: cmake, a C++ compiler or Python.h is missing, leaving out interfaces/" >&2
else
  for folder in interfaces/*/; do
    [ -f "$folder/package.xml" ] || continue
    package=$(basename "$folder")
    if in_underlay "$package"; then
      # Built here before the real package was installed, it would go on hiding that one.
      rm -rf "install/$package" "build/$package"
    else
      paths+=("${folder%/}")
    fi
  done
fi
[ "${#paths[@]}" -gt 0 ] || exit 0

# The wheels serve Python alone; a ROS installation may have programs in C++ that want the interfaces.
if [ -f "$VIRTUAL_ENV/ros_library_path" ]; then
  options=("-DCMAKE_PROJECT_INCLUDE=$PWD/tools/interfaces_for_python.cmake")
fi

python -m colcon build --base-paths "${paths[@]}" --symlink-install \
  --cmake-args -DBUILD_TESTING=OFF -DCMAKE_BUILD_TYPE=Release \
  "-DPython3_EXECUTABLE=$VIRTUAL_ENV/bin/python" "${options[@]}"
