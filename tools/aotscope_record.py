"""Records what AOTAutograd compiles and what the compiled graphs then do, as an aotscope session.

    import aotscope_record
    with aotscope_record.session("run.aots"):
        step = torch.compile(model, backend=aotscope_record.backend)
        step(x).sum().backward()

One file, for Python's standard library and the PyTorch of the program (2.6 to 2.11). The session
then opens in every aotscope command; `aotscope show run.aots --calls` tells what ran.

Two sources. PyTorch's structured log (what TORCH_TRACE=DIR writes) is caught in the process and kept
record by record, so the graphs, settings, inputs and metadata are read by the same code that reads
such logs. And each graph that `backend` compiled is run node by node: of every call the generator
states, the values of random nodes, the saved tensors and the memory peaks are kept, for the
first max_calls calls of a graph. `make_backend(compiler=...)` puts another compiler inside: calls
are then recorded from outside, without their nodes.
"""
import contextlib
import ctypes
import functools
import hashlib
import json
import logging
import math
import os
import re
import site
import sqlite3
import sys
import threading
import time

import torch

APP_ID, VERSION, SAMPLE = 0x616F7473, 2, 16

# The tables of core/session/schema.sql that are marked for the recorder; a test compares them.
SCHEMA = """
CREATE TABLE session (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE note (
    id INTEGER PRIMARY KEY, unit INTEGER REFERENCES unit, file TEXT, line INTEGER,
    kind TEXT NOT NULL, text TEXT NOT NULL);
CREATE TABLE trace_record (id INTEGER PRIMARY KEY, header TEXT NOT NULL, payload TEXT);
CREATE TABLE blob (
    id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, n_bytes INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE compiled (
    graph INTEGER NOT NULL, side TEXT NOT NULL CHECK (side IN ('forward', 'backward', 'inference')),
    compiler TEXT NOT NULL, n_calls INTEGER NOT NULL, unit INTEGER REFERENCES unit,
    PRIMARY KEY (graph, side)) WITHOUT ROWID;
CREATE TABLE call (
    id INTEGER PRIMARY KEY, graph INTEGER NOT NULL, side TEXT NOT NULL, n INTEGER NOT NULL,
    forward INTEGER REFERENCES call, started REAL NOT NULL, seconds REAL NOT NULL,
    observed INTEGER NOT NULL, n_saved INTEGER NOT NULL, saved_bytes INTEGER NOT NULL, error TEXT);
CREATE TABLE generator (
    call INTEGER NOT NULL REFERENCES call, device TEXT NOT NULL,
    moment TEXT NOT NULL CHECK (moment IN ('before', 'after')), state INTEGER NOT NULL REFERENCES blob,
    PRIMARY KEY (call, device, moment)) WITHOUT ROWID;
CREATE TABLE random_output (
    call INTEGER NOT NULL REFERENCES call, idx INTEGER NOT NULL, output INTEGER NOT NULL,
    node TEXT NOT NULL, op TEXT NOT NULL, of TEXT, device TEXT NOT NULL, dtype TEXT NOT NULL,
    shape TEXT NOT NULL, n_bytes INTEGER NOT NULL, hash TEXT NOT NULL, sample TEXT NOT NULL,
    value INTEGER REFERENCES blob, before INTEGER NOT NULL REFERENCES blob,
    after INTEGER NOT NULL REFERENCES blob,
    PRIMARY KEY (call, idx, output)) WITHOUT ROWID;
CREATE TABLE saved_value (
    call INTEGER NOT NULL REFERENCES call, idx INTEGER NOT NULL, name TEXT NOT NULL,
    dtype TEXT NOT NULL, shape TEXT, stride TEXT, bytes INTEGER NOT NULL,
    PRIMARY KEY (call, idx)) WITHOUT ROWID;
CREATE TABLE input_value (
    call INTEGER NOT NULL REFERENCES call, idx INTEGER NOT NULL, name TEXT NOT NULL,
    dtype TEXT NOT NULL, shape TEXT NOT NULL, n_bytes INTEGER NOT NULL, hash TEXT NOT NULL,
    sample TEXT NOT NULL, value INTEGER REFERENCES blob,
    PRIMARY KEY (call, idx)) WITHOUT ROWID;
CREATE TABLE call_memory (
    call INTEGER NOT NULL REFERENCES call, device TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('allocator', 'counted')), before_bytes INTEGER NOT NULL,
    after_bytes INTEGER NOT NULL, peak_bytes INTEGER NOT NULL,
    PRIMARY KEY (call, device, source)) WITHOUT ROWID;
CREATE VIEW calls AS
SELECT c.id AS call, c.graph, c.side, c.n, c.forward, round(c.started, 6) AS started,
    round(c.seconds, 6) AS seconds, c.n_saved, c.saved_bytes,
    (SELECT count(DISTINCT r.idx) FROM random_output r WHERE r.call = c.id) AS random_nodes,
    (SELECT max(m.peak_bytes) FROM call_memory m WHERE m.call = c.id) AS peak_bytes, c.error, k.unit
FROM call c JOIN compiled k ON k.graph = c.graph AND k.side = c.side ORDER BY c.id;
CREATE VIEW redrawn AS
SELECT b.call, c.forward, b.of AS forward_node, b.node, b.op, b.output, b.hash = f.hash AS same,
    f.sample AS forward_sample, b.sample AS backward_sample
FROM random_output b JOIN call c ON c.id = b.call
    JOIN random_output f ON f.call = c.forward AND f.node = b.of AND f.output = b.output
WHERE b.of IS NOT NULL ORDER BY b.call, b.idx, b.output;
"""

