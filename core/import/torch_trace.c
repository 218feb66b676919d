/* TORCH_TRACE logs: one record a header line, its payload in the tabbed lines after it.
 *
 *   V1129 14:44:12.8 25371 torch/x.py:276] {"aot_joint_graph": {}, "frame_id": 0, ...,
 *                                            "has_payload": MD5}            (all one line)
 *   <TAB>class inner_f(torch.nn.Module):
 *   <TAB>    def forward(
 *
 * Headers are walked by json_scan, payloads are only copied: what a record is decides whether even
 * that is needed. A header that is no JSON is salvaged by name and ids: its payload is kept.
 * Mirrors: torch/_logging/_internal.py:trace_structured (the writer). */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/importer.h"
#include "import/json_scan.h"
#include "import/md5.h"
#include "import/trace.h"

enum { KEEP_MAX = 64 << 20, GRAPH_MAX = 1 << 30, MAX_UNKNOWN = 64, MAX_NOTES = 1000 };

static const aot_record_kind kinds[] = {
#define RECORD(name, stage, what) {name, AOT_##stage, AOT_DO_##what},
#include "import/records.def"
#undef RECORD
};

const aot_record_kind *aot_record_kind_find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strncmp(kinds[i].name, name, n) == 0 && kinds[i].name[n] == '\0') {
            return &kinds[i];
        }
    }
    return NULL;
}

/* A record whose payload is being read. */
typedef struct open_record {
    bool active, wanted, announced, cut;
    const aot_record_kind *kind;
    char name[128];
    aot_unit_key key;
    aot_sb meta, text;
    char sum[33];
    uint64_t header_line, line; /* line: of the payload */
    bool lost_tabs;   /* a copy of the log has no tabs: what follows the header is the payload */
    size_t indent;    /* blanks that stand for the tab */
    uint32_t blank;   /* empty lines that belong to the payload if more of it follows */
    size_t limit;
} open_record;

typedef struct unknown_name {
    char name[64];
    uint64_t count, line;
} unknown_name;

typedef struct trace {
    aot_import_run *run;
    aot_trace_facts facts;
    open_record rec;
    aot_unit_key last_key; /* of the last record that had one */
    unknown_name unknown[MAX_UNKNOWN];
    size_t n_unknown, n_notes;
    bool crlf, in_junk;
    bool last_differs; /* the last payload does not have its sum */
    aot_sb clean, header;
    aot_status status;
    aot_err *err;
} trace;

static bool is_header(const char *s, size_t n, size_t *json)
{
    int rank = -1;
    size_t at = aot_import_launcher(s, n, &rank);
    size_t len = aot_import_glog(s + at, n - at, NULL, NULL, NULL);
    *json = at + len;
    return len > 0 && *json + 1 < n && s[*json] == '{' && s[*json + 1] == '"';
}

static bool header_line(const char *s, size_t n)
{
    size_t json;
    return is_header(s, n, &json);
}

bool aot_trace_sniff(const char *data, size_t n)
{
    return aot_import_any_line(data, n, header_line);
}

/* ---- notes --------------------------------------------------------------------------------- */

static void damage(trace *t, uint64_t line, const char *what)
{
    t->run->stats->damaged_records++;
    if (t->n_notes < MAX_NOTES) {
        t->n_notes++;
        aot_assemble_note(t->run->units, NULL, line, "damage", "%s%s", what,
                          t->n_notes == MAX_NOTES ? " (further damage is only counted)" : "");
    }
}

static void skip_unknown(trace *t, aot_slice name, uint64_t line)
{
    t->run->stats->skipped_records++;
    size_t n = name.n < sizeof t->unknown->name - 1 ? name.n : sizeof t->unknown->name - 1;
    for (size_t i = 0; i < t->n_unknown; i++) {
        if (strlen(t->unknown[i].name) == n && memcmp(t->unknown[i].name, name.s, n) == 0) {
            t->unknown[i].count++;
            return;
        }
    }
    if (t->n_unknown < MAX_UNKNOWN) {
        unknown_name *u = &t->unknown[t->n_unknown++];
        memcpy(u->name, name.s, n);
        u->count = 1;
        u->line = line;
    }
}

static void note_unknown(trace *t)
{
    for (size_t i = 0; i < t->n_unknown; i++) {
        const unknown_name *u = &t->unknown[i];
        aot_sb name = {0};
        bool odd = aot_import_clean(&name, u->name, strlen(u->name)) > 0;
        aot_assemble_note(t->run->units, NULL, u->line, "skipped",
                          "%llu record%s of a kind that is not known: %s (first here)",
                          (unsigned long long)u->count, u->count == 1 ? "" : "s",
                          odd ? aot_sb_text(&name) : u->name);
        aot_sb_free(&name);
    }
}

