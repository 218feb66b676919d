#!/bin/sh
# Bytes of memory per node: the most that was resident while a big joint graph was read, parsed, and cut, without
# what the program takes for a small one. Needs GNU time. Usage: bench/memory.sh [N]..., AOTSCOPE names the program.
. "${0%/*}/big_graph.sh"
dir=$(mktemp -d "${TMPDIR:-/tmp}/aotscope-memory.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
# peak FILE COMMAND...: KiB
peak()
{
    file=$1
    shift
    env time -f %M -o "$dir/peak" "${AOTSCOPE:-aotscope}" "$@" "$file" >"$dir/out" && cat "$dir/peak"
}
big_graph 90 "$dir/small.txt"
[ $# -gt 0 ] || set -- 100000
for n; do
    big_graph "$n" "$dir/joint.txt"
    nodes=$(grep -c '= torch' "$dir/joint.txt")
    nodes=$((nodes + n / 9 + 3)) # inputs, the output
    for what in info "show --stage joint" "show --saved"; do
        # the words of $what are arguments
        kib=$(($(peak "$dir/joint.txt" $what) - $(peak "$dir/small.txt" $what)))
        echo "$nodes nodes, $what: $((kib * 1024 / nodes)) bytes a node"
    done
done
