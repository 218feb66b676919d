#!/bin/sh
# Sessions survive what goes wrong: full disks, two writers, killed writers, odd places.
. "$AOT_SRC/tests/sh/lib.sh"
log=$AOT_FIXTURES/logs/transformer_encoder_layer.log.gz
other=$AOT_FIXTURES/logs/inference_mlp.log.gz
s=$scratch/s.aots
alone() { [ "$(ls "$scratch" | grep -c "^$1")" = 1 ] || { ls "$scratch"; return 1; }; }
absent() { [ ! -e "$1" ]; }
# Shells count in blocks of 512 or of 1024 bytes.
(trap '' XFSZ; ulimit -f 1; head -c 2000 /dev/zero >"$scratch/block") 2>/dev/null
block=$(wc -c <"$scratch/block")
# limited BLOCKS COMMAND...: with no file larger than that.
limited() { (ulimit -f "$1" && shift && exec "$@"); }

run "$AOTSCOPE" import "$log" -o "$s"
ok "an import succeeds" exits 0
ok "and leaves one file" alone s.aots
size=$(($(wc -c <"$s") / block))
n_kept=0

# The older session is small; the new one does not fit.
for share in 5 50 80 90 95; do
    rm -f "$scratch"/old.aots* "$scratch"/new.aots*
    "$AOTSCOPE" import "$other" -o "$scratch/old.aots" 2>/dev/null
    cp "$scratch/old.aots" "$scratch/copy"
    run limited $((size * share / 100)) "$AOTSCOPE" import "$log" -o "$scratch/old.aots"
    ok "$share % of the room: replacing fails" exits 2
    ok "$share % of the room: it says what failed" err "could not be written"
    ok "$share % of the room: the older session is as it was" cmp "$scratch/copy" "$scratch/old.aots"
    ok "$share % of the room: nothing is left beside it" alone old.aots

    run limited $((size * share / 100)) "$AOTSCOPE" import "$log" -o "$scratch/new.aots"
    ok "$share % of the room: a new session fails" exits 2
    if [ -e "$scratch/new.aots" ]; then
        run "$AOTSCOPE" info "$scratch/new.aots"
        ok "$share % of the room: the new session says that it is not complete" err "not complete"
        ok "$share % of the room: to every command" \
            sh -c '"$1" show "$2" --units 2>&1 | grep -q "not complete"' - "$AOTSCOPE" "$scratch/new.aots"
        n_kept=$((n_kept + 1))
    fi
done
ok "what a new session got before the failure is kept" test $n_kept -gt 0

# Who has a session that is not complete.
if command -v sqlite3 >/dev/null && command -v flock >/dev/null; then
    w=$scratch/w.aots
    "$AOTSCOPE" import "$other" -o "$w" 2>/dev/null
    sqlite3 "$w" "UPDATE session SET value = 'writing' WHERE key = 'state'"
    run "$AOTSCOPE" info "$w"
    ok "a writer that takes no lock is still running, or was stopped" err "still running or was stopped"
    : >"$w-lock"
    run "$AOTSCOPE" info "$w"
    ok "one that no longer holds its lock was stopped, with the remedy" err "its import was stopped; what it had written is here, importing again"
    run flock "$w-lock" "$AOTSCOPE" info "$w"
    ok "one that holds it is writing" err "it is being written"
else
    skip "who has a session" "no sqlite3 shell, or no flock"
fi

# Killed while the file was made: a header and a journal, no tables.
k=$scratch/k.aots
printf '' >"$k"
printf 'x' >"$k-journal"
run "$AOTSCOPE" info "$k"
ok "a file that was never written is an error" exits 2
ok "it says that the session was never finished" err "never finished"
run "$AOTSCOPE" import "$log" -o "$k"
ok "it can be imported over" exits 0
ok "the journal goes" alone k.aots
: >"$s.new-4194305"
: >"$s.new-4194305-wal"
: >"$s.new-notes"
run "$AOTSCOPE" import "$log" -o "$s"
ok "what a dead writer left is removed" absent "$s.new-4194305"
ok "with its log" absent "$s.new-4194305-wal"
ok "a file of another kind stays" test -e "$s.new-notes"

# Places that are no ordinary file.
run "$AOTSCOPE" import "$log" -o ''
ok "an empty name is an error" exits 2
ok "an empty name is named" err "empty value"
run "$AOTSCOPE" import "$log" -o /dev/null
ok "a device is refused" err "is a pipe or a device"
mkfifo "$scratch/pipe"
run "$AOTSCOPE" import "$log" -o "$scratch/pipe"
ok "a pipe is refused" err "is a pipe or a device"
run "$AOTSCOPE" import "$log" -o "$scratch"
ok "a folder is refused" err "is a folder"
mkdir "$scratch/far"
"$AOTSCOPE" import "$other" -o "$scratch/far/real.aots" 2>/dev/null
cp "$scratch/far/real.aots" "$scratch/copy"
ln -s far/real.aots "$scratch/link.aots"
run "$AOTSCOPE" import "$log" -o "$scratch/link.aots"
ok "a symbolic link is followed" exits 0
ok "the link stays a link" test -h "$scratch/link.aots"
ok "the file it leads to is replaced" sh -c '! cmp -s "$1" "$2"' - "$scratch/copy" "$scratch/far/real.aots"


# Ended by a signal while it writes beside an older session (the log comes through a pipe that stays open).
mkdir "$scratch/signal"
mkfifo "$scratch/pipe"
for sig in TERM HUP; do
    "$AOTSCOPE" import "$AOT_FIXTURES/logs/train_break.log.gz" -o "$scratch/signal/S.aots" 2>/dev/null
    "$AOTSCOPE" import "$scratch/pipe" -o "$scratch/signal/S.aots" 2>/dev/null &
    pid=$!
    exec 9>"$scratch/pipe"
    n=0
    while [ ! -e "$scratch/signal/S.aots.new-$pid" ] && [ $n -lt 100 ]; do
        sleep 0.1
        n=$((n + 1))
    done
    was=$(ls "$scratch/signal")
    kill -$sig $pid
    wait $pid 2>/dev/null
    exec 9>&-
    ok "there was something to remove: $sig" sh -c 'echo "$1" | grep -q new-' - "$was"
    ok "only the old session is left: $sig" [ "$(ls "$scratch/signal")" = S.aots ]
done
done_testing
