/* TORCH_LOGS: what a run wrote to stderr, with anything else in between.
 *
 *   [rank3]:V1129 13:59:42.697000 17980 torch/_dynamo/x.py:2417] [0/0] [__graph_code] TRACED GRAPH
 *   [2024-01-01 00:00:00,000] [0/0] torch._dynamo.x.__graph_code: [DEBUG] TRACED GRAPH     (2.2)
 *   TRACED GRAPH                                                 (no prefixes: LOG_FORMAT)
 *
 * A message is many lines with the same prefix (time and place). Messages of one process do not
 * interleave, those of several do: each (rank, process, artifact) has its own block of lines. Lines
 * without a prefix form a block a rank.
 * Mirrors: torch/_logging/_internal.py:TorchLogsFormatter, torch/fx/_utils.py (the writers). */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "import/block.h"
#include "import/importer.h"

enum { MAX_STREAMS = 512 };

typedef struct logs logs;

/* Lines of one process and artifact. */
typedef struct log_stream {
    logs *owner;
    int rank;
    uint64_t pid;
    uint64_t process; /* pid, or that of the prefixed line that a bare message began with */
    char artifact[48];
    uint64_t prefix;  /* hash of time and place of the message at work */
    bool in_graph;    /* inside a message that began with TRACED GRAPH */
    bool bare;        /* lines without prefixes */
    /* in PyTorch's source, of the message at work: "torch/x.py:276"; "" unknown */
    char place[96];
    aot_unit_key key; /* of the message at work */
    aot_block block;
} log_stream;

struct logs {
    aot_import_run *run;
    AOT_VEC(log_stream *) streams;
    size_t last, next_victim;
    aot_sb plain, clean;
    aot_status status;
    aot_err *err;
};

/* One line, taken apart. */
typedef struct parts {
    int rank;
    uint64_t pid, prefix;
    bool prefixed;
    aot_unit_key key;
    const char *artifact, *place;
    size_t artifact_len, place_len;
    const char *msg;
    size_t n;
} parts;

/* ---- one line ------------------------------------------------------------------------------ */

/* Takes escape sequences (colours) out. */
static void strip_ansi(aot_sb *out, const char *s, size_t n)
{
    aot_sb_clear(out);
    for (size_t i = 0; i < n;) {
        const char *esc = memchr(s + i, 0x1b, n - i);
        size_t len = esc != NULL ? (size_t)(esc - s) - i : n - i;
        aot_sb_add(out, s + i, len);
        i += len;
        if (esc == NULL) {
            break;
        }
        i++;
        if (i < n && s[i] == '[') {
            i++;
            while (i < n && (unsigned char)s[i] >= 0x20 && (unsigned char)s[i] < 0x40) {
                i++;
            }
            i += i < n && (unsigned char)s[i] >= 0x40 && (unsigned char)s[i] < 0x7f;
        }
    }
}

static bool number(const char *s, size_t n, size_t *i, int *out)
{
    int v = 0;
    size_t start = *i;
    while (*i < n && *i - start < 9 && isdigit((unsigned char)s[*i])) {
        v = v * 10 + (s[(*i)++] - '0');
    }
    *out = v;
    return *i > start;
}

/* "[0/0] ", "[1/2_1] ", "[!0/0/0] ", "[!0] "; returns its length, 0 if it is none. */
static size_t trace_id(const char *s, size_t n, aot_unit_key *key)
{
    size_t i = 1;
    int a, b, attempt = 0, autograd = -1;
    if (n < 4 || s[0] != '[') {
        return 0;
    }
    if (s[i] == '!') {
        i++;
        if (!number(s, n, &i, &autograd) || i >= n) {
            return 0;
        }
        if (s[i] == ']') {
            key->compiled_autograd_id = autograd;
            return i + 1 + (i + 1 < n && s[i + 1] == ' ');
        }
        if (s[i++] != '/') {
            return 0;
        }
    }
    if (!number(s, n, &i, &a) || i >= n || s[i++] != '/' || !number(s, n, &i, &b)) {
        return 0;
    }
    if (i < n && s[i] == '_') {
        i++;
        if (!number(s, n, &i, &attempt)) {
            return 0;
        }
    }
    if (i >= n || s[i] != ']') {
        return 0;
    }
    key->compiled_autograd_id = autograd;
    key->frame = a;
    key->compile = b;
    key->attempt = attempt;
    return i + 1 + (i + 1 < n && s[i + 1] == ' ');
}

