#!/bin/sh
# How long a frame takes while a key repeats on a big graph: a joint graph of N nodes (100,000 by default)
# is written, opened, and keys are pressed without a terminal (`frames` of --script, see tui/script.c).
# What a frame costs must not grow with N; where it does, a step is told of. Usage: bench/frames.sh [N] [COLSxROWS], AOTSCOPE names the program.
n=${1:-100000} size=${2:-200x60}
dir=$(mktemp -d "${TMPDIR:-/tmp}/aotscope-frames.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
. "${0%/*}/big_graph.sh"
big_graph "$n" "$dir/joint.txt"
cat >"$dir/keys" <<'KEYS'
frames 500 j
frames 500 <PgDn>
frames 500 k
frames 20 Gg
keys G
frames 200 <PgUp>
keys /gelu_7<Enter>
frames 500 n
frames 500 N
keys <Esc>
keys fgelu<Enter>
frames 500 j
frames 300 <PgDn>
keys <Esc>
keys >
frames 300 j
keys <lt>
keys s
frames 300 j
frames 20 >
keys sg
frames 200 c
frames 200 p
frames 20 <Right><Left>
keys g
keys 40j
frames 10 jSjRjx
frames 20 z
frames 20 Z
keys B
frames 10 0.7<BS>
frames 10 +
frames 10 -
keys <Esc>
keys b
frames 1 h
frames 100 h
frames 100 l
frames 20 }
keys <Esc>
frames 1 E
frames 20 j
keys <Esc>
frames 1 d
frames 100 j
frames 20 }
keys <Esc>
frames 1 T
frames 50 l
frames 50 j
keys <Esc>
frames 1 F
frames 50 j
keys <Esc>
frames 1 v
frames 100 j
frames 50 <PgDn>
keys <Esc>
frames 1 =
frames 50 j
keys <Esc>
frames 1 w
frames 100 j
frames 20 +-
frames 1 w
frames 1 t
frames 100 j
keys t
keys q
KEYS
grep -c ' = torch' "$dir/joint.txt" | sed 's/$/ operators/'
"${AOTSCOPE:-aotscope}" "$dir/joint.txt" --size "$size" --script "$dir/keys"
