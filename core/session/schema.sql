-- The session file. Compiled in; docs/session.md tells the same to people.
-- What stands between ">>> recorder" and "<<<" is also in tools/aotscope_record.py: `make docs` copies it.
-- To add a table or a view: add it here, raise AOT_SESSION_VERSION in session.h when an old reader
-- would misread a new file, and describe it in docs/session.md.
-- Ids named "unit", "text", "file", "pass_run" point to the table of that name.

-- >>> recorder
-- What wrote the file, when, and whether the writer finished ("state" is writing,
-- complete or failed).
CREATE TABLE session (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- <<<

-- The files that were imported, with what was counted in them.
CREATE TABLE file (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL,
    bytes INTEGER, lines INTEGER, records INTEGER, graphs INTEGER, units INTEGER, files INTEGER,
    skipped_records INTEGER, damaged_records INTEGER, payload_mismatches INTEGER,
    error TEXT);

-- Every text once, whoever refers to it. hash is XXH3-128 of the bytes, as 32 hexadecimal digits.
CREATE TABLE text (
    id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, n_bytes INTEGER NOT NULL, text TEXT NOT NULL);

-- One compiled graph: a compile id and attempt on one rank. -1 means that the input does not say.
CREATE TABLE unit (
    id INTEGER PRIMARY KEY, file INTEGER REFERENCES file, idx INTEGER NOT NULL,
    label TEXT NOT NULL, title TEXT NOT NULL, path TEXT NOT NULL,
    rank INTEGER, compiled_autograd_id INTEGER, frame INTEGER, compile INTEGER, attempt INTEGER,
    split INTEGER, aot_id INTEGER,
    input TEXT, torch_version TEXT, backend TEXT, cache TEXT, seconds REAL,
    fw_metadata INTEGER REFERENCES text, config INTEGER REFERENCES text,
    static_inputs TEXT, n_forward_outputs INTEGER,
    path_reason TEXT, -- why AOTAutograd took this path; NULL where it was not derived
    -- of the partition that aotscope made; NULL without one
    n_saved INTEGER, saved_bytes INTEGER, saved_new_bytes INTEGER, cut_value INTEGER, rung TEXT,
    n_vertices INTEGER, n_edges INTEGER, n_cut_nodes INTEGER, partition_note TEXT);

-- Every record of the log. unit is NULL for what belongs to no unit or came after its unit.
CREATE TABLE record (
    id INTEGER PRIMARY KEY, unit INTEGER REFERENCES unit, file INTEGER REFERENCES file, label TEXT,
    name TEXT NOT NULL, stage TEXT, is_artifact INTEGER NOT NULL, is_json INTEGER NOT NULL,
    n_missing INTEGER NOT NULL, line INTEGER, meta TEXT, text INTEGER REFERENCES text);
CREATE INDEX record_unit ON record (unit, id);

-- The graphs, as texts: recorded ones point to their record, derived ones to the pass that made them.
-- same_as names the stage before, where the step from it changed nothing. The stage runtime is no
-- graph: its text lists the wrappers.
CREATE TABLE stage_graph (
    id INTEGER PRIMARY KEY, unit INTEGER NOT NULL REFERENCES unit, stage TEXT NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('recorded', 'derived')),
    record INTEGER REFERENCES record, pass_run INTEGER, text INTEGER REFERENCES text,
    n_nodes INTEGER, n_opaque INTEGER, seconds REAL, error TEXT, same_as TEXT);
CREATE INDEX stage_graph_unit ON stage_graph (unit, stage);
CREATE INDEX stage_graph_record ON stage_graph (record);

-- The stages in pipeline order, and why a unit lacks one.
CREATE TABLE stage (idx INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, log_name TEXT, sentence TEXT,
    how_to_get TEXT);
CREATE TABLE missing_stage (
    unit INTEGER NOT NULL REFERENCES unit, stage TEXT NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (unit, stage)) WITHOUT ROWID;

