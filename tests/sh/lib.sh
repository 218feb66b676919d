# Sourced by the shell tests: TAP output and a scratch folder.
set -u
n_tests=0
scratch=$(mktemp -d "${TMPDIR:-/tmp}/aotscope-test.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
XDG_DATA_HOME=$scratch/data # marks and history of the person who runs the tests are not ours
export XDG_DATA_HOME

# ok NAME COMMAND...: passes if the command does.
ok()
{
    ok_name=$1
    shift
    n_tests=$((n_tests + 1))
    if "$@" >"$scratch/ok.out" 2>&1; then
        echo "ok $n_tests - $ok_name"
    else
        echo "not ok $n_tests - $ok_name"
        sed 's/^/# /' "$scratch/ok.out"
    fi
}

# run COMMAND...: runs it with output in $scratch/out, errors in $scratch/err, exit code in $code.
run()
{
    code=0
    "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
}

# exits CODE, out TEXT, err TEXT: what the last run did (TEXT is a fixed string in some line).
exits() { [ "$code" = "$1" ] || { echo "exit code $code, not $1"; cat "$scratch/out" "$scratch/err"; return 1; }; }
out() { grep -qF -- "$1" "$scratch/out" || { echo "not in the output: $1"; cat "$scratch/out"; return 1; }; }
err() { grep -qF -- "$1" "$scratch/err" || { echo "not in the errors: $1"; cat "$scratch/err"; return 1; }; }
silent() { [ ! -s "$scratch/$1" ] || { echo "$1 is not empty"; cat "$scratch/$1"; return 1; }; }

skip()
{
    n_tests=$((n_tests + 1))
    echo "ok $n_tests - $1 # SKIP $2"
}

done_testing() { echo "1..$n_tests"; }