/* ---- a record is complete ------------------------------------------------------------------ */

static const char *cleaned(trace *t, const char *s, size_t *n, uint64_t line, const char *name)
{
    aot_sb_clear(&t->clean);
    size_t bad = aot_import_clean(&t->clean, s, *n);
    if (bad == 0) {
        return s;
    }
    char what[256];
    snprintf(what, sizeof what, "%zu byte%s of %.100s %s no text and shown as U+FFFD", bad,
             bad == 1 ? "" : "s", name, bad == 1 ? "is" : "are");
    damage(t, line, what);
    *n = t->clean.n;
    return aot_sb_text(&t->clean);
}

/* "ExportedProgram:" + an indented class + its signature: the class alone is the graph. */
static void add_export(trace *t, aot_slot *slot, const aot_record *whole)
{
    aot_record r = *whole;
    aot_sb cls = {0};
    uint64_t line = aot_text_extract_class(&cls, whole->text, whole->len);
    if (line > 0) {
        r.text = aot_sb_text(&cls);
        r.len = cls.n;
        r.line += line - 1;
        aot_assemble_record(t->run->units, slot, &slot->u->key, &r);
        r = *whole;
        r.name = "exported_program_text";
        r.meta = NULL;
        r.stage = AOT_N_STAGES;
    }
    aot_assemble_record(t->run->units, slot, &slot->u->key, &r);
    aot_sb_free(&cls);
}

static aot_slot *slot_for(trace *t, const open_record *o, const char *name, aot_stage stage)
{
    aot_join how = stage != AOT_N_STAGES ? AOT_JOIN_GRAPH
                   : o->kind->what == AOT_DO_START ? AOT_JOIN_START
                   : o->kind->what == AOT_DO_FACT  ? AOT_JOIN_FACT
                   : strcmp(name, "aot_forward_graph_fw_metadata") == 0 ? AOT_JOIN_META
                                                                         : AOT_JOIN_ANY;
    uint64_t stream = (uint64_t)(int64_t)o->key.rank;
    return aot_assemble_slot(t->run->units, stream, &o->key, how, stage, -1, o->header_line);
}

static void check_sum(trace *t, aot_slot *slot, const open_record *o, const char *name)
{
    char sum[33];
    aot_md5_hex(aot_sb_text(&o->text), o->text.n, sum);
    t->last_differs = strcmp(sum, o->sum) != 0;
    if (!t->last_differs) {
        return;
    }
    t->run->stats->payload_mismatches++;
    if (slot != NULL && slot->n_mismatches++ == 0) {
        slot->mismatch_line = o->line;
        slot->mismatch_name = aot_arena_strndup(slot->u->arena, name, strlen(name));
    }
}

/* Name of the record: an artifact's or dump's own name. */
static const char *record_name(trace *t, open_record *o, char *buf, size_t size)
{
    if (strcmp(o->kind->name, "artifact") != 0 && strcmp(o->kind->name, "graph_dump") != 0) {
        return o->name;
    }
    aot_slice v = aot_json_get((aot_slice){o->meta.d, o->meta.n}, "name");
    aot_arena *a = aot_arena_new();
    const char *name = o->meta.n > 0 ? aot_json_text(a, v) : NULL;
    size_t n = name != NULL ? strlen(name) : 0;
    name = name != NULL ? cleaned(t, name, &n, o->header_line, "a name") : o->name;
    snprintf(buf, size, "%s", name);
    aot_arena_free(a);
    return buf;
}

static void check_payload(trace *t, open_record *o, aot_slot *slot, aot_record *r)
{
    const char *units_say = NULL;
    if (r->n_missing > 0) {
        units_say = o->announced ? "its payload was announced and is not there"
                                 : "it should have a payload and has none";
    } else if (o->cut) {
        units_say = "its payload is too big and was cut off";
    }
    if (units_say != NULL) {
        t->run->stats->damaged_records++;
        aot_assemble_note(t->run->units, slot, o->header_line,
                          r->n_missing > 0 ? "missing" : "damage", "%s: %s", r->name, units_say);
    } else if (o->announced && o->sum[0] != '\0') {
        check_sum(t, slot, o, r->name);
    }
    // Some artifacts that say json hold plain sentences.
    bool looks = r->is_json && r->text != NULL && r->len > 0 && strchr("{[", r->text[0]) != NULL;
    if (looks && r->len <= 1 << 20 && !aot_json_valid(r->text, r->len)) {
        damage(t, r->line, r->is_artifact ? "the artifact's payload is not valid JSON"
                                          : "the record's payload is not valid JSON");
    }
}

