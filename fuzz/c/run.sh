#!/bin/bash
# Fuzz the C library for some minutes: fuzz/c/run.sh MINUTES. clang brings libFuzzer; without it driver.c draws inputs.
set -eu
cd "$(dirname "$0")/../.."
minutes=${1:-10}
out=build/fuzz/c
mkdir -p "$out/corpus"
if clang -fsanitize=fuzzer,address -x c -o "$out/probe" - 2>/dev/null <<< \
  'int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size) { (void)data; (void)size; return 0; }'
then
  python fuzz/c/build.py "$out/blocks" --trust-digest --cc "clang -O2 -fsanitize=fuzzer-no-link" --linker 'clang++' \
    --engine=-fsanitize=fuzzer
  exec "$out/blocks" -max_total_time=$((60 * minutes)) -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$out/" "$out/corpus" fuzz/c/corpus
fi
echo 'clang with libFuzzer is not installed: random inputs in its place.'
python fuzz/c/build.py "$out/blocks"
FUZZ_LAST=$out/last exec "$out/blocks" 1000000000 "$RANDOM" $((60 * minutes))