/* "[2024-01-01 00:00:00,000] [0/0] torch._dynamo.x.__graph_code: [DEBUG] " of 2.2 and before. */
static bool old_prefix(parts *p, const char *s, size_t n)
{
    if (n < 28 || s[0] != '[' || !isdigit((unsigned char)s[1]) || s[5] != '-' || s[11] != ' ' ||
        (s[20] != ',' && s[20] != '.')) {
        return false;
    }
    const char *close = memchr(s, ']', n);
    if (close == NULL || close - s > 40) {
        return false;
    }
    size_t i = (size_t)(close - s) + 1;
    i += i < n && s[i] == ' ';
    i += trace_id(s + i, n - i, &p->key);
    const char *level = memmem(s + i, n - i, ": [", 3);
    const char *end = level != NULL ? memchr(level, ']', n - (size_t)(level - s)) : NULL;
    if (end == NULL || end - level > 14) {
        return false;
    }
    const char *name = memrchr(s + i, '.', (size_t)(level - (s + i)));
    if (name != NULL && level - name > 3 && name[1] == '_' && name[2] == '_') {
        p->artifact = name + 3;
        p->artifact_len = (size_t)(level - name) - 3;
    }
    p->msg = end + 1;
    p->n = n - (size_t)(end + 1 - s);
    return true;
}

static void take_apart(parts *p, const char *s, size_t n, int file_rank)
{
    *p = (parts){.rank = -1, .key = {-1, -1, -1, -1, -1, 0}, .artifact = "", .place = ""};
    size_t at = aot_import_launcher(s, n, &p->rank);
    s += at;
    n -= at;
    size_t len = aot_import_glog(s, n, &p->pid, &p->place, &p->place_len);
    const char *start = s;
    if (len > 0) {
        len += trace_id(s + len, n - len, &p->key);
        if (n - len > 4 && memcmp(s + len, "[__", 3) == 0) {
            const char *close = memchr(s + len, ']', n - len);
            if (close != NULL) {
                p->artifact = s + len + 3;
                p->artifact_len = (size_t)(close - p->artifact);
                len = (size_t)(close + 1 - s);
                len += len < n && s[len] == ' ';
            }
        }
        p->msg = s + len;
        p->n = n - len;
        p->prefixed = true;
    } else if (old_prefix(p, s, n)) {
        p->prefixed = true;
        if (p->n > 0 && p->msg[0] == ' ') {
            p->msg++;
            p->n--;
        }
    } else {
        p->msg = s;
        p->n = n;
    }
    if (p->rank < 0) {
        p->rank = file_rank;
    }
    p->key.rank = p->rank;
    p->prefix = p->prefixed ? aot_hash64(start, (size_t)(p->msg - start)) : 0;
}

/* ---- records ------------------------------------------------------------------------------- */

static uint64_t process_of(const log_stream *st)
{
    return aot_hash_mix((uint64_t)(int64_t)st->rank, st->process);
}

typedef struct heading_kind {
    const char *prefix; /* of the heading; "Joint graph 3" */
    aot_stage stage;
    const char *record;
    bool has_id;        /* the AOT id follows */
} heading_kind;

