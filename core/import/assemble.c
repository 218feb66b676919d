/* Assembly of units.
 *
 * Slots stand in a queue in order of their first record. A record goes to the newest slot of its
 * process with its compile id and attempt; a record that a unit has only once (a compile start, a
 * joint graph, ...) and that this slot already has opens another slot:
 *
 *   dynamo_start 0/0, joint, forward | dynamo_start 0/0 (after a reset)   -> two units, split 0
 *   joint, forward, backward | joint (same compile, DDP's split graphs)   -> split 0 and split 1
 *
 * The queue's head is handed out when its process has moved on and enough later slots or bytes
 * wait behind it; until then late records (a backward that is compiled at its first call) still
 * find it. So memory is bounded by WINDOW_SLOTS and WINDOW_BYTES plus the open unit. */
#include "import/assemble.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_SLOTS = 48, WINDOW_MIN = 4, STALE_SLOTS = 256 };
static const size_t window_bytes = 16u << 20;

struct aot_assembler {
    const char *file, *version;
    const aot_import_sink *sink;
    aot_import_stats *stats;
    uint32_t *counter;
    aot_arena *arena;
    AOT_VEC(aot_slot *) slots; /* queue: slots.d[head ..] */
    size_t head, bytes;
    aot_slot *last;            /* of the last look-up */
    AOT_VEC(aot_unit_key) delivered; /* units that were handed out, for late backward graphs */
};

aot_assembler *aot_assembler_new(const char *file, const aot_import_sink *sink,
                                 aot_import_stats *stats, uint32_t *counter)
{
    aot_assembler *as = aot_xcalloc(1, sizeof *as);
    as->arena = aot_arena_new();
    as->file = aot_arena_strndup(as->arena, file, strlen(file));
    as->version = "";
    as->sink = sink;
    as->stats = stats;
    as->counter = counter;
    return as;
}

void aot_assembler_free(aot_assembler *as)
{
    if (as == NULL) {
        return;
    }
    for (size_t i = as->head; i < as->slots.n; i++) {
        aot_unit_free(as->slots.d[i]->u);
        free(as->slots.d[i]);
    }
    aot_vec_free(&as->slots);
    aot_vec_free(&as->delivered);
    aot_arena_free(as->arena);
    free(as);
}

/* ---- finding and opening slots ------------------------------------------------------------- */

static bool same_compile(const aot_unit_key *slot, const aot_unit_key *k)
{
    if (slot->compiled_autograd_id != k->compiled_autograd_id) {
        return false;
    }
    if (k->frame < 0 && k->compiled_autograd_id >= 0) {
        return true; // "!0": whatever frame that backward is compiled in
    }
    return slot->frame == k->frame && slot->compile == k->compile &&
           (slot->attempt == k->attempt || k->attempt < 0);
}

/* The newest slot of that compile; NULL. */
static aot_slot *newest(aot_assembler *as, uint64_t stream, const aot_unit_key *k)
{
    if (as->last != NULL && as->last->stream == stream && same_compile(&as->last->u->key, k)) {
        return as->last; // a newer one of the same key would have become the last
    }
    for (size_t i = as->slots.n; i > as->head; i--) {
        aot_slot *s = as->slots.d[i - 1];
        if (s->stream == stream && same_compile(&s->u->key, k)) {
            return s;
        }
    }
    return NULL;
}

static aot_slot *open_slot(aot_assembler *as, uint64_t stream, const aot_unit_key *k,
                           uint64_t line, const aot_slot *split_of)
{
    aot_slot *s = aot_xcalloc(1, sizeof *s);
    aot_unit *u = aot_xcalloc(1, sizeof *u);
    u->arena = aot_arena_new();
    u->key = *k;
    u->key.split = split_of != NULL ? split_of->u->key.split + 1 : 0;
    if (split_of != NULL && k->attempt < 0) {
        u->key.attempt = split_of->u->key.attempt;
    }
    u->input = aot_arena_strndup(u->arena, as->file, strlen(as->file));
    u->title = u->backend = "";
    u->torch_version = aot_arena_strndup(u->arena, as->version, strlen(as->version));
    u->aot_id = u->n_static_inputs = u->n_forward_outputs = -1;
    u->seconds = -1;
    s->u = u;
    s->stream = stream;
    s->line = line;
    s->fork = split_of != NULL;
    aot_vec_push(&as->slots, s);
    as->last = s;
    return s;
}