_now = None  # the session that is recording


def _plain(t):
    return isinstance(t, torch.Tensor) and type(t) in (torch.Tensor, torch.nn.Parameter)


def _leaves(value):
    if isinstance(value, (list, tuple)):
        for v in value:
            yield from _leaves(v)
    elif isinstance(value, dict):
        yield from _leaves(list(value.values()))
    else:
        yield value


def _bytes(t):
    """The elements of a tensor in row-major order."""
    t = t.detach().cpu().contiguous()
    n = t.numel() * t.element_size()
    return ctypes.string_at(t.data_ptr(), n) if n else b""


def _md5(data):
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _number(v):
    if isinstance(v, complex):
        return [_number(v.real), _number(v.imag)]
    return str(v) if isinstance(v, float) and not math.isfinite(v) else v


def _sample(t):
    return json.dumps([_number(v) for v in t.detach().flatten()[:SAMPLE].tolist()])


def _dtype(t):
    return str(t.dtype).replace("torch.", "")


def _devices():
    """Modules of the accelerators that are in use: (name, module)."""
    for kind in ("cuda", "xpu"):
        module = getattr(torch, kind, None)
        if module is not None and module.is_available() and module.is_initialized():
            for i in range(module.device_count()):
                yield f"{kind}:{i}", module, i


def _states():
    states = {"cpu": torch.get_rng_state()}
    for name, module, i in _devices():
        states[name] = module.get_rng_state(i)
    return states


class _Handler(logging.Handler):
    """Takes PyTorch's structured records where TORCH_TRACE's own handler would."""

    def __init__(self, recording):
        super().__init__(logging.DEBUG)
        self.recording = recording

    def emit(self, record):
        header = getattr(record, "metadata", None)
        if isinstance(header, dict):
            self.recording.add_record(header, getattr(record, "payload", None))