/* First match wins. */
static const heading_kind headings[] = {
    {"__compiled_fn", AOT_STAGE_DYNAMO, "dynamo_output_graph", false},
    {"Joint graph ", AOT_STAGE_JOINT, "aot_joint_graph", true},
    {"Forward graph before", AOT_N_STAGES, NULL, false},
    {"Backward graph before", AOT_N_STAGES, NULL, false},
    {"Forward graph ", AOT_STAGE_FORWARD, "aot_forward_graph", true},
    {"Backward graph ", AOT_STAGE_BACKWARD, "aot_backward_graph", true},
    {"Inference graph ", AOT_STAGE_INFERENCE, "aot_inference_graph", true},
    {"Compiled autograd graph", AOT_N_STAGES, "compiled_autograd_graph", false},
};

static const char *clean_text(logs *l, aot_slot *slot, const char *s, size_t *n, uint64_t line)
{
    aot_sb_clear(&l->clean);
    size_t bad = aot_import_clean(&l->clean, s, *n);
    if (bad == 0) {
        return s;
    }
    l->run->stats->damaged_records++;
    aot_assemble_note(l->run->units, slot, line, "damage",
                      "%zu byte%s no text and shown as U+FFFD", bad, bad == 1 ? " is" : "s are");
    *n = l->clean.n;
    return aot_sb_text(&l->clean);
}

/* A graph whose title was left out when the log was cut: the artifact tells which it is, or the
 * names of its arguments. False: not from the compiler. */
static bool untitled(const log_stream *st, const aot_block *b, aot_record *r)
{
    bool joint = strcmp(st->artifact, "aot_joint_graph") == 0;
    bool graphs = strcmp(st->artifact, "aot_graphs") == 0;
    if (strcmp(st->artifact, "graph_code") == 0) {
        r->stage = AOT_STAGE_DYNAMO;
    } else if (joint) {
        r->stage = AOT_STAGE_JOINT;
    } else {
        r->stage = aot_import_stage_of_text(b->text.d, b->text.n, AOT_N_STAGES);
        bool aot = r->stage == AOT_STAGE_JOINT || r->stage == AOT_STAGE_FORWARD ||
                   r->stage == AOT_STAGE_BACKWARD;
        if (!graphs) { // printed by the program itself, or the log has lost prefixes and titles
            if (aot) {
                aot_assemble_note(st->owner->run->units, NULL, b->line, "skipped",
                                  "a graph without a title was passed over");
            }
            return false;
        }
    }
    const char *name = aot_stage_get(r->stage)->log_name;
    r->name = name != NULL ? name : "graph";
    return true;
}

static void on_graph(void *arg, aot_block *b)
{
    log_stream *st = arg;
    logs *l = st->owner;
    char meta[sizeof st->place + 16];
    aot_record r = {.name = b->heading, .line = b->line, .stage = AOT_N_STAGES};
    if (st->place[0] != '\0') {
        snprintf(meta, sizeof meta, "{\"place\": \"%s\"}", st->place);
        r.meta = meta;
    }
    int aot_id = -1;
    if (b->heading[0] == '\0' && !untitled(st, b, &r)) {
        return; // a class that the program printed itself
    }
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++) {
        size_t len = strlen(headings[i].prefix);
        if (strncmp(b->heading, headings[i].prefix, len) == 0) {
            r.stage = headings[i].stage;
            r.name = headings[i].record != NULL ? headings[i].record : b->heading;
            if (headings[i].has_id && isdigit((unsigned char)b->heading[len])) {
                aot_id = (int)strtol(b->heading + len, NULL, 10);
            }
            break;
        }
    }
    l->run->stats->records++;
    aot_slot *slot = aot_assemble_slot(l->run->units, process_of(st), &st->key,
                                       r.stage != AOT_N_STAGES ? AOT_JOIN_GRAPH : AOT_JOIN_ANY,
                                       r.stage, aot_id, b->line);
    if (slot != NULL) {
        slot->headings = true;
    }
    if (b->state == AOT_BLOCK_BODY || b->open_return) {
        l->run->stats->damaged_records++;
        aot_assemble_note(l->run->units, slot, b->line, "damage",
                          "the graph that starts here (%.100s) breaks off before its return",
                          b->heading);
    }
    size_t n = b->text.n;
    r.text = clean_text(l, slot, b->text.d, &n, b->line);
    r.len = n;
    aot_assemble_record(l->run->units, slot, &st->key, &r);
    if (l->status == AOT_OK) {
        l->status = aot_assemble_deliver(l->run->units, false, l->err);
    }
}

