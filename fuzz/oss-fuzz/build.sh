#!/bin/bash -eu
# What OSS-Fuzz runs in its container: each harness goes to $OUT, with its seeds beside it.
python3 -m pip install -r requirements/native.txt -r requirements/core.txt
python3 tools/build_native.py --portable
export PYTHONPATH=$SRC/ssik_ros

python3 fuzz/c/build.py "$OUT/blocks" --cc "$CC $CFLAGS" --linker "$CXX $CXXFLAGS" "--engine=$LIB_FUZZING_ENGINE" \
  --sanitize ''
zip -jq "$OUT/blocks_seed_corpus.zip" fuzz/c/corpus/*

# One harness for each reader: OSS-Fuzz gives a harness no argument.
[ -e fuzz/python/fuzz_reader.py ] || exit 0
cd fuzz/python
for name in $(python3 -c 'import readers; print(*readers.READERS)'); do
  printf 'import sys\n\nfrom fuzz_reader import main\n\nsys.argv.insert(1, "%s")\nmain()\n' "$name" > "fuzz_$name.py"
  compile_python_fuzzer "fuzz_$name.py"
  if [ -d "corpus/$name" ]; then
    zip -jqr "$OUT/fuzz_${name}_seed_corpus.zip" "corpus/$name"
  fi
done