static void close_record(trace *t)
{
    open_record *o = &t->rec;
    if (!o->active) {
        return;
    }
    o->active = false;
    if (!o->wanted) {
        return;
    }
    char name[160];
    aot_record r = {.line = o->line, .stage = o->kind->stage};
    r.name = record_name(t, o, name, sizeof name);
    const aot_record_kind *inner = aot_record_kind_find(r.name, strlen(r.name));
    if (strcmp(o->kind->name, "graph_dump") == 0 && inner != NULL) {
        r.stage = inner->stage;
    }
    r.is_artifact = strcmp(o->kind->name, "artifact") == 0;
    r.is_json = strcmp(o->kind->name, "chromium_event") == 0 ||
                (r.is_artifact && strstr(aot_sb_text(&o->meta), "\"encoding\": \"json\"") != NULL);
    r.meta = o->meta.n > 2 ? aot_sb_text(&o->meta) : NULL;
    r.n_missing = o->line == 0 && (o->announced || r.stage != AOT_N_STAGES);
    if (o->line > 0) {
        r.text = aot_sb_text(&o->text);
        r.len = o->text.n;
    }
    if (r.n_missing > 0 && r.stage != AOT_N_STAGES) {
        r.stage = AOT_N_STAGES; // a graph without text is no graph; its note says so
    }
    aot_slot *slot = slot_for(t, o, r.name, o->line > 0 ? r.stage : AOT_N_STAGES);
    check_payload(t, o, slot, &r);
    if (r.text != NULL) {
        r.text = cleaned(t, r.text, &r.len, r.line, r.name);
    }
    if (slot != NULL && o->kind->what == AOT_DO_START) {
        aot_trace_start(&t->facts, slot->u, o->key.rank, (aot_slice){o->meta.d, o->meta.n});
    }
    if (strcmp(r.name, "torch_version") == 0 || strcmp(r.name, "compilation_metrics") == 0) {
        aot_trace_version(t->run->units, &r);
    }
    if (r.stage == AOT_STAGE_EXPORT && slot != NULL) {
        add_export(t, slot, &r);
    } else {
        aot_assemble_record(t->run->units, slot, &o->key, &r);
    }
    t->status = aot_assemble_deliver(t->run->units, false, t->err);
}

/* ---- headers ------------------------------------------------------------------------------- */

typedef struct header {
    aot_slice name, meta, sum;
    aot_unit_key key;
} header;

/* Keys that every record may have beside its own. */
static bool envelope(header *h, aot_slice key, aot_slice value)
{
    static const struct {
        const char *name;
        size_t offset;
    } ids[] = {
        {"frame_id", offsetof(aot_unit_key, frame)},
        {"frame_compile_id", offsetof(aot_unit_key, compile)},
        {"attempt", offsetof(aot_unit_key, attempt)},
        {"rank", offsetof(aot_unit_key, rank)},
        {"compiled_autograd_id", offsetof(aot_unit_key, compiled_autograd_id)},
    };
    static const char *const others[] = {"stack",    "process", "thread",   "pathname",
                                         "severity", "lineno",  "timestamp"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        if (aot_slice_is(key, ids[i].name)) {
            int64_t v = aot_json_int(value, -1);
            *(int *)((char *)&h->key + ids[i].offset) = v >= 0 && v < 1 << 30 ? (int)v : -1;
            return true;
        }
    }
    if (aot_slice_is(key, "has_payload")) {
        h->sum = value;
        return true;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (aot_slice_is(key, others[i])) {
            return true;
        }
    }
    return false;
}

static bool read_header(header *h, aot_slice json)
{
    aot_json_iter it;
    aot_slice key, value;
    aot_json_begin(&it, json);
    while (aot_json_next(&it, &key, &value)) {
        // The record's own key comes first; "stack" alone may also be a record's name.
        if (h->name.s == NULL && (!envelope(h, key, value) || h->meta.s != NULL)) {
            h->name = key;
            h->meta = value;
        } else if (h->name.s != NULL) {
            envelope(h, key, value);
        }
    }
    const char *rest = it.p < it.end && *it.p == '}' ? it.p + 1 : NULL;
    while (rest != NULL && rest < it.end && isspace((unsigned char)*rest)) {
        rest++;
    }
    return h->name.s != NULL && !it.bad && rest == it.end;
}