class Recording:
    """A session that is being written. Thread-safe: backwards run in threads of the engine."""

    def __init__(self, path, max_calls, keep_bytes, input_bytes, short_paths):
        self.path, self.max_calls, self.keep_bytes = path, max_calls, keep_bytes
        self.input_bytes = input_bytes
        self.lock = threading.RLock()
        self.started = time.perf_counter()
        self.n_graphs, self.noted_other = 0, False
        self.n_calls = {}  # (graph, side) -> calls so far
        self.open_forwards = {}  # graph -> [(call, keys of its saved tensors)]
        self.last_graph = {}  # compile id -> newest graph, for compilers that cannot be told
        self.seen = {}  # compile id -> names of its records
        self.prefixes = self._prefixes() if short_paths else None
        self._open()

    # ---- the file ----

    @staticmethod
    def _prefixes():
        """Folders that say more about the machine than about the program."""
        folders = [os.getcwd(), os.path.dirname(os.path.abspath(sys.argv[0] or ".")),
                   os.path.dirname(os.path.abspath(__file__)),
                   os.path.dirname(os.path.dirname(torch.__file__)), *site.getsitepackages(),
                   os.path.dirname(os.__file__), sys.prefix, os.path.expanduser("~")]
        folders = sorted({f.rstrip("/") for f in folders if len(f) > 1}, key=len, reverse=True)
        return re.compile("|".join(re.escape(f) + "/" for f in folders))

    def _open(self):
        self.temp = self.path
        if os.path.exists(self.path):
            with open(self.path, "rb") as f:
                head = f.read(72)
            if head and (head[:15] != b"SQLite format 3" or head[68:72] != APP_ID.to_bytes(4, "big")):
                raise FileExistsError(f"{self.path} is no aotscope session: it is not replaced")
            self.temp = f"{self.path}.new-{os.getpid()}"
        for end in ("", "-wal", "-shm", "-journal"):
            if end or self.temp != self.path:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(self.temp + end)
        self.db = sqlite3.connect(self.temp, isolation_level=None, check_same_thread=False)
        self.db.executescript(f"PRAGMA page_size=1024; PRAGMA application_id={APP_ID};"
                              f"PRAGMA user_version={VERSION}; PRAGMA journal_mode=WAL;"
                              f"PRAGMA synchronous=NORMAL; BEGIN; {SCHEMA}; COMMIT")
        facts = {"state": "writing", "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                 "format": "aotscope/1", "recorder": "aotscope_record",
                 "torch": str(torch.__version__)}
        self.db.execute("BEGIN")
        self.db.executemany("INSERT INTO session VALUES (?,?)", facts.items())

    def _commit(self):
        self.db.execute("COMMIT")
        self.db.execute("BEGIN")

    def close(self, failed):
        with self.lock:
            for (graph, side), n in self.n_calls.items():
                self.db.execute("UPDATE compiled SET n_calls=? WHERE graph=? AND side=?",
                                (n, graph, side))
                if n > self.max_calls:
                    self._note(f"graph {graph}, {side}: {n} calls, the first {self.max_calls} of "
                               "them recorded (max_calls)")
            if failed:
                self._note(f"the recorded program ended with {failed}")
            self.db.execute("UPDATE session SET value='complete' WHERE key='state'")
            self.db.execute("COMMIT")
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.db.execute("PRAGMA journal_mode=DELETE")
            self.db.close()
            if self.temp != self.path:
                os.replace(self.temp, self.path)

    def _note(self, text):
        self.db.execute("INSERT INTO note (kind, text) VALUES ('info', ?)", (text,))

    def note_other(self):
        """A graph was called that is not this session's."""
        with self.lock:
            if not self.noted_other:
                self._note("graphs were called that had been compiled before the recording began: "
                           "they are not recorded (torch._dynamo.reset() compiles anew)")
            self.noted_other = True

    def _blob(self, data):
        digest = _md5(data)
        row = self.db.execute("SELECT id FROM blob WHERE hash=?", (digest,)).fetchone()
        if row:
            return row[0]
        return self.db.execute("INSERT INTO blob (hash, n_bytes, data) VALUES (?,?,?)",
                               (digest, len(data), data)).lastrowid

    # ---- PyTorch's records ----

    def _short(self, value):
        if isinstance(value, str):
            return self.prefixes.sub("", value)
        if isinstance(value, (list, tuple)):
            return [self._short(v) for v in value]
        if isinstance(value, dict):
            return {k: self._short(v) for k, v in value.items()}
        return value

    def add_record(self, header, payload):
        with self.lock:
            compile_id = self._compile_of(header)
            first = next(iter(header), None)
            name = header[first].get("name") if first == "artifact" else first
            self.seen.setdefault(compile_id, set()).add(name)
            if self.prefixes is not None:
                header = self._short(header)
                payload = payload and self.prefixes.sub("", payload)
            if payload is not None:
                header["has_payload"] = _md5(payload.encode())
            self.db.execute("INSERT INTO trace_record (header, payload) VALUES (?,?)",
                            (json.dumps(header, default=str), payload))

    @staticmethod
    def _compile_of(header):
        return tuple(header.get(k) for k in ("compiled_autograd_id", "frame_id",
                                             "frame_compile_id"))

    def start(self):
        """What PyTorch logs once a process may have gone by already."""
        from torch._logging import structured
        self.add_record({"artifact": {"name": "torch_version", "encoding": "json"}},
                        json.dumps({"pytorch_version": str(torch.__version__)}))
        for text, i in list(structured.INTERN_TABLE.items()):
            self.add_record({"str": [text, i]}, None)

    def lacks(self, compile_id, name):
        return name not in self.seen.get(compile_id, ())

    # ---- graphs ----

    def add_graph(self, graph, side, compiler):
        _trace("artifact", {"name": "aotscope_graph", "encoding": "json"},
               json.dumps({"graph": graph, "side": side}))
        with self.lock:
            self.db.execute("INSERT OR REPLACE INTO compiled (graph, side, compiler, n_calls) "
                            "VALUES (?,?,?,0)", (graph, side, compiler))
            self.n_calls.setdefault((graph, side), 0)
            self._commit()

    def graph_of(self, gm, side):
        """The number of a graph that is being compiled; both halves of a partition have one."""
        compile_id = _compile_id()
        graph = getattr(gm, "meta", {}).get("aotscope_graph")
        if graph is None and side == "backward":
            graph = self.last_graph.get(compile_id)
        if graph is None:
            graph = self.new_graph()
        if side != "backward":
            self.last_graph[compile_id] = graph
        return graph

    def new_graph(self):
        with self.lock:
            self.n_graphs += 1
            return self.n_graphs - 1

    # ---- calls ----

    def begin_call(self, graph, side):
        """The number of the call among its graph's; None: it is not recorded."""
        with self.lock:
            if (graph, side) not in self.n_calls:
                return None
            n = self.n_calls[graph, side]
            self.n_calls[graph, side] = n + 1
            return n if n < self.max_calls else None

    def end_call(self, call):
        with self.lock:
            row = (call.graph, call.side, call.n, self._forward_of(call),
                   call.began - self.started, call.seconds, int(call.observed),
                   len(call.saved), sum(t.numel() * t.element_size() for _, t in call.saved
                                        if isinstance(t, torch.Tensor)), call.error)
            i = self.db.execute("INSERT INTO call (graph, side, n, forward, started, seconds, "
                                "observed, n_saved, saved_bytes, error) "
                                "VALUES (?,?,?,?,?,?,?,?,?,?)", row).lastrowid
            self.db.execute("UPDATE compiled SET n_calls=? WHERE graph=? AND side=?",
                            (self.n_calls[call.graph, call.side], call.graph, call.side))
            for moment, states in (("before", call.before), ("after", call.after)):
                for device, state in states.items():
                    self.db.execute("INSERT INTO generator VALUES (?,?,?,?)",
                                    (i, device, moment, self._blob(_bytes(state))))
            for k, r in enumerate(call.random):
                self._random_rows(i, k, *r)
            for k, (name, t) in enumerate(call.saved):
                self._saved_row(i, k, name, t)
            for k, (data, *row) in enumerate(call.inputs):
                kept = self._blob(data) if data is not None else None
                self.db.execute("INSERT INTO input_value VALUES (?,?,?,?,?,?,?,?,?)", (i, k, *row, kept))
            self.db.executemany("INSERT INTO call_memory VALUES (?,?,?,?,?,?)",
                                [(i, *m) for m in call.memory])
            if call.side == "forward" and call.error is None:
                self.open_forwards.setdefault(call.graph, []).append([i, call.keys, False])
            self._commit()

    def _forward_of(self, call):
        """The forward whose saved tensors this backward was given: the newest that has had no
        backward yet; a second backward through one forward has that forward again."""
        found = [f for f in self.open_forwards.get(call.graph, ())
                 if call.side == "backward" and f[1] <= call.keys]
        for f in [f for f in found if not f[2]][-1:] or found[-1:]:
            f[2] = True
            return f[0]
        return None

    def _saved_row(self, call, k, name, t):
        if isinstance(t, torch.Tensor):
            row = (_dtype(t), json.dumps(list(t.shape)), json.dumps(list(t.stride())),
                   t.numel() * t.element_size())
        else:
            row = (type(t).__name__, json.dumps(str(t)), None, 0)
        self.db.execute("INSERT INTO saved_value VALUES (?,?,?,?,?,?,?)", (call, k, name, *row))

    def _random_rows(self, call, k, node, op, of, outputs, before, after):
        for o, t in enumerate(outputs):
            if not _plain(t):
                continue
            data = _bytes(t)
            sample = _sample(t)
            kept = self._blob(data) if len(data) <= self.keep_bytes else None
            self.db.execute(
                "INSERT INTO random_output VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                (call, k, o, node, op, of, str(t.device), _dtype(t), json.dumps(list(t.shape)),
                 len(data), _md5(data), sample, kept, self._blob(_bytes(before)),
                 self._blob(_bytes(after))))