/* Records of "!0" alone come before its frame is known: that slot takes the frame's name. */
static aot_slot *adopt(aot_assembler *as, uint64_t stream, const aot_unit_key *k)
{
    if (k->compiled_autograd_id < 0 || k->frame < 0) {
        return NULL;
    }
    for (size_t i = as->slots.n; i > as->head; i--) {
        aot_slot *s = as->slots.d[i - 1];
        aot_unit_key *sk = &s->u->key;
        if (s->stream == stream && sk->compiled_autograd_id == k->compiled_autograd_id &&
            sk->frame < 0) {
            sk->frame = k->frame;
            sk->compile = k->compile;
            sk->attempt = k->attempt;
            as->last = s;
            return s;
        }
    }
    return NULL;
}

static bool has_aot_graph(const aot_unit *u)
{
    return aot_unit_stage(u, AOT_STAGE_JOINT) || aot_unit_stage(u, AOT_STAGE_FORWARD) ||
           aot_unit_stage(u, AOT_STAGE_BACKWARD) || aot_unit_stage(u, AOT_STAGE_INFERENCE) ||
           aot_unit_stage(u, AOT_STAGE_EXPORT);
}

static bool fits_id(const aot_slot *s, int aot_id)
{
    return aot_id < 0 || s->u->aot_id < 0 || s->u->aot_id == aot_id;
}

/* The unit a forward or backward graph completes: of the units of one compile, newest first, the
 * one with that AOT id or, ids unknown, the first that lacks the stage. */
static aot_slot *half_slot(aot_assembler *as, uint64_t stream, const aot_unit_key *k,
                           aot_stage stage, int aot_id)
{
    for (size_t i = as->slots.n; i > as->head; i--) {
        aot_slot *s = as->slots.d[i - 1];
        if (s->stream != stream || !same_compile(&s->u->key, k)) {
            continue;
        }
        bool lacks = aot_unit_stage(s->u, stage) == NULL &&
                     aot_unit_stage(s->u, AOT_STAGE_INFERENCE) == NULL &&
                     aot_unit_stage(s->u, AOT_STAGE_EXPORT) == NULL;
        if (lacks && fits_id(s, aot_id)) {
            return s;
        }
        if (s->u->key.split == 0 && aot_id < 0) {
            break; // what lies before is another compile under the same id
        }
    }
    return NULL;
}

static bool was_delivered(const aot_assembler *as, const aot_unit_key *k)
{
    size_t first = as->delivered.n > 4096 ? as->delivered.n - 4096 : 0;
    for (size_t i = as->delivered.n; i > first; i--) {
        if (same_compile(&as->delivered.d[i - 1], k) && as->delivered.d[i - 1].rank == k->rank) {
            return true;
        }
    }
    return false;
}

static aot_slot *graph_slot(aot_assembler *as, uint64_t stream, const aot_unit_key *k,
                            aot_stage stage, int aot_id, uint64_t line, aot_slot *found)
{
    switch (stage) {
    case AOT_STAGE_DYNAMO:
        if (found != NULL && (aot_unit_stage(found->u, stage) != NULL || has_aot_graph(found->u))) {
            return open_slot(as, stream, k, line, NULL);
        }
        break;
    case AOT_STAGE_FORWARD:
    case AOT_STAGE_BACKWARD: {
        aot_slot *half = half_slot(as, stream, k, stage, aot_id);
        if (half != NULL) {
            return half;
        }
        if (found == NULL && stage == AOT_STAGE_BACKWARD && was_delivered(as, k)) {
            return NULL;
        }
        return open_slot(as, stream, k, line, found);
    }
    default:
        if (found != NULL && (has_aot_graph(found->u) || !fits_id(found, aot_id))) {
            return open_slot(as, stream, k, line, found);
        }
        break;
    }
    return found != NULL ? found : open_slot(as, stream, k, line, NULL);
}

static aot_slot *meta_slot(aot_assembler *as, uint64_t stream, const aot_unit_key *k, int aot_id,
                           uint64_t line, aot_slot *found)
{
    for (size_t i = as->slots.n; aot_id >= 0 && i > as->head; i--) {
        aot_slot *s = as->slots.d[i - 1];
        if (s->stream == stream && same_compile(&s->u->key, k) && s->u->aot_id == aot_id) {
            return s;
        }
    }
    if (found != NULL && found->u->fw_metadata == NULL && fits_id(found, aot_id)) {
        return found;
    }
    return open_slot(as, stream, k, line, found);
}