/* Name and ids of a header that is not JSON, by looking for them. */
static bool salvage(header *h, aot_slice json)
{
    static const char *const names[] = {"\"frame_id\": ", "\"frame_compile_id\": ",
                                        "\"attempt\": ", "\"rank\": "};
    int *const to[] = {&h->key.frame, &h->key.compile, &h->key.attempt, &h->key.rank};
    aot_slice name = {json.s + 2, 0};
    while (name.n + 2 < json.n &&
           (isalnum((unsigned char)name.s[name.n]) || name.s[name.n] == '_')) {
        name.n++;
    }
    h->name = name;
    h->meta = (aot_slice){"{}", 2};
    for (size_t i = 0; i < 4; i++) {
        const char *p = memmem(json.s, json.n, names[i], strlen(names[i]));
        if (p != NULL) {
            char buf[12] = "";
            p += strlen(names[i]);
            size_t n = (size_t)(json.s + json.n - p);
            memcpy(buf, p, n < 11 ? n : 11);
            *to[i] = isdigit((unsigned char)buf[0]) ? atoi(buf) : *to[i];
        }
    }
    const char *art = memmem(json.s, json.n, "{\"name\": \"", 10);
    const char *close = art != NULL ? memchr(art, '}', (size_t)(json.s + json.n - art)) : NULL;
    if (close != NULL && aot_json_valid(art, (size_t)(close + 1 - art))) {
        h->meta = (aot_slice){art, (size_t)(close + 1 - art)};
    }
    return name.n > 0 && aot_record_kind_find(name.s, name.n) != NULL;
}

static void open_payload(trace *t, const header *h, const aot_record_kind *kind, uint64_t line)
{
    open_record *o = &t->rec;
    o->active = o->wanted = true;
    o->cut = false;
    o->announced = h->sum.s != NULL;
    o->kind = kind;
    o->key = h->key;
    o->header_line = line;
    o->line = 0;
    o->blank = 0;
    o->indent = 0;
    o->lost_tabs = false;
    o->limit = kind->what == AOT_DO_GRAPH ? GRAPH_MAX : KEEP_MAX;
    snprintf(o->name, sizeof o->name, "%.*s", (int)(h->name.n < 100 ? h->name.n : 100), h->name.s);
    o->sum[0] = '\0';
    if (h->sum.n == 34) {
        memcpy(o->sum, h->sum.s + 1, 32);
        o->sum[32] = '\0';
    }
    aot_sb_clear(&o->text);
    aot_sb_clear(&o->meta);
    aot_sb_add(&o->meta, h->meta.s, h->meta.n);
}

static void on_header(trace *t, const aot_line *l, size_t json_at)
{
    header h = {.key = {-1, -1, -1, -1, -1, 0}};
    aot_slice json = {l->s + json_at, l->n - json_at};
    close_record(t);
    aot_sb_clear(&t->header);
    if (aot_import_clean(&t->header, json.s, json.n) > 0) {
        damage(t, l->number, "bytes of the record's header are no text and shown as U+FFFD");
        json = (aot_slice){t->header.d, t->header.n};
    }
    t->last_differs = false;
    t->crlf = l->cr;
    t->in_junk = false;
    aot_import_launcher(l->s, l->n, &h.key.rank);
    if (!read_header(&h, json)) {
        damage(t, l->number, "the record's header is not valid JSON");
        h = (header){.key = {-1, -1, -1, -1, -1, 0}};
        if (!salvage(&h, json)) {
            return;
        }
        if (h.key.frame < 0 || h.key.compile < 0) {
            h.key = t->last_key; // its neighbours' unit is the best guess
        }
    }
    if (h.key.rank < 0) {
        h.key.rank = t->run->file_rank;
    }
    if (h.key.frame >= 0 || h.key.compiled_autograd_id >= 0) {
        t->last_key = h.key;
    }
    const aot_record_kind *kind = aot_record_kind_find(h.name.s, h.name.n);
    t->rec.active = true;
    t->rec.wanted = false;
    if (kind == NULL) {
        skip_unknown(t, h.name, l->number);
        return;
    }
    t->run->stats->records++;
    if (kind->what == AOT_DO_DROP) {
        return;
    }
    if (kind->what == AOT_DO_FACT) {
        open_record o = {.kind = kind, .key = h.key, .header_line = l->number};
        aot_slot *slot = NULL;
        if (!aot_trace_is_string(&h.name)) {
            slot = slot_for(t, &o, kind->name, AOT_N_STAGES);
        }
        aot_trace_fact(&t->facts, slot != NULL ? slot->u : NULL, h.key.rank, h.name, h.meta);
        return;
    }
    open_payload(t, &h, kind, l->number);
    if (h.sum.s == NULL && kind->what != AOT_DO_GRAPH) {
        close_record(t); // nothing will follow
    }
}