def _trace(kind, metadata, payload):
    from torch._logging import trace_structured
    trace_structured(kind, metadata_fn=lambda: metadata, payload_fn=lambda: payload,
                     expect_trace_id=False)


def _compile_id():
    trace_id = torch._guards.CompileContext.current_trace_id()
    c = trace_id.compile_id if trace_id is not None else None
    return (getattr(c, "compiled_autograd_id", None), getattr(c, "frame_id", None),
            getattr(c, "frame_compile_id", None))


# ---- running a graph ---------------------------------------------------------------------------

class _Call:
    """What one call of a compiled graph did."""

    def __init__(self, graph, side, n, args):
        self.graph, self.side, self.n = graph, side, n
        self.random, self.saved, self.memory, self.inputs = [], [], [], []
        self.observed, self.error = False, None
        given = args if side == "backward" else ()
        self.keys = frozenset(_key(t) for t in given if _plain(t))
        self.before = _states()
        self.devices = []
        for name, module, i in _devices():
            module.reset_peak_memory_stats(i)
            self.devices.append((name, module, i, module.memory_allocated(i)))
        self.began = time.perf_counter()

    def end(self):
        self.seconds = time.perf_counter() - self.began
        self.after = _states()
        for name, module, i, before in self.devices:
            self.memory.append((name, "allocator", before, module.memory_allocated(i),
                                module.max_memory_allocated(i)))

    def keep_inputs(self, gm, args, most):
        """What the call was given, before it can write to it. Of a backward the tangents: the rest the forward saved."""
        names = [n.name for n in gm.graph.nodes if n.op == "placeholder"]
        for name, t in zip(names, args):
            if _plain(t) and (self.side != "backward" or name.startswith("tangents_")):
                data = _bytes(t)
                self.inputs.append((data if len(data) <= most else None, name, _dtype(t), json.dumps(list(t.shape)),
                                    len(data), _md5(data), _sample(t)))

    def keep_saved(self, values, names, n_saved):
        if self.side == "forward" and n_saved is not None:
            self.saved = list(zip(names, values))[len(names) - n_saved:]
            self.keys = frozenset(_key(t) for _, t in self.saved if _plain(t))


