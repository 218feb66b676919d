#!/bin/sh
# aotscope profile: the time of each compile by phase.
. "$AOT_SRC/tests/sh/lib.sh"
logs=$AOT_FIXTURES/logs

# Two compiles with times that are known: event NAME PHASE MICROSECONDS [FRAME].
event()
{
    ids=${4:+"\"frame_id\": $4, \"frame_compile_id\": 0, \"attempt\": 0, "}
    printf 'V1129 14:00:00.000000 1 a.py:1] {"chromium_event": {}, %s"has_payload": "0"}\n' "$ids"
    printf '\t{"name": "%s", "ph": "%s", "ts": %s, "cat": "dynamo_timed"}\n' "$1" "$2" "$3"
}
graph()
{
    printf 'V1129 14:00:00.000000 1 a.py:1] {"dynamo_start": {"stack": []}, "frame_id": %s, "frame_compile_id": 0, "attempt": 0}\n' "$1"
    printf 'V1129 14:00:00.000000 1 a.py:1] {"aot_inference_graph": {}, "frame_id": %s, "frame_compile_id": 0, "attempt": 0, "has_payload": "0"}\n' "$1"
    printf '\tdef forward(self, arg0_1: "f32[2]"):\n\t    sin: "f32[2]" = torch.ops.aten.sin.default(arg0_1);  arg0_1 = None\n\t    return (sin,)\n'
}
{
    graph 0
    event dynamo B 1000 0
    event bytecode_tracing B 2000 0
    event bytecode_tracing E 5000 0
    event backend_compile B 5000 0
    event create_aot_dispatcher_function B 5500 0
    event min_cut_rematerialization_partition B 6000 0
    event min_cut_rematerialization_partition E 8000 0
    event a_step_without_a_row B 8000 0
    event a_step_without_a_row E 8250 0
    event autograd_cache_miss i 8250 0
    event create_aot_dispatcher_function E 9000 0
    event nobody_began_this E 9000 0
    event backend_compile E 10000 0
    event dynamo E 11000 0
    graph 1
    event dynamo B 20000 1
    event TritonBundler.collect B 20000 1
    event TritonBundler.collect E 21000 1
    event bytecode_tracing B 21000 1
    event dynamo E 24000 1
    event compile_file B 3000
    event compile_file E 9000
} >"$scratch/times.log"
run "$AOTSCOPE" profile "$scratch/times.log" --json
ok "a log with events has a profile" exits 0
tr -d ' \n' <"$scratch/out" >"$scratch/json"
has() { grep -qF -- "$1" "$scratch/json" || { cat "$scratch/json"; return 1; }; }
ok "the whole is that of the outer step" has '"why_none":null,"us":10000,'
ok "a step's own time is without the steps inside" has '"name":"create_aot_dispatcher_function","phase":"aottrace","start_us":4500,"us":3500,"own_us":1250'
ok "phases add up the own times" has '"phases_us":{"dynamo":5000,'
ok "the partition is told apart" has '"partition":2000'
ok "a step without a row belongs to the phase around it" has '"aottrace":1500'
ok "what the backend itself took" has '"backend":1500'
ok "caches are told" has '"caches":["autograd_cache_miss"]'
ok "a step without an end ends with the one around it" has '"name":"bytecode_tracing","phase":"dynamo","start_us":1000,"us":3000'
ok "the sum is of both, without worker threads" has '"sum":{"compiles":2,"us":14000'
ok "worker threads are beside" has '"unit":null,"label":"[-]","beside":true'
run "$AOTSCOPE" profile "$scratch/times.log" --timeline
ok "the table has the sum" out "sum of 2"
ok "the timeline says what has no end" out "bytecode_tracing (no end in the log)"
run "$AOTSCOPE" profile "$scratch/times.log" --unit 1/0
ok "one unit by its label" exits 0
"$AOTSCOPE" profile "$scratch/times.log" >"$scratch/all"
ok "is less than all" sh -c '! cmp -s "$1" "$2"' - "$scratch/all" "$scratch/out"

# A backward that is compiled when its unit was handed out: its times are the unit's everywhere.
{
    graph 0
    event dynamo B 1000 0
    event dynamo E 11000 0
    k=1
    while [ $k -lt 80 ]; do
        graph $k
        k=$((k + 1))
    done
    event backward_compile B 900000 0
    event backward_compile E 950000 0
} >"$scratch/late.log"
run "$AOTSCOPE" profile "$scratch/late.log" --unit 0/0
ok "profile has the backward" out "60 ms"
printf "keys j\nkeys k\nscreen units\n" >"$scratch/late.keys"
run env TERM=xterm "$AOTSCOPE" "$scratch/late.log" --size 160x40 --script "$scratch/late.keys"
ok "and so has the interface" out "60 ms"

run "$AOTSCOPE" profile "$logs/train_break.log.gz" --timeline
ok "a real log has a table" out "share"
ok "and a timeline" out "create_aot_dispatcher_function"
"$AOTSCOPE" import "$logs/train_break.log.gz" -o "$scratch/s.aots" 2>/dev/null
"$AOTSCOPE" profile "$logs/train_break.log.gz" >"$scratch/log"
"$AOTSCOPE" profile "$scratch/s.aots" >"$scratch/session"
ok "a session of it tells the same" diff "$scratch/log" "$scratch/session"
gzip -dc "$AOT_FIXTURES/recorded/train.aots.gz" >"$scratch/run.aots"
run "$AOTSCOPE" profile "$scratch/run.aots"
ok "so does a recorded run" out "checkpointed train.py"
run "$AOTSCOPE" profile "$logs/compiled_autograd.trace.log.gz"
ok "Compiled Autograd's own compiles are units" out "[!0/1/0]"
run "$AOTSCOPE" profile "$logs/dropout_default.log.gz"
ok "totals alone are shown" out 'the partition is in "aot trace"'
run "$AOTSCOPE" profile "$logs/three_units.stderr.gz"
ok "a log without times says why" out "only that has times: run with TORCH_TRACE=DIR"
ok "and that is no error" exits 0
run "$AOTSCOPE" profile "$scratch/times.log" --least many
ok "a wrong share is refused" exits 2
run "$AOTSCOPE" profile "$scratch/times.log" --unit 7
ok "a unit that is not there is refused" err "no unit is called '7'"
done_testing