/* "aot_config id: 0, fw_metadata=ViewAndMutationMeta(...), inner_meta=ViewAndMutationMeta(...)" */
static void on_metadata(logs *l, log_stream *st, const parts *p, uint64_t line)
{
    static const char what[] = ", fw_metadata=", inner[] = ", inner_meta=";
    const char *text = memmem(p->msg, p->n, what, sizeof what - 1);
    if (text == NULL) {
        return;
    }
    int aot_id = atoi(p->msg + strlen("aot_config id: "));
    text += sizeof what - 1;
    size_t n = p->n - (size_t)(text - p->msg);
    const char *in = memmem(text, n, inner, sizeof inner - 1);
    aot_slot *slot = aot_assemble_slot(l->run->units, process_of(st), &p->key, AOT_JOIN_META,
                                       AOT_N_STAGES, aot_id, line);
    aot_record r = {.name = "aot_forward_graph_fw_metadata", .line = line, .is_artifact = true,
                    .stage = AOT_N_STAGES};
    r.len = in != NULL ? (size_t)(in - text) : n;
    r.text = clean_text(l, slot, text, &r.len, line);
    l->run->stats->records++;
    aot_assemble_record(l->run->units, slot, &p->key, &r);
    size_t own = in != NULL ? (size_t)(in - text) : 0;
    if (in == NULL || n - own < sizeof inner - 1) {
        return;
    }
    in += sizeof inner - 1;
    size_t in_n = n - own - (sizeof inner - 1);
    if (in_n != own || memcmp(in, text, own) != 0) { // a wrapper subclass is inside
        r.name = "aot_forward_graph_fw_subclass_metadata";
        r.len = in_n;
        r.text = clean_text(l, slot, in, &r.len, line);
        aot_assemble_record(l->run->units, slot, &p->key, &r);
    }
}

/* "create_symbol s77 = 5 for L['x'].size()[0] [2, int_oo] ..." (TORCH_LOGS=dynamic) */
static void on_symbol(logs *l, log_stream *st, const parts *p, uint64_t line)
{
    const char *s = p->msg + strlen("create_symbol "), *end = p->msg + p->n;
    const char *eq = memmem(s, (size_t)(end - s), " = ", 3);
    const char *from = eq != NULL ? memmem(eq, (size_t)(end - eq), " for ", 5) : NULL;
    if (from == NULL || from - eq > 40) {
        return;
    }
    const char *range = memmem(from, (size_t)(end - from), " [", 2);
    const char *close = range != NULL ? memchr(range, ']', (size_t)(end - range)) : NULL;
    aot_slot *slot = aot_assemble_slot(l->run->units, process_of(st), &p->key, AOT_JOIN_FACT,
                                       AOT_N_STAGES, -1, line);
    aot_arena *a = slot->u->arena;
    char val[40], *rest;
    snprintf(val, sizeof val, "%.*s", (int)(from - eq - 3), eq + 3);
    aot_symbol sym = {.hint = strtoll(val, &rest, 10)};
    sym.has_hint = rest != val && *rest == '\0';
    sym.name = aot_arena_strndup(a, s, (size_t)(eq - s));
    from += 5;
    sym.source = aot_arena_strndup(
        a, from, range != NULL && range > from ? (size_t)(range - from) : (size_t)(end - from));
    sym.range = close != NULL ? aot_arena_strndup(a, range + 1, (size_t)(close - range)) : "";
    aot_vec_push(&slot->u->symbols, sym);
    l->run->stats->records++;
}

/* ---- streams ------------------------------------------------------------------------------- */

static bool is_stream(const log_stream *st, const parts *p)
{
    return st->rank == p->rank && st->bare == !p->prefixed && st->pid == p->pid &&
           strlen(st->artifact) == p->artifact_len &&
           memcmp(st->artifact, p->artifact, p->artifact_len) == 0;
}

