#!/bin/sh
# Screens of the terminal interface: each tests/tui/NAME.keys is run without a terminal, once for every
# size, and what it prints is compared with NAME.SIZE.screen beside it. Comment lines at the top of a
# .keys file say what to open:
#     # input: logs/ddp                 below fixtures/
#     # args: --ascii --set cse=False   more of the command line (none if absent)
#     # sizes: 80x24 200x60             (these if absent)
#     # view: NAME                      the view (tui/views.def) it is about (NAME.keys if absent)
# AOT_BLESS=1 rewrites the .screen files; read the diff before it is committed.
. "$AOT_SRC/tests/sh/lib.sh"
tests=$AOT_SRC/tests/tui
field() { sed -n "s/^# $2: //p" "$1" | head -n 1; }

same_screen()
{
    expected=$tests/$name.$size.screen
    rm -rf "$scratch/data" # marks of the script before
    opened=$AOT_FIXTURES/$input
    case $input in *.aots.gz) # sessions are kept packed
        gzip -dc "$opened" >"$scratch/recorded.aots"
        opened=$scratch/recorded.aots ;;
    esac
    # shellcheck disable=SC2086 -- args are words
    (cd "$scratch" && TERM=xterm "$AOTSCOPE" $opened $args --size "$size" --script "$keys") \
        >"$scratch/screen" 2>"$scratch/errors" </dev/null || { cat "$scratch/errors"; return 1; }
    if [ -n "${AOT_BLESS:-}" ]; then
        cp "$scratch/screen" "$expected"
        return
    fi
    diff -u "$expected" "$scratch/screen"
}

for keys in "$tests"/*.keys; do
    name=$(basename "$keys" .keys)
    input=$(field "$keys" input)
    args=$(field "$keys" args)
    sizes=$(field "$keys" sizes)
    for size in ${sizes:-80x24 200x60}; do
        ok "$name at $size" same_screen
    done
done
# A view's script, which opens it at both sizes: the one named as the view, or that says "view:".
has_script()
{
    keys=$(grep -lx "# view: $1" "$tests"/*.keys || echo "$tests/$1.keys")
    for size in 80x24 200x60; do
        [ -s "${keys%.keys}.$size.screen" ] || { echo "no ${keys%.keys}.$size.screen"; return 1; }
    done
}

for view in $(sed -n 's/^VIEW(\([A-Z_]*\),.*/\1/p' "$AOT_SRC/tui/views.def" | tr 'A-Z' 'a-z'); do
    ok "the view $view has screens at both sizes" has_script "$view"
done
# What a view shows is printed by the commands that its row names; a row without one is found by the count.
twins()
{
    n=$(grep -c '^VIEW(' "$AOT_SRC/tui/views.def")
    sed -n 's/^VIEW(.*, "\([a-z][^"]*\)")$/\1/p' "$AOT_SRC/tui/views.def" >"$scratch/twins"
    [ "$(wc -l <"$scratch/twins")" -eq "$n" ] || { echo "a view without a command"; return 1; }
    while read -r command rest; do
        "$AOTSCOPE" help "$command" >"$scratch/help" || { echo "$command $rest"; return 1; }
        for option in $(echo "$rest" | grep -o -e '--[a-z]*'); do
            grep -q -e "$option" "$scratch/help" || { echo "$command has no $option"; return 1; }
        done
    done <"$scratch/twins"
}
ok "each view has a command that prints the same" twins
done_testing