def _key(t):
    return t.data_ptr(), t.storage_offset(), tuple(t.shape), t.dtype


def _inner(node):
    """The random operator of a node, and whether its generator's state is given or returned;
    (None, "") if the node draws nothing."""
    name = getattr(node.target, "__name__", "")
    if name in ("run_and_save_rng_state", "run_with_rng_state"):
        return node.args[name == "run_with_rng_state"], name
    if name == "graphsafe_run_with_rng_state":
        return node.args[0], name
    tags = getattr(node.target, "tags", ())
    return (node.target, "") if torch.Tag.nondeterministic_seeded in tags else (None, "")


def _random_nodes(gm):
    """Random nodes of a graph in order: node -> (operator, how it gets its state)."""
    nodes = {}
    for n in gm.graph.nodes:
        op, how = _inner(n) if n.op == "call_function" else (None, "")
        if op is not None:
            nodes[n] = (str(op), how)
    return nodes


def _output_nodes(gm):
    out = next(n for n in reversed(gm.graph.nodes) if n.op == "output")
    return list(_leaves(out.args[0]))


def _names(gm):
    return [getattr(n, "name", str(n)) for n in _output_nodes(gm)]


def _states_saved(gm):
    """Names of the random nodes whose states a forward returns or is given, in order."""
    by_value = [n.args[0].name for n in _output_nodes(gm)
                if isinstance(n, torch.fx.Node) and n.op == "call_function" and len(n.args) == 2
                and getattr(n.args[0], "target", None) is not None and n.args[1] == 0
                and getattr(n.args[0].target, "__name__", "") == "run_and_save_rng_state"]
    by_generator = {str(n.kwargs.get("rng_state")): n.name for n in gm.graph.nodes
                    if getattr(n.target, "__name__", "") == "graphsafe_run_with_rng_state"}
    return by_value, by_generator


