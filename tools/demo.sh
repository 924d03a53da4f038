#!/bin/bash
# Run every benchmark of config/benchmark; the results stay in demo_output/.
# DEMO_SAMPLES=n overrides the sample size of the files.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

output=demo_output
options=(--output "$output")
[ -z "${DEMO_SAMPLES:-}" ] || options+=(--samples "$DEMO_SAMPLES")

ssik bench config/benchmark/*.yaml "${options[@]}"

echo
echo "Results in $output/:"
find "$output" -type f | sort | sed 's/^/  /'
