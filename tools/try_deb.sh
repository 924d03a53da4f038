#!/bin/bash
# Build the Debian package of ssik_ros from the release tarball as ROS's build farm does, and solve a pose with it:
# tools/try_deb.sh [DISTRIBUTION]. "make release" writes the tarball and lets bloom write the Debian files.
# The build has no network and no numba. Packages of apt are used alone: debhelper dh-python fakeroot gcc libc6-dev
# python3-all python3-numpy python3-scipy python3-yaml python3-matplotlib python3-rich python3-setuptools python3-pytest
# python3-hypothesis.
# Packages of ROS that the machine lacks are not needed to build this one, which contains compiled kernels.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

distribution=${1:-jazzy}
work=$PWD/build/deb
python=/usr/bin/python3

fail() {
  echo "deb: $*" >&2
  exit 1
}

tarball=$(ls dist/ssik_ros-*-ros.tar.gz 2> /dev/null) || fail 'dist/ has no release tarball. Run "make release" first.'
debian=$PWD/build/release/bloom/packages/$distribution/ssik_ros/debian
[ -d "$debian" ] || fail "there are no Debian files for $distribution. Run \"make release\" first."
isolated=()
if unshare --net true 2> /dev/null; then
  isolated=(unshare --net)
else
  echo 'deb: this user cannot take the network away from the build' >&2
fi
! "$python" -I -c 'import numba' 2> /dev/null || fail "$python has numba, so the build would prove nothing."

rm -rf "$work"
mkdir -p "$work/installed"
tar xf "$tarball" -C "$work"
source=$(echo "$work"/ssik_ros-*-ros)/ssik_ros
cp -r "$debian" "$source/debian"
# An activated environment must not lend its Python, its packages and its ROS to the build.
clean=(env -i HOME="$work" LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin DEB_BUILD_OPTIONS=nocheck)
missing=$(cd "$source" && "${clean[@]}" dpkg-checkbuilddeps 2>&1 | sed 's/.*dependencies: //' | tr ' ' '\n' |
  grep -Ev '^(ros-.*|\(.*|.*\))$' || true)
[ -z "$missing" ] || fail "apt-get install" $missing

began=$SECONDS
(cd "$source" && "${isolated[@]}" "${clean[@]}" dpkg-buildpackage -b -us -uc -d) > "$work/build.log" 2>&1 ||
  { tail -n 40 "$work/build.log" >&2; fail "the build failed; $work/build.log has its output"; }
package=$(ls "$source"/../ros-*.deb | grep -v dbgsym)
echo "deb: $(basename "$package"), $(stat -c %s "$package") B, built in $((SECONDS - began)) s"

dpkg -x "$package" "$work/installed"
site=$(echo "$work/installed/opt/ros/$distribution"/lib/python3*/site-packages)
[ -d "$site/ssik_ros" ] || fail "the package has no ssik_ros in $site"
began=$SECONDS
shown=$(cd "$work" && "${isolated[@]}" "${clean[@]}" PYTHONPATH="$site" \
  AMENT_PREFIX_PATH="$work/installed/opt/ros/$distribution" "$python" -c \
  'import sys; from ssik_ros.cli.command import main; sys.exit(main(sys.argv[1:]))' \
  solve ur5e --xyz 0.4 0.2 0.3 --rpy 3.14 0 0)
echo "$shown" | tail -n 1
[[ $shown == *'solution; the first is off by'* ]] || fail 'the installed package found no solution'
echo "deb: solved in $((SECONDS - began)) s with $("$python" -V) and numpy $("$python" -I -c 'import numpy; print(numpy.__version__)')"