def _recomputes(gm, forward):
    """Random node of a backward -> the node of its forward that drew the numbers first."""
    names, by_value, by_generator = forward
    of = {}
    for n, (_, how) in _random_nodes(gm).items():
        state = str(n.args[0] if how == "run_with_rng_state" else n.kwargs.get("rng_state"))
        tail = state.rsplit("_", 1)[-1]
        if n.name in names:
            of[n] = n.name
        elif how == "run_with_rng_state" and tail.isdigit() and int(tail) < len(by_value):
            of[n] = by_value[int(tail)]
        elif how == "graphsafe_run_with_rng_state":
            of[n] = by_generator.get(state.replace("bwd_", "fwd_"))
    return of


class _Body(torch.nn.Module):
    """A graph that a higher-order operator runs, watched: cond's branches, a nested region."""

    def __init__(self, gm, outer):
        super().__init__()
        self.__dict__.update(gm=gm, outer=outer)  # no submodules of ours

    def forward(self, *args):
        inside = _Observer(self.gm, self.outer.call, _random_nodes(self.gm), {}, self.outer)
        try:
            return inside.run(*args)
        finally:
            for value in inside.held.values():
                inside._hold(value, -1)


class _Observer(torch.fx.Interpreter):
    """Runs a graph, watching its random nodes and the memory that its values hold."""

    def __init__(self, gm, call, nodes, of, outer=None):
        super().__init__(gm)
        self.call, self.nodes, self.of = call, nodes, of
        self.users, self.live, self.peak, self.first = {}, {}, {}, None
        self.prefix, self.held, self.running = "", None, ""
        if outer is not None:  # random nodes are named CALL/NODE; memory is counted in one place
            self.users, self.live, self.peak, self.first = (outer.users, outer.live, outer.peak,
                                                            outer.first)
            self.prefix, self.held = f"{outer.prefix}{outer.running}/", {}

    def _hold(self, value, by):
        for t in _leaves(value):
            if _plain(t):
                s, device = t.untyped_storage(), str(t.device)
                key = (device, s.data_ptr() or s._cdata)
                if key not in self.users:
                    self.live[device] = self.live.get(device, 0) + s.nbytes()
                entry = self.users.setdefault(key, [0, s.nbytes()])
                entry[0] += by
                if entry[0] == 0:
                    self.live[device] -= entry[1]
                    del self.users[key]

    def _is_callers(self, n):
        """Inputs that the caller holds on to: of a backward, the forward's own inputs."""
        return (n.op == "placeholder" and self.held is None
                and (self.call.side != "backward" or n.name.startswith("primals_")))

    def run_node(self, n):
        if self.first is None:  # the inputs are there already
            self._hold(list(self.env.values()), 1)
            self.first = dict(self.live)
        if n.op == "call_function":
            self.running = n.name
        value = self._draw(n) if n in self.nodes else super().run_node(n)
        if n.op == "get_attr" and isinstance(value, torch.fx.GraphModule):
            value = _Body(value, self)
        if n.op != "output":
            self._hold(value, 1)
            if self.held is not None:
                self.held[n] = value
            for device, live in self.live.items():
                self.peak[device] = max(self.peak.get(device, 0), live)
            for dead in self.user_to_last_uses.get(n, []):
                if not self._is_callers(dead):
                    self._hold(self.env[dead], -1)
                    if self.held is not None:
                        self.held.pop(dead, None)
        return value

    def _draw(self, n):
        op, how = self.nodes[n]
        before = _states()
        value = super().run_node(n)
        outputs = list(_leaves(value))
        device = next((str(t.device) for t in reversed(outputs) if _plain(t)), "cpu")
        after = _states()
        state = before.get(device, before["cpu"])
        if how == "run_with_rng_state":
            state = self.env[n.args[0]]
        elif how == "run_and_save_rng_state":
            outputs = outputs[1:]
        self.call.random.append((self.prefix + n.name, op, self.of.get(n), outputs, state,
                                 after.get(device, after["cpu"])))
        return value