aot_slot *aot_assemble_slot(aot_assembler *as, uint64_t stream, const aot_unit_key *key,
                            aot_join how, aot_stage stage, int aot_id, uint64_t line)
{
    aot_slot *s = newest(as, stream, key);
    if (s == NULL) {
        s = adopt(as, stream, key);
    }
    bool ids = key->frame >= 0 || key->compiled_autograd_id >= 0;
    switch (how) {
    case AOT_JOIN_ANY:
        if (s == NULL && ids) {
            s = open_slot(as, stream, key, line, NULL);
        }
        break;
    case AOT_JOIN_FACT:
        if (s == NULL || (!ids && aot_unit_stage(s->u, AOT_STAGE_EXPORT) != NULL)) {
            s = open_slot(as, stream, key, line, NULL);
        }
        break;
    case AOT_JOIN_START:
        if (s == NULL || s->started || has_aot_graph(s->u) ||
            aot_unit_stage(s->u, AOT_STAGE_DYNAMO) != NULL) {
            s = open_slot(as, stream, key, line, NULL);
        }
        s->started = true;
        break;
    case AOT_JOIN_META:
        s = meta_slot(as, stream, key, aot_id, line, s);
        break;
    case AOT_JOIN_GRAPH:
        s = graph_slot(as, stream, key, stage, aot_id, line, s);
        break;
    }
    if (s != NULL) {
        as->last = newest(as, stream, &s->u->key);
        if (aot_id >= 0 && s->u->aot_id < 0) {
            s->u->aot_id = aot_id;
        }
    }
    return s;
}

/* ---- records and notes --------------------------------------------------------------------- */

void aot_assemble_record(aot_assembler *as, aot_slot *slot, const aot_unit_key *key,
                         const aot_record *r)
{
    if (slot == NULL) {
        if (as->sink->on_loose != NULL) {
            as->sink->on_loose(as->sink->arg, key, r);
        }
        return;
    }
    aot_arena *a = slot->u->arena;
    aot_record c = *r;
    c.name = aot_arena_strndup(a, r->name, strlen(r->name));
    c.meta = r->meta != NULL ? aot_arena_strndup(a, r->meta, strlen(r->meta)) : NULL;
    c.text = r->text != NULL ? aot_arena_strndup(a, r->text, r->len) : NULL;
    aot_vec_push(&slot->u->records, c);
    if (slot->u->fw_metadata == NULL && strcmp(c.name, "aot_forward_graph_fw_metadata") == 0) {
        slot->u->fw_metadata = c.text;
    }
    size_t held = r->len + (r->meta != NULL ? strlen(r->meta) : 0) + 128;
    slot->bytes += held;
    as->bytes += held;
}

void aot_assemble_note(aot_assembler *as, aot_slot *slot, uint64_t line, const char *kind,
                       const char *fmt, ...)
{
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    aot_import_note n = {as->file, line, kind, text};
    if (slot == NULL) {
        if (as->sink->on_note != NULL) {
            as->sink->on_note(as->sink->arg, &n);
        }
        return;
    }
    n.file = slot->u->input;
    n.text = aot_arena_strndup(slot->u->arena, text, strlen(text));
    aot_vec_push(&slot->u->notes, n); // kind is a literal
}

void aot_assemble_version(aot_assembler *as, const char *version)
{
    if (version == NULL || strcmp(as->version, version) == 0) {
        return;
    }
    as->version = aot_arena_strndup(as->arena, version, strlen(version));
    for (size_t i = as->head; i < as->slots.n; i++) {
        aot_unit *u = as->slots.d[i]->u;
        if (u->torch_version[0] == '\0') {
            u->torch_version = aot_arena_strndup(u->arena, version, strlen(version));
        }
    }
}

/* ---- handing out --------------------------------------------------------------------------- */

static const char *dup_text(aot_arena *a, const char *s)
{
    return s != NULL ? aot_arena_strndup(a, s, strlen(s)) : NULL;
}