/* text: the line without its tab. */
static void on_payload(trace *t, const aot_line *l, const char *text, size_t n)
{
    open_record *o = &t->rec;
    if (!o->active || !o->wanted) {
        if (!o->active) {
            damage(t, l->number, "a payload line that belongs to no record");
            o->active = true; // one note for all of them
            o->wanted = false;
        }
        return;
    }
    if (o->text.n + n > o->limit || l->cut) {
        o->cut = true;
        return;
    }
    if (o->line == 0) {
        o->line = l->number;
    } else {
        aot_sb_addc(&o->text, '\n');
    }
    aot_sb_pad(&o->text, '\n', o->blank);
    o->blank = 0;
    aot_sb_add(&o->text, text, n);
    if (l->cr && !t->crlf) {
        aot_sb_addc(&o->text, '\r'); // the payload's own
    }
}

/* Copies of a log may have blanks for the tabs, or nothing. True if the line is payload. */
static bool lost_tab(trace *t, const aot_line *l)
{
    static const char *const starts[] = {"class ", "{", "[", "ViewAndMutationMeta(",
                                         "SubclassMeta("};
    open_record *o = &t->rec;
    size_t in = 0;
    if (!o->active || !o->wanted || !o->announced || l->cut) {
        return false;
    }
    while (in < l->n && l->s[in] == ' ') {
        in++;
    }
    for (size_t i = 0; i < sizeof starts / sizeof *starts && o->line == 0; i++) {
        size_t len = strlen(starts[i]);
        if (l->n - in >= len && memcmp(l->s + in, starts[i], len) == 0) {
            o->lost_tabs = true;
            o->indent = in;
            break;
        }
    }
    bool one_line = o->kind->what == AOT_DO_GRAPH && o->line > 0 && in >= 4 && in < l->n;
    if (!o->lost_tabs && !one_line) {
        return false;
    }
    if (!t->in_junk) {
        t->in_junk = true;
        damage(t, l->number, "the tab before a payload line is missing: read all the same");
    }
    size_t skip = o->indent < in ? o->indent : in;
    on_payload(t, l, l->s + skip, l->n - skip);
    return true;
}

static void on_junk(trace *t, const aot_line *l)
{
    if (l->n == 0 && t->rec.active) {
        t->rec.blank++; // an editor took the blanks off an empty payload line
        return;
    }
    if (lost_tab(t, l)) {
        return;
    }
    if (!t->in_junk) {
        t->in_junk = true;
        damage(t, l->number, l->cut ? "a line longer than 256 MiB was passed over"
                                    : "not a line of a trace log: passed over");
    }
}

aot_status aot_trace_read(aot_import_run *run, aot_err *err)
{
    trace *t = aot_xcalloc(1, sizeof *t);
    t->run = run;
    t->err = err;
    t->last_key = (aot_unit_key){run->file_rank, -1, -1, -1, -1, 0};
    aot_line l, last = {0};
    size_t json;
    while (t->status == AOT_OK && aot_import_line(run, &l)) {
        size_t at = 0;
        if (l.n > 0 && l.s[0] == '[') { // a launcher's prefix before every line
            int rank;
            at = aot_import_launcher(l.s, l.n, &rank);
        }
        if (at < l.n && l.s[at] == '\t') {
            t->in_junk = false;
            on_payload(t, &l, l.s + at + 1, l.n - at - 1);
        } else if (is_header(l.s, l.n, &json)) {
            on_header(t, &l, json);
        } else {
            on_junk(t, &l);
        }
        last = l;
    }
    if (t->status == AOT_OK) {
        close_record(t);
        if (t->last_differs || t->rec.line == 0) {
            aot_import_check_end(run, &last);
        }
        note_unknown(t);
    }
    aot_status st = t->status;
    aot_trace_facts_free(&t->facts);
    aot_sb_free(&t->rec.meta);
    aot_sb_free(&t->rec.text);
    aot_sb_free(&t->clean);
    aot_sb_free(&t->header);
    free(t);
    return st;
}