def _runner(gm, graph, side, forward, n_saved, recording):
    """The compiled function of the observing interpreter. forward: what _recomputes needs;
    n_saved: how many values each forward saves, by graph."""
    nodes = _random_nodes(gm)
    of = _recomputes(gm, forward) if side == "backward" and forward is not None else {}
    names = _names(gm)

    def body(args, call):
        if call is None:
            return torch.fx.Interpreter(gm).boxed_run(args)
        call.observed = True
        if recording.input_bytes > 0:
            call.keep_inputs(gm, args, recording.input_bytes)
        observer = _Observer(gm, call, nodes, of)
        with torch.utils._python_dispatch._disable_current_modes():
            out = observer.boxed_run(args)
        for device, peak in observer.peak.items():
            call.memory.append((device, "counted", (observer.first or {}).get(device, 0),
                                observer.live.get(device, 0), peak))
        call.keep_saved(out, names, n_saved.get(graph))
        return out

    return _watched(body, graph, side, recording)


def _foreign(fn, names, graph, side, n_saved, recording):
    """A compiled function of another compiler, watched from outside."""
    def body(args, call):
        out = fn(args) if getattr(fn, "_boxed_call", False) else fn(*args)
        if call is not None:
            call.keep_saved(list(_leaves(out)), names, n_saved.get(graph))
        return out

    return _watched(body, graph, side, recording)


def _watched(body, graph, side, recording):
    def run(args):
        if recording is not _now and _now is not None:
            _now.note_other()
        fake = any(isinstance(a, torch._subclasses.FakeTensor) for a in args)
        n = recording.begin_call(graph, side) if recording is _now and not fake else None
        if n is None:
            return body(args, None)
        call = _Call(graph, side, n, args)
        try:
            return body(args, call)
        except Exception as e:
            call.error = f"{type(e).__name__}: {e}".split("\n")[0]
            raise
        finally:
            call.end()
            recording.end_call(call)

    run._boxed_call = True
    return run


# ---- compiling ---------------------------------------------------------------------------------

class _Compile:
    """The compilers of one Dynamo graph."""

    def __init__(self, compiler, partition_fn, recording):
        self.compiler, self.recording = compiler, recording
        self.inner_partition = partition_fn
        self.forward, self.n_saved = {}, {}  # by graph number

    def partition(self, joint, inputs, *args, num_fwd_outputs, **kwargs):
        compile_id = _compile_id()
        if self.recording.lacks(compile_id, "aot_joint_graph"):
            _trace("aot_joint_graph", {}, _text(joint))
        self._config(compile_id)
        fw, bw = self.inner_partition(joint, inputs, *args, num_fwd_outputs=num_fwd_outputs,
                                      **kwargs)
        graph = self.recording.new_graph()
        fw.meta["aotscope_graph"] = bw.meta["aotscope_graph"] = graph
        self.n_saved[graph] = len(_output_nodes(fw)) - num_fwd_outputs
        return fw, bw

    def _config(self, compile_id):
        if self.recording.lacks(compile_id, "torch._functorch.config"):
            import torch._functorch.config as config
            values = getattr(config, "get_config_copy", config.shallow_copy_dict)()
            _trace("artifact", {"name": "torch._functorch.config", "encoding": "json"},
                   json.dumps(values, default=str, indent=0))

    def compile(self, side, gm, example_inputs, **kwargs):
        recording = self.recording
        graph = recording.graph_of(gm, side)
        lacking = f"aot_{side}_graph"
        if recording.lacks(_compile_id(), lacking):
            _trace(lacking, {}, _text(gm))
        if side == "inference":
            self._config(_compile_id())
        recording.add_graph(graph, side, _name(self.compiler))
        if side == "forward":
            self.forward[graph] = ({n.name for n in _random_nodes(gm)}, *_states_saved(gm))
        if side == "forward" and graph not in self.n_saved:  # another partitioner's
            meta = getattr(torch._guards.TracingContext.try_get(), "fw_metadata", None)
            if meta is not None:
                returned = meta.num_forward + len(getattr(meta, "tokens", ()))
                self.n_saved[graph] = len(_output_nodes(gm)) - returned
        if self.compiler is None:
            return _runner(gm, graph, side, self.forward.get(graph), self.n_saved, recording)
        names = _names(gm)  # before the compiler changes it
        fn = self.compiler(gm, example_inputs, **kwargs)
        return _foreign(fn, names, graph, side, self.n_saved, recording)