-- Each node of the graph that was cut, with what the partitioner decided. weight is Inf where the
-- network has an infinite capacity, NULL where the node has no such edge. position is its place
-- among the saved values (symbolic sizes come last), NULL if it is not saved.
CREATE TABLE node (
    unit INTEGER NOT NULL REFERENCES unit, idx INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
    op TEXT, statement TEXT, dtype TEXT, shape TEXT, stride TEXT, device TEXT, bytes INTEGER,
    weight REAL, ban TEXT, ban_asked TEXT, sink TEXT, verdict TEXT NOT NULL, reason TEXT,
    policy TEXT, ac_graph_id INTEGER, distance INTEGER, fw_order INTEGER,
    required_forward INTEGER, required_backward INTEGER, backward_made INTEGER, materialized INTEGER,
    is_static INTEGER, position INTEGER, is_symbol INTEGER, alias_of TEXT, used_by TEXT,
    file TEXT, line INTEGER, function TEXT, code TEXT,
    PRIMARY KEY (unit, idx)) WITHOUT ROWID;

-- Random operators of every graph that was read: their order decides which numbers they draw. draw is
-- how often the generator was moved up to there, NULL where it is not moved; use is what the site does
-- with it (aotscope help rng).
CREATE TABLE rng_site (
    unit INTEGER NOT NULL REFERENCES unit, stage TEXT NOT NULL, origin TEXT NOT NULL,
    idx INTEGER NOT NULL, node TEXT NOT NULL, op TEXT NOT NULL, file TEXT, line INTEGER,
    generator TEXT, kind TEXT, use TEXT, draw INTEGER,
    PRIMARY KEY (unit, stage, origin, idx)) WITHOUT ROWID;

-- The inputs of a unit as Dynamo described them; equal storage means shared memory.
CREATE TABLE input (
    unit INTEGER NOT NULL REFERENCES unit, idx INTEGER NOT NULL, source TEXT, dtype TEXT, device TEXT,
    size TEXT, stride TEXT, storage_offset INTEGER, describer INTEGER, tensor INTEGER, storage INTEGER,
    storage_bytes INTEGER, requires_grad INTEGER, is_leaf INTEGER, is_parameter INTEGER,
    is_view INTEGER,
    PRIMARY KEY (unit, idx)) WITHOUT ROWID;

-- Symbolic sizes: where they come from, what they may be, and what they were when traced.
CREATE TABLE symbol (
    unit INTEGER NOT NULL REFERENCES unit, idx INTEGER NOT NULL, name TEXT NOT NULL, source TEXT,
    range TEXT, hint INTEGER,
    PRIMARY KEY (unit, idx)) WITHOUT ROWID;

-- The settings that the partitioner used, and whether they differ from PyTorch's defaults.
CREATE TABLE config (
    unit INTEGER NOT NULL REFERENCES unit, name TEXT NOT NULL, value TEXT NOT NULL,
    default_value TEXT NOT NULL, differs INTEGER NOT NULL,
    PRIMARY KEY (unit, name)) WITHOUT ROWID;

-- >>> recorder
-- What the importer or a pass had to say. unit is NULL for notes about the file.
CREATE TABLE note (
    id INTEGER PRIMARY KEY, unit INTEGER REFERENCES unit, file TEXT, line INTEGER,
    kind TEXT NOT NULL, text TEXT NOT NULL);
-- <<<
CREATE INDEX note_unit ON note (unit, id);

-- The operators that occur in this session, and the passes and bans of the program that wrote it:
-- an old session explains itself.
CREATE TABLE op (
    name TEXT PRIMARY KEY, schema TEXT, doc TEXT, tags INTEGER, part INTEGER, flags INTEGER,
    is_random INTEGER) WITHOUT ROWID;
CREATE TABLE pass (name TEXT PRIMARY KEY, requires TEXT, provides TEXT, sentence TEXT) WITHOUT ROWID;
CREATE TABLE ban (text TEXT PRIMARY KEY, sentence TEXT) WITHOUT ROWID;

-- What ran, in order. A row with no seconds is a pass that did not come to its end.
CREATE TABLE pass_run (
    id INTEGER PRIMARY KEY, unit INTEGER REFERENCES unit, pass TEXT NOT NULL, n_nodes_in INTEGER,
    n_nodes_out INTEGER, seconds REAL, error TEXT);

-- Which rule of a pass made a node of a stage's graph (replacement), and for which node of the stage
-- above (node). Nodes that only came through are not here.
CREATE TABLE edit (
    id INTEGER PRIMARY KEY, unit INTEGER REFERENCES unit, pass_run INTEGER REFERENCES pass_run,
    kind TEXT NOT NULL, stage TEXT, node TEXT, replacement TEXT, rule TEXT);
CREATE INDEX edit_unit ON edit (unit, stage);