/* A further graph of the same compile has the same inputs, symbols, title and configuration. */
static void share_facts(aot_unit *to, const aot_unit *from, bool title)
{
    aot_arena *a = to->arena;
    size_t own_inputs = to->inputs.n, own_symbols = to->symbols.n;
    for (size_t i = 0; i < from->inputs.n && own_inputs == 0; i++) {
        aot_input_desc d = from->inputs.d[i];
        d.source = dup_text(a, d.source);
        d.dtype = dup_text(a, d.dtype);
        d.device = dup_text(a, d.device);
        d.size = dup_text(a, d.size);
        d.stride = dup_text(a, d.stride);
        aot_vec_push(&to->inputs, d);
    }
    for (size_t i = 0; i < from->symbols.n && own_symbols == 0; i++) {
        aot_symbol s = from->symbols.d[i];
        s.name = dup_text(a, s.name);
        s.source = dup_text(a, s.source);
        s.range = dup_text(a, s.range);
        aot_vec_push(&to->symbols, s);
    }
    if (title && to->title[0] == '\0') {
        to->title = dup_text(a, from->title);
    }
    if (to->torch_version[0] == '\0') {
        to->torch_version = dup_text(a, from->torch_version);
    }
    if (to->config == NULL && from->config != NULL) {
        to->config = json_deep_copy(from->config);
    }
}

static bool is_empty(const aot_unit *u)
{
    for (size_t i = 0; i < u->records.n; i++) {
        if (u->records.d[i].stage != AOT_N_STAGES) {
            return false;
        }
    }
    return u->cache == NULL || strcmp(u->cache, "hit") != 0;
}

/* A compile that made no graph (graph break, error, skipped frame) is no unit: its records are
 * handed out one by one. */
static void scatter(aot_assembler *as, aot_slot *s)
{
    aot_unit *u = s->u;
    const aot_record *error = aot_unit_record(u, "dynamo_error");
    const aot_record *broke = aot_unit_record(u, "dynamo_graph_break_reason");
    if (s->started) {
        char label[80];
        aot_assemble_note(as, NULL, s->line, "info", "%s%s%s made no graph%s",
                          aot_unit_label(&u->key, label, sizeof label),
                          u->title[0] != '\0' ? " " : "", u->title,
                          error != NULL   ? ": the compile ended with an error"
                          : broke != NULL ? ": graph break"
                                          : "");
    }
    for (size_t i = 0; i < u->notes.n && as->sink->on_note != NULL; i++) {
        as->sink->on_note(as->sink->arg, &u->notes.d[i]);
    }
    for (size_t i = 0; i < u->records.n && as->sink->on_loose != NULL; i++) {
        as->sink->on_loose(as->sink->arg, &u->key, &u->records.d[i]);
    }
    aot_unit_free(u);
}

static aot_status deliver_head(aot_assembler *as, aot_err *err)
{
    aot_slot *s = as->slots.d[as->head++];
    aot_unit *u = s->u;
    as->bytes -= s->bytes;
    if (as->last == s) {
        as->last = NULL;
    }
    aot_unit_finish(s);
    for (size_t i = as->head; i < as->slots.n; i++) {
        aot_slot *later = as->slots.d[i];
        if (later->fork && later->stream == s->stream &&
            later->u->key.split == u->key.split + 1 && same_compile(&later->u->key, &u->key)) {
            later->fork = false;
            share_facts(later->u, u, !later->headings); // graphs of logs name their source
            break;
        }
    }
    aot_status st = AOT_OK;
    if (is_empty(u)) {
        scatter(as, s);
    } else {
        u->index = (*as->counter)++;
        for (size_t i = 0; i < u->records.n; i++) {
            as->stats->graphs += u->records.d[i].stage != AOT_N_STAGES;
        }
        as->stats->units++;
        aot_vec_push(&as->delivered, u->key);
        if (as->sink->on_unit != NULL) {
            st = as->sink->on_unit(as->sink->arg, u, err);
        } else {
            aot_unit_free(u);
        }
    }
    free(s);
    return st;
}

static bool head_is_newest(const aot_assembler *as)
{
    const aot_slot *s = as->slots.d[as->head];
    for (size_t i = as->head + 1; i < as->slots.n; i++) {
        if (as->slots.d[i]->stream == s->stream) {
            return false;
        }
    }
    return true;
}

aot_status aot_assemble_deliver(aot_assembler *as, bool all, aot_err *err)
{
    aot_status st = AOT_OK;
    while (as->head < as->slots.n && st == AOT_OK) {
        size_t live = as->slots.n - as->head;
        bool full = live > WINDOW_SLOTS || (live > WINDOW_MIN && as->bytes > window_bytes);
        if (!all && (!full || (live < STALE_SLOTS && as->bytes < 4 * window_bytes &&
                               head_is_newest(as)))) {
            break;
        }
        st = deliver_head(as, err);
    }
    if (as->head > 64) {
        memmove(as->slots.d, as->slots.d + as->head,
                (as->slots.n - as->head) * sizeof *as->slots.d);
        as->slots.n -= as->head;
        as->head = 0;
    }
    return st;
}