def _name(compiler):
    return "interpreter" if compiler is None else getattr(compiler, "__name__", str(compiler))


def _text(gm):
    return gm.print_readable(print_output=False, include_stride=True, include_device=True)


def _inductor(gm, example_inputs, state):
    """Inductor whole, with its own decompositions, passes and partitioner."""
    from torch._inductor.compile_fx import compile_fx, compile_fx_inner

    def inner(gm, example_inputs, **kwargs):
        side = ("backward" if kwargs.get("is_backward")
                else "inference" if kwargs.get("is_inference") else "forward")
        return state.compile(side, gm, example_inputs, **kwargs)

    def compiler(gm, example_inputs, **kwargs):
        return compile_fx_inner(gm, example_inputs, **kwargs)

    compiler.__name__ = "inductor"
    state.compiler = compiler
    import torch._functorch.config as config
    with config.patch(enable_autograd_cache=False):
        return compile_fx(gm, example_inputs, inner_compile=inner)


def make_backend(compiler=None, partition_fn=None, decompositions=None, **aot_options):
    """A backend for torch.compile that records.

    compiler: None, an interpreter that watches each node; "inductor"; or a function of (graph
    module, example inputs) that returns a callable, as aot_autograd takes it.
    partition_fn: min_cut_rematerialization_partition where not given. decompositions: a table, or
    "inductor" for its own. aot_options go to aot_autograd."""

    def backend(gm, example_inputs, **kwargs):
        from torch._dynamo.backends.common import aot_autograd
        from torch._functorch import partitioners
        partition = partition_fn or partitioners.min_cut_rematerialization_partition
        if _now is None and compiler == "inductor":
            return torch._inductor.compile(gm, example_inputs)
        state = _Compile(compiler, partition, _now or _Silent())
        if compiler == "inductor":
            return _inductor(gm, example_inputs, state)
        table = decompositions
        if table == "inductor":
            from torch._inductor.decomposition import select_decomp_table
            table = select_decomp_table()
        options = dict(keep_inference_input_mutations=True, partition_fn=state.partition,
                       decompositions=table, **aot_options)
        for side in ("forward", "backward", "inference"):
            options[{"forward": "fw", "backward": "bw"}.get(side, side) + "_compiler"] = (
                functools.partial(state.compile, side))
        return aot_autograd(**options)(gm, example_inputs)

    return backend


backend = make_backend()


class _Silent:
    """Stands for the recording where there is none."""

    def new_graph(self):
        return 0

    def graph_of(self, gm, side):
        return 0

    def lacks(self, compile_id, name):
        return False

    def add_graph(self, graph, side, compiler):
        pass


@contextlib.contextmanager
def session(path, *, max_calls=16, keep_bytes=4096, record_inputs=False, short_paths=False):
    """Records into the session file path what is compiled and called inside.

    "{rank}" in path is replaced by $RANK. max_calls: recorded calls of each compiled graph.
    keep_bytes: values of random nodes up to this size are kept whole, of larger ones a hash and a
    sample. record_inputs: keeps what calls are given, too: tensors up to this size in bytes whole (True:
    1 MiB), of larger ones the hash and the sample. short_paths: folders of the machine are left out of the records. Compile inside: graphs
    that were compiled before are not recorded."""
    global _now
    if _now is not None:
        raise RuntimeError(f"a session is being recorded already: {_now.path}")
    recording = Recording(os.fspath(path).replace("{rank}", os.environ.get("RANK", "0")),
                          max_calls, keep_bytes, 1 << 20 if record_inputs is True else int(record_inputs), short_paths)
    log = logging.getLogger("torch.__trace")
    handler = _Handler(recording)
    level, failed = log.level, None
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    recording.start()
    _now = recording
    try:
        yield recording
    except BaseException as e:
        failed = type(e).__name__
        raise
    finally:
        _now = None
        log.removeHandler(handler)
        log.setLevel(level)
        recording.close(failed)