-- The runtime wrappers of a unit, outermost first: what each does, one thing a line, or why it does
-- nothing.
CREATE TABLE wrapper (
    unit INTEGER NOT NULL REFERENCES unit, idx INTEGER NOT NULL, name TEXT NOT NULL,
    works INTEGER NOT NULL, does TEXT NOT NULL,
    PRIMARY KEY (unit, idx)) WITHOUT ROWID;

-- Live bytes right after each node of the derived forward and backward made its value, in order, by the
-- default convention of `aotscope memory`; what the node allocated, and what was freed after it.
CREATE TABLE mem_event (
    unit INTEGER NOT NULL REFERENCES unit, side TEXT NOT NULL, idx INTEGER NOT NULL, node TEXT NOT NULL,
    live_bytes INTEGER NOT NULL, allocated_bytes INTEGER NOT NULL, freed_bytes INTEGER NOT NULL,
    PRIMARY KEY (unit, side, idx)) WITHOUT ROWID;

-- Recorded stages that were derived again and compared.
CREATE TABLE stage_check (
    unit INTEGER NOT NULL REFERENCES unit, stage TEXT NOT NULL,
    result TEXT NOT NULL CHECK (result IN ('same', 'differs', 'left out', 'error')),
    reason TEXT, line INTEGER, recorded TEXT, derived TEXT,
    PRIMARY KEY (unit, stage)) WITHOUT ROWID;

-- ---- what a running program recorded --------------------------------------------------------
-- tools/aotscope_record.py writes these into a file of their own, without units: a program that opens
-- it reads the units from trace_record. `aotscope import` of such a file writes both.

-- >>> recorder
-- PyTorch's structured log, record by record: header is JSON, payload the text that goes with it.
-- Empty after `aotscope import`: the records are in the table record.
CREATE TABLE trace_record (id INTEGER PRIMARY KEY, header TEXT NOT NULL, payload TEXT);

-- Every state and value once. hash is the MD5 of the bytes.
CREATE TABLE blob (
    id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, n_bytes INTEGER NOT NULL, data BLOB NOT NULL);

-- The compiled graphs: both halves of a partition have one number. n_calls counts those that were
-- not recorded, too. unit is NULL in a recorder's own file.
CREATE TABLE compiled (
    graph INTEGER NOT NULL, side TEXT NOT NULL CHECK (side IN ('forward', 'backward', 'inference')),
    compiler TEXT NOT NULL, n_calls INTEGER NOT NULL, unit INTEGER REFERENCES unit,
    PRIMARY KEY (graph, side)) WITHOUT ROWID;

-- Their calls, in the order in which they ended. n counts the calls of a side from 0; forward is
-- the call whose saved values a backward read. started: seconds since the recording began.
-- observed: nodes were run one by one, so random nodes and counted memory are known.
CREATE TABLE call (
    id INTEGER PRIMARY KEY, graph INTEGER NOT NULL, side TEXT NOT NULL, n INTEGER NOT NULL,
    forward INTEGER REFERENCES call, started REAL NOT NULL, seconds REAL NOT NULL,
    observed INTEGER NOT NULL, n_saved INTEGER NOT NULL, saved_bytes INTEGER NOT NULL, error TEXT);

-- States of the random number generators around a call, as PyTorch gives them (CPU: 5056 bytes).
CREATE TABLE generator (
    call INTEGER NOT NULL REFERENCES call, device TEXT NOT NULL,
    moment TEXT NOT NULL CHECK (moment IN ('before', 'after')), state INTEGER NOT NULL REFERENCES blob,
    PRIMARY KEY (call, device, moment)) WITHOUT ROWID;

-- What random nodes gave, in order of drawing, a row each output. hash is the MD5 of its elements in
-- row-major order, sample the first 16, value all of them where they were few. of: the node of the
-- forward whose numbers a backward draws again. before: the state it drew from.
CREATE TABLE random_output (
    call INTEGER NOT NULL REFERENCES call, idx INTEGER NOT NULL, output INTEGER NOT NULL,
    node TEXT NOT NULL, op TEXT NOT NULL, of TEXT, device TEXT NOT NULL, dtype TEXT NOT NULL,
    shape TEXT NOT NULL, n_bytes INTEGER NOT NULL, hash TEXT NOT NULL, sample TEXT NOT NULL,
    value INTEGER REFERENCES blob, before INTEGER NOT NULL REFERENCES blob,
    after INTEGER NOT NULL REFERENCES blob,
    PRIMARY KEY (call, idx, output)) WITHOUT ROWID;