static log_stream *stream_of(logs *l, parts *p)
{
    if (p->artifact_len >= sizeof l->streams.d[0]->artifact) {
        p->artifact_len = sizeof l->streams.d[0]->artifact - 1;
    }
    if (l->last < l->streams.n && is_stream(l->streams.d[l->last], p)) {
        return l->streams.d[l->last];
    }
    for (size_t i = 0; i < l->streams.n; i++) {
        if (is_stream(l->streams.d[i], p)) {
            l->last = i;
            return l->streams.d[i];
        }
    }
    log_stream *st;
    if (l->streams.n < MAX_STREAMS) {
        st = aot_xcalloc(1, sizeof *st);
        aot_vec_push(&l->streams, st);
        l->last = l->streams.n - 1;
    } else {
        l->last = l->next_victim++ % MAX_STREAMS;
        st = l->streams.d[l->last];
        aot_block_end(&st->block);
        aot_block_free(&st->block);
        memset(st, 0, sizeof *st);
    }
    st->owner = l;
    st->rank = p->rank;
    st->pid = st->process = p->pid;
    st->bare = !p->prefixed;
    memcpy(st->artifact, p->artifact, p->artifact_len);
    st->key = (aot_unit_key){p->rank, -1, -1, -1, -1, 0};
    st->block.arg = st;
    st->block.on_graph = on_graph;
    return st;
}

/* A message starts in a process: what its other messages hold is complete if it looks so. */
static void settle(logs *l, const log_stream *now)
{
    for (size_t i = 0; i < l->streams.n; i++) {
        log_stream *st = l->streams.d[i];
        if (st != now && st->rank == now->rank && (st->bare || st->pid == now->pid) &&
            st->block.state == AOT_BLOCK_DONE) {
            aot_block_end(&st->block);
        }
    }
}

static bool ends_with(const parts *p, const char *z)
{
    size_t len = strlen(z), n = p->n;
    while (n > 0 && p->msg[n - 1] == ' ') {
        n--;
    }
    return n >= len && memcmp(p->msg + n - len, z, len) == 0;
}

/* A title or a class of a graph. */
static bool opens_graph(const parts *p)
{
    size_t at;
    char name[8];
    return p->artifact_len > 0 && (aot_block_is_heading(p->msg, p->n, name, sizeof name) ||
                                   aot_block_is_class(p->msg, p->n, &at));
}

/* A line from inside a graph. */
static bool is_graph_body(const parts *p)
{
    bool graphs = p->artifact_len >= 4 && (memcmp(p->artifact, "aot_", 4) == 0 ||
                                           (p->artifact_len == 10 &&
                                            memcmp(p->artifact, "graph_code", 10) == 0));
    return graphs && p->n > 8 && memcmp(p->msg, "    ", 4) == 0;
}

/* A message with a graph starts. Its place in PyTorch's source tells versions apart; one that JSON
 * would have to escape is none. */
static void begin_graph(log_stream *st, const parts *p)
{
    bool odd = p->place_len >= sizeof st->place;
    for (size_t i = 0; i < p->place_len && !odd; i++) {
        odd = (unsigned char)p->place[i] < ' ' || strchr("\"\\\x7f", p->place[i]) != NULL ||
              (unsigned char)p->place[i] >= 0x80;
    }
    snprintf(st->place, sizeof st->place, "%.*s", odd ? 0 : (int)p->place_len, p->place);
    st->in_graph = true;
    st->prefix = p->prefix;
    st->key = p->key;
}

