#!/bin/bash
# Run every benchmark of config/benchmark, in process and then through the node; the results stay in demo_output/.
# DEMO_SAMPLES=n overrides the sample size: that of the files in process, 200 through the node.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

output=demo_output
patience=90  # seconds to wait for a node that does not show up; while one loads its robot the client goes on waiting
options=(--output "$output")
[ -z "${DEMO_SAMPLES:-}" ] || options+=(--samples "$DEMO_SAMPLES")

children=()
stop_children() {
  [ ${#children[@]} -gt 0 ] || return 0
  kill -TERM "${children[@]}" 2> /dev/null || true
  for _ in {1..50}; do
    kill -0 "${children[@]}" 2> /dev/null || break
    sleep 0.1
  done
  kill -KILL "${children[@]}" 2> /dev/null || true
  wait "${children[@]}" 2> /dev/null || true
  children=()
}
trap stop_children EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Start the node of one robot, let a client call it, and stop it.
ask_node() {  # robot domain
  local robot=$1 folder=$output/service/$1
  export ROS_DOMAIN_ID=$2
  mkdir -p "$folder"
  ik_server --ros-args -p moveit_config_package:="$robot" \
    -p kinematics_file:=pose_ik_kinematics.yaml -p report_times:=true \
    > "$folder/node.log" 2>&1 &
  children+=($!)
  ik_benchmark --ros-args -p config:="$robot" -p samples:="${DEMO_SAMPLES:-200}" \
    -p output_dir:="$folder" -p service_timeout:="$patience.0" -p plots:=false &
  children+=($!)
  # In the background, for a signal is not to wait for the end of a benchmark.
  if ! wait "$!"; then
    echo "The node of $robot did not respond. The end of its log:" >&2
    tail -n 20 "$folder/node.log" >&2
    return 1
  fi
  stop_children
}

ssik bench config/benchmark/*.yaml "${options[@]}"

echo
# A process of its own: outside an activated shell the ROS wheels start the interpreter anew.
if python -c 'import rclpy, moveit_msgs.srv' 2> /dev/null; then
  export ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST
  # A domain for each node, so that no response comes from another one.
  domain=${ROS_DOMAIN_ID:-$((RANDOM % 90 + 1))}
  for config in config/benchmark/*.yaml; do
    robot=$(basename "$config" .yaml)
    echo "Through the node: $robot"
    ask_node "$robot" "$((domain++))"
  done
else
  echo 'The node is left out: there is no rclpy or no moveit_msgs for this Python.'
fi

echo
echo "Results in $output/:"
find "$output" -type f | sort | sed 's/^/  /'
