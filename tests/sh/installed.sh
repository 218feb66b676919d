#!/bin/sh
# Part of `make installcheck`: the installed program starts, and a program against the installed
# headers and library compiles, links and runs. Usage: installed.sh BINDIR INCLUDEDIR LIBDIR
set -eu
bin=$1 include=$2 lib=$3
dir=$(mktemp -d "${TMPDIR:-/tmp}/aotscope-installed.XXXXXX")
trap 'rm -rf "$dir"' EXIT
"$bin/aotscope" --version >"$dir/version"
grep -q '^aotscope [0-9]' "$dir/version"
cat >"$dir/main.c" <<'END'
#include <stdio.h>
#include "base/str.h"
#include "partition/partition.h"
#include "pipeline/stage.h"
#include "session/model.h"
int main(void)
{
    puts(aot_stage_get(AOT_STAGE_JOINT)->name);
    return 0;
}
END
(cd "$include/aotscope" && find . -name '*.h') | while read -r header; do
    echo "#include \"${header#./}\"" >"$dir/alone.c"
    # shellcheck disable=SC2046
    $CC -std=c11 -D_GNU_SOURCE -I"$include/aotscope" $(pkg-config --cflags jansson) -fsyntax-only "$dir/alone.c"
done
# shellcheck disable=SC2086
$CC $CFLAGS -I"$include/aotscope" $(pkg-config --cflags jansson) -o "$dir/main" "$dir/main.c" \
    -L"$lib" -laotscope $(pkg-config --libs jansson sqlite3 libxxhash zlib) -lm
[ "$("$dir/main")" = joint ]
# The example, with what the installed .pc file says.
PKG_CONFIG_PATH="$lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
export PKG_CONFIG_PATH
# shellcheck disable=SC2046,SC2086
$CC $CFLAGS -I"$include/aotscope" $(pkg-config --cflags libaotscope) -o "$dir/example" \
    "$(dirname "$0")/../../docs/examples/print_compiler.c" -L"$lib" $(pkg-config --libs libaotscope)
cat >"$dir/model.txt" <<'END'
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4]"):
        y: "f32[4]" = L_x_.sin()
        return (y,)
END
"$dir/example" "$dir/model.txt" | grep -q 'aten.sin'
echo "installed program and library work"