static void prefixed_line(logs *l, parts *p, uint64_t line)
{
    log_stream *st = stream_of(l, p);
    if (ends_with(p, "TRACED GRAPH")) {
        aot_block_end(&st->block);
        settle(l, st);
        begin_graph(st, p);
        // Formatters that prefix only a message's first line leave the rest to the bare stream.
        parts bare = {.rank = p->rank, .key = p->key, .artifact = ""};
        log_stream *rest = stream_of(l, &bare);
        if (rest->block.state == AOT_BLOCK_DONE || rest->block.state == AOT_BLOCK_IDLE) {
            aot_block_end(&rest->block);
            rest->key = p->key;
            rest->process = p->pid;
        }
        return;
    }
    bool metadata = p->n > 15 && memcmp(p->msg, "aot_config id: ", 15) == 0;
    if (st->in_graph && st->prefix == p->prefix && !metadata) {
        aot_block_line(&st->block, p->msg, p->n, line);
        return;
    }
    if (!metadata && opens_graph(p)) { // the log was cut: TRACED GRAPH is not there
        aot_block_end(&st->block);
        settle(l, st);
        begin_graph(st, p);
        aot_block_line(&st->block, p->msg, p->n, line);
        return;
    }
    if (!metadata && st->prefix != p->prefix && is_graph_body(p)) {
        l->run->stats->damaged_records++;
        aot_assemble_note(l->run->units, NULL, line, "skipped",
                          "a graph of %.40s whose first lines are not in the input was passed over",
                          st->artifact);
        st->prefix = p->prefix;
    }
    aot_block_end(&st->block);
    st->in_graph = false;
    if (metadata) {
        settle(l, st);
        on_metadata(l, st, p, line);
    } else if (p->n > 14 && memcmp(p->msg, "create_symbol ", 14) == 0) {
        on_symbol(l, st, p, line);
    }
}

/* A line without a prefix: part of a graph, or the metadata line of a log without prefixes. */
static void bare_line(logs *l, parts *p, uint64_t line)
{
    static const char mark[] = "aot_config id: ";
    log_stream *st = stream_of(l, p);
    size_t near = p->n < 120 ? p->n : 120; // "DEBUG:logger.name:" may stand before it
    const char *at = p->n > 20 ? memmem(p->msg, near, mark, sizeof mark - 1) : NULL;
    if (at != NULL && (at == p->msg || at[-1] == ':' || at[-1] == ' ')) {
        p->n -= (size_t)(at - p->msg);
        p->msg = at;
        p->key = st->key;
        if (st->block.state != AOT_BLOCK_BODY) {
            aot_block_end(&st->block);
        }
        settle(l, st);
        on_metadata(l, st, p, line);
        return;
    }
    aot_block_line(&st->block, p->msg, p->n, line);
}

/* ---- entry points -------------------------------------------------------------------------- */

static bool log_line(const char *s, size_t n)
{
    static const char *const signs[] = {"TRACED GRAPH", "[__graph_code]", "[__aot_",
                                        "===== Joint graph ", "===== Forward graph ",
                                        "===== Backward graph ", "===== __compiled_fn"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (memmem(s, n, signs[i], strlen(signs[i])) != NULL) {
            return true;
        }
    }
    return false;
}

bool aot_logs_sniff(const char *data, size_t n)
{
    return log_line(data, n); // no sign spans lines
}

aot_status aot_logs_read(aot_import_run *run, aot_err *err)
{
    logs l = {.run = run, .err = err};
    aot_line line;
    while (l.status == AOT_OK && aot_import_line(run, &line)) {
        parts p;
        const char *s = line.s;
        size_t n = line.n;
        if (n > 0 && memchr(s, 0x1b, n) != NULL) {
            strip_ansi(&l.plain, s, n);
            s = aot_sb_text(&l.plain);
            n = l.plain.n;
        }
        take_apart(&p, s, n, run->file_rank);
        if (p.prefixed) {
            prefixed_line(&l, &p, line.number);
        } else {
            bare_line(&l, &p, line.number);
        }
    }
    for (size_t i = 0; i < l.streams.n; i++) {
        if (l.status == AOT_OK) {
            aot_block_end(&l.streams.d[i]->block);
        }
        aot_block_free(&l.streams.d[i]->block);
        free(l.streams.d[i]);
    }
    aot_vec_free(&l.streams);
    aot_sb_free(&l.plain);
    aot_sb_free(&l.clean);
    return l.status;
}
