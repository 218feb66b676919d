# Sourced by run, test and .ci/run (bash): system packages, configure, make.
# Functions return non-zero after saying why; nothing is written outside the repository.
# shellcheck shell=bash

AOT_JOBS=$(nproc 2>/dev/null || echo 2)

# command, pkg-config module or header -> Debian package
aot_needed=(
    "cmd:cc:gcc" "cmd:make:make" "cmd:autoreconf:autoconf" "cmd:automake:automake"
    "cmd:pkg-config:pkg-config"
    "pc:ncursesw:libncurses-dev" "pc:libcgraph:libgraphviz-dev" "pc:libgvc:libgraphviz-dev"
    "pc:cairo:libcairo2-dev"
    "pc:sqlite3:libsqlite3-dev" "pc:jansson:libjansson-dev" "pc:libxxhash:libxxhash-dev"
    "pc:libzip:libzip-dev" "pc:zlib:zlib1g-dev" "header:stdio.h:libc6-dev" "header:glpk.h:libglpk-dev"
    "pc:openblas:libopenblas-dev"
)
aot_needed_tests=("pc:cmocka:libcmocka-dev")

# Prints the packages of the given requirements that are not there, one a line.
aot_missing()
{
    local row kind what package
    for row in "$@"; do
        IFS=: read -r kind what package <<<"$row"
        case $kind in
        cmd) command -v "$what" >/dev/null || echo "$package" ;;
        pc) pkg-config --exists "$what" 2>/dev/null || echo "$package" ;;
        header) [ -e "/usr/include/$what" ] || [ -e "/usr/local/include/$what" ] || echo "$package" ;;
        esac
    done | sort -u
}

# aot_install LOG REQUIREMENT...: what is missing is installed with apt-get, or named.
aot_install()
{
    local log=$1 missing sudo=
    shift
    missing=$(aot_missing "$@" | tr '\n' ' ')
    [ -z "$missing" ] && return 0
    [ "$(id -u)" = 0 ] || sudo="sudo"
    if ! command -v apt-get >/dev/null || { [ -n "$sudo" ] && ! command -v sudo >/dev/null; }; then
        echo "These packages are missing (Debian names): $missing" >&2
        echo "Install them, or what this system calls them, and start again." >&2
        return 1
    fi
    echo "Installing: $missing" >&2
    mkdir -p "$(dirname "$log")"
    if ! {
        DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y --no-install-recommends $missing ||
            { $sudo apt-get update &&
                DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y --no-install-recommends $missing; }
    } >"$log" 2>&1 </dev/null; then
        tail -n 20 "$log" >&2
        echo "apt-get could not install: $missing" >&2
        return 1
    fi
}

# aot_quiet LOG LABEL TOTAL COMMAND...: runs it with its output in LOG; on a terminal a line counts
# what is compiled; on failure the end of the log is shown, unless AOT_NO_TAIL is set.
aot_quiet()
{
    local log=$1 label=$2 total=$3 status n=0 line
    shift 3
    if [ -t 2 ]; then
        set -o pipefail
        "$@" 2>&1 </dev/null | while IFS= read -r line; do
            printf '%s\n' "$line" >&3
            case $line in
            *"  CC "*)
                n=$((n + 1))
                [ "$n" -gt "$total" ] && total=$n
                printf '\r\033[K%s: %d of about %d' "$label" "$n" "$total" >&2
                ;;
            "PASS: "* | "FAIL: "* | "SKIP: "*)
                n=$((n + 1))
                printf '\r\033[K%s: %d' "$label" "$n" >&2
                ;;
            *)
                # no && here: the last line's status is the loop's, and so this function's
                if [ "$n" = 0 ]; then
                    printf '\r\033[K%s' "$label" >&2
                fi
                ;;
            esac
        done 3>>"$log"
        status=$?
        printf '\r\033[K' >&2
    else
        "$@" >>"$log" 2>&1 </dev/null
        status=$?
    fi
    if [ "$status" != 0 ] && [ -z "${AOT_NO_TAIL-}" ]; then
        echo "aotscope: $label: this went wrong (all of it: $log)" >&2
        grep -nE '(error|Error|undefined reference|\*\*\*)' "$log" | tail -n 5 >&2
        tail -n 15 "$log" >&2
    fi
    return "$status"
}

# aot_configure ROOT DIR ARG...: configures DIR unless it is already, with these arguments.
aot_configure()
{
    local root=$1 dir=$2
    shift 2
    if [ -e "$root/config.status" ]; then
        echo "aotscope: this folder was configured in place; run 'make distclean' first" >&2
        return 1
    fi
    mkdir -p "$dir"
    if [ ! -e "$root/configure" ]; then
        : >"$dir/build.log"
        aot_quiet "$dir/build.log" "preparing" 0 autoreconf -fi "$root" || return 1
    fi
    if [ -e "$dir/Makefile" ] && [ "$(cat "$dir/configured-with" 2>/dev/null)" = "$*" ]; then
        return 0
    fi
    (cd "$dir" && aot_quiet "$dir/build.log" "configuring" 0 "$root/configure" "$@") || return 1
    echo "$*" >"$dir/configured-with"
}

# aot_make ROOT DIR TARGET...: quiet make; says nothing when there is nothing to do.
aot_make()
{
    local root=$1 dir=$2 total
    shift 2
    (cd "$dir" && make -q -s "$@" >/dev/null 2>&1) && return 0
    total=$(find "$root/core" "$root/viewers" "$root/tui" -name '*.c' | wc -l)
    : >"$dir/build.log"
    aot_quiet "$dir/build.log" "building" "$total" make -C "$dir" -j"$AOT_JOBS" "$@"
}
