#!/bin/bash
# Fuzz every reader for some minutes: fuzz/python/run.sh MINUTES [NAME...]. What is found lies in build/fuzz/python.
set -eu
cd "$(dirname "$0")/../.."
minutes=$1
shift
python -c 'import atheris' 2> /dev/null || python -m pip install --quiet atheris
names=${*:-$(python -c 'import sys; sys.path.insert(0, "fuzz/python"); import readers; print(*readers.READERS)')}
for name in $names; do
  found=build/fuzz/python/$name
  mkdir -p "$found/corpus"
  python - "$name" "$found/corpus" << 'END'
from pathlib import Path
import shutil
import sys

sys.path.insert(0, 'fuzz/python')
import readers

for number, seed in enumerate(readers.READERS[sys.argv[1]].seeds):
    shutil.copy(seed, Path(sys.argv[2], f'seed-{number}'))
END
  echo "fuzz $name: $minutes min"
  python fuzz/python/fuzz_reader.py "$name" -max_total_time=$((60 * minutes)) -rss_limit_mb=2048 \
    -timeout=30 -artifact_prefix="$found/" "$found/corpus" > "$found/log" 2>&1 ||
    { tail -30 "$found/log"; exit 1; }
  tail -1 "$found/log"
done