-- What a forward returned for its backward, in order, with the sizes it really had.
CREATE TABLE saved_value (
    call INTEGER NOT NULL REFERENCES call, idx INTEGER NOT NULL, name TEXT NOT NULL,
    dtype TEXT NOT NULL, shape TEXT, stride TEXT, bytes INTEGER NOT NULL,
    PRIMARY KEY (call, idx)) WITHOUT ROWID;

-- What a call was given, where the program asked for it (record_inputs): of a backward the tangents alone. hash, sample
-- and value as of random_output. Recordings of before 2026-12 have no such table.
CREATE TABLE input_value (
    call INTEGER NOT NULL REFERENCES call, idx INTEGER NOT NULL, name TEXT NOT NULL,
    dtype TEXT NOT NULL, shape TEXT NOT NULL, n_bytes INTEGER NOT NULL, hash TEXT NOT NULL,
    sample TEXT NOT NULL, value INTEGER REFERENCES blob,
    PRIMARY KEY (call, idx)) WITHOUT ROWID;

-- Bytes in use around a call and at its peak. source: allocator (a device's own figures), counted
-- (storages of the values that the interpreter held; before: the inputs).
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

-- Numbers that were drawn again in a backward, beside those of its forward.
CREATE VIEW redrawn AS
SELECT b.call, c.forward, b.of AS forward_node, b.node, b.op, b.output, b.hash = f.hash AS same,
    f.sample AS forward_sample, b.sample AS backward_sample
FROM random_output b JOIN call c ON c.id = b.call
    JOIN random_output f ON f.call = c.forward AND f.node = b.of AND f.output = b.output
WHERE b.of IS NOT NULL ORDER BY b.call, b.idx, b.output;
-- <<<
-- What a reader marked (letter) or noted (text) about a node. By the unit's file and label, so that rows
-- outlive another import. Viewers write this table and the next.
CREATE TABLE mark (
    id INTEGER PRIMARY KEY, input TEXT NOT NULL, label TEXT NOT NULL, stage TEXT NOT NULL,
    node TEXT NOT NULL, letter TEXT, text TEXT, made TEXT NOT NULL);
-- The edits that a reader made in the interface, in order (idx): lines of a policy, of which those that
-- were undone come last (in_force 0). Named as the rows of mark are.
CREATE TABLE kept_edit (
    id INTEGER PRIMARY KEY, input TEXT NOT NULL, label TEXT NOT NULL, idx INTEGER NOT NULL,
    line TEXT NOT NULL, in_force INTEGER NOT NULL, made TEXT NOT NULL);

-- ---- views for people -----------------------------------------------------------------------

CREATE VIEW rewrites AS
SELECT unit, stage, replacement AS node, node AS made_for, rule FROM edit ORDER BY id;

CREATE VIEW units AS
SELECT u.id AS unit, u.label, nullif(u.rank, -1) AS rank, u.title, u.path, u.path_reason,
    (SELECT max(n_nodes) FROM stage_graph g WHERE g.unit = u.id
        AND g.stage IN ('joint', 'inference', 'export', 'dynamo')) AS nodes,
    u.n_saved, u.saved_bytes, u.rung, u.torch_version, u.backend, u.cache, round(u.seconds, 3) AS seconds,
    (SELECT count(*) FROM note n WHERE n.unit = u.id) AS notes, u.input AS file
FROM unit u ORDER BY u.id;

-- One row for each AOT graph that an input held.
CREATE VIEW recorded_graphs AS
SELECT r.unit, coalesce(u.label, r.label) AS label, nullif(u.rank, -1) AS rank, r.name AS kind, g.n_nodes,
    coalesce(u.input, f.path) AS file, r.line, g.error
FROM record r LEFT JOIN unit u ON u.id = r.unit LEFT JOIN stage_graph g ON g.record = r.id
    LEFT JOIN file f ON f.id = r.file
WHERE r.stage IN ('joint', 'forward', 'backward', 'inference') AND r.text IS NOT NULL
ORDER BY r.id;

CREATE VIEW saved AS
SELECT u.label, n.position, n.name, n.dtype, n.shape, n.bytes, n.op,
    n.file || ':' || n.line AS source, n.used_by, n.reason, n.alias_of, n.is_symbol, n.unit
FROM node n JOIN unit u ON u.id = n.unit WHERE n.position IS NOT NULL ORDER BY n.unit, n.position;

CREATE VIEW recomputed AS
SELECT u.label, n.name, n.dtype, n.shape, n.bytes, n.op, n.file || ':' || n.line AS source, n.weight, n.unit
FROM node n JOIN unit u ON u.id = n.unit WHERE n.verdict = 'recomputed' ORDER BY n.unit, n.idx;

CREATE VIEW bans AS
SELECT u.label, n.name, n.op, n.bytes, n.ban, b.sentence, n.verdict, n.unit
FROM node n JOIN unit u ON u.id = n.unit LEFT JOIN ban b ON b.text = n.ban
WHERE n.ban IS NOT NULL ORDER BY n.unit, n.idx;

-- Where a stage that the input recorded differs from what aotscope derives.
CREATE VIEW stage_diff AS
SELECT u.label, c.stage, c.result, c.line, c.recorded, c.derived, c.reason, u.torch_version, c.unit
FROM stage_check c JOIN unit u ON u.id = c.unit ORDER BY c.unit, c.stage;

CREATE VIEW inputs AS
SELECT u.label, i.idx, i.source, i.dtype, i.size, i.stride, i.device, i.storage, i.storage_bytes,
    i.requires_grad, i.is_parameter, i.is_view, i.unit
FROM input i JOIN unit u ON u.id = i.unit ORDER BY i.unit, i.idx;

CREATE VIEW wrappers AS
SELECT u.label, w.idx, w.name, w.works, w.does, w.unit
FROM wrapper w JOIN unit u ON u.id = w.unit ORDER BY w.unit, w.idx;

CREATE VIEW marks AS
SELECT m.label, m.stage, m.node, m.letter, m.text, m.made, m.input, u.id AS unit
FROM mark m LEFT JOIN unit u ON u.label = m.label AND coalesce(u.input, '') = m.input ORDER BY m.id;

CREATE VIEW notes AS
SELECT u.label, n.kind, n.file, n.line, n.text, n.unit
FROM note n LEFT JOIN unit u ON u.id = n.unit ORDER BY n.id;

-- Settings that differ from PyTorch's defaults; all of them are in the table config.
CREATE VIEW settings AS
SELECT u.label, c.name, c.value, c.default_value, c.unit
FROM config c JOIN unit u ON u.id = c.unit WHERE c.differs ORDER BY c.unit, c.name;

CREATE VIEW rng_sites AS
SELECT u.label, r.stage, r.origin, r.idx, r.node, r.op, r.file || ':' || r.line AS source, r.unit,
    r.generator, r.kind, r.use, r.draw
FROM rng_site r JOIN unit u ON u.id = r.unit JOIN stage s ON s.name = r.stage
ORDER BY r.unit, s.idx, r.origin, r.idx;

CREATE VIEW memory_timeline AS
SELECT u.label, m.side, m.idx, m.node, m.live_bytes, m.allocated_bytes, m.freed_bytes, m.unit
FROM mem_event m JOIN unit u ON u.id = m.unit ORDER BY m.unit, m.side DESC, m.idx;

-- A highest row of each side (columns beside max() are those of its row).
CREATE VIEW memory_peaks AS
SELECT u.label, m.side, max(m.live_bytes) AS peak_bytes, m.node, m.idx, m.unit
FROM mem_event m JOIN unit u ON u.id = m.unit GROUP BY m.unit, m.side ORDER BY m.unit, m.side DESC;

-- The stages of each unit: recorded, derived, or missing with the reason.
CREATE VIEW stages AS
SELECT u.label, s.name AS stage,
    coalesce((SELECT group_concat(DISTINCT g.origin) FROM stage_graph g
        WHERE g.unit = u.id AND g.stage = s.name), 'missing') AS origin,
    (SELECT max(g.n_nodes) FROM stage_graph g WHERE g.unit = u.id AND g.stage = s.name) AS nodes,
    (SELECT max(g.same_as) FROM stage_graph g WHERE g.unit = u.id AND g.stage = s.name) AS same_as,
    m.reason, u.id AS unit
FROM unit u CROSS JOIN stage s LEFT JOIN missing_stage m ON m.unit = u.id AND m.stage = s.name
ORDER BY u.id, s.idx;
