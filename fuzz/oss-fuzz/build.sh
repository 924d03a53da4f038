#!/bin/bash -eu
# What OSS-Fuzz runs in its container: each harness goes to $OUT, with its seeds beside it.
python3 -m pip install -r requirements/native.txt -r requirements/core.txt
python3 tools/build_native.py --portable
export PYTHONPATH=$SRC/ssik_ros

python3 fuzz/c/build.py "$OUT/blocks" --cc "$CC $CFLAGS" --linker "$CXX $CXXFLAGS" --engine "$LIB_FUZZING_ENGINE" \
  --sanitize ''
zip -jq "$OUT/blocks_seed_corpus.zip" fuzz/c/corpus/*

for harness in fuzz/python/fuzz_*.py; do
  [ -e "$harness" ] || continue
  compile_python_fuzzer "$harness"
  name=$(basename "$harness" .py)
  if [ -d "fuzz/python/corpus/${name#fuzz_}" ]; then
    zip -jqr "$OUT/${name}_seed_corpus.zip" "fuzz/python/corpus/${name#fuzz_}"
  fi
done
