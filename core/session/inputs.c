/* What the partitioner is told about a unit beyond its joint graph: which primals live as long as
 * the model (parameters, buffers), which share memory, and how many outputs the forward has.
 *
 * Memory sharing is described by Dynamo for its own inputs, by source: L['m']._parameters['w'].
 * Dynamo names the placeholder after the source, other characters than letters and digits becoming
 * one underscore: L_m_parameters_w_. A primal says by its descriptor (PlainAOTInput(idx=3)) which
 * placeholder it is. Whatever does not match is taken to be alone; if nothing is shared there is
 * nothing to find, and no graph is read. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "import/fw_metadata.h"
#include "base/hash.h"
#include "ir/text.h"
#include "partition/edits.h"
#include "rules/fake.h"
#include "session/derive.h"
#include "session/model.h"

aot_ctx *aot_unit_new_ctx(const aot_unit *u)
{
    aot_ctx *c = aot_ctx_new();
    for (size_t i = 0; i < u->symbols.n; i++) {
        if (u->symbols.d[i].has_hint && u->symbols.d[i].name != NULL) {
            aot_ctx_set_hint(c, u->symbols.d[i].name, u->symbols.d[i].hint);
        }
    }
    aot_unit_set_constants(u, c);
    return c;
}

static bool same_storage(const aot_input_desc *a, const aot_input_desc *b)
{
    return a->describer == b->describer && a->storage == b->storage;
}

static int by_storage(const void *pa, const void *pb)
{
    const aot_input_desc *a = *(const aot_input_desc *const *)pa;
    const aot_input_desc *b = *(const aot_input_desc *const *)pb;
    if (a->describer != b->describer) {
        return a->describer < b->describer ? -1 : 1;
    }
    if (a->storage != b->storage) {
        return a->storage < b->storage ? -1 : 1;
    }
    return (a > b) - (a < b); // inputs of a unit are one array: the first comes first
}

static bool any_shared(const aot_unit *u)
{
    AOT_VEC(const aot_input_desc *) v = {0};
    for (size_t i = 0; i < u->inputs.n; i++) {
        if (u->inputs.d[i].source != NULL && u->inputs.d[i].storage >= 0) {
            aot_vec_push(&v, &u->inputs.d[i]);
        }
    }
    bool shared = false;
    if (v.n > 1) {
        qsort(v.d, v.n, sizeof *v.d, by_storage);
        for (size_t i = 1; i < v.n && !shared; i++) {
            shared =
                same_storage(v.d[i - 1], v.d[i]) && strcmp(v.d[i - 1]->source, v.d[i]->source) != 0;
        }
    }
    aot_vec_free(&v);
    return shared;
}

/* True if a placeholder was named after a source: equal when runs of other characters than letters
 * and digits count as one underscore each, and none at the end. */
static bool named_after(const char *placeholder, const char *source)
{
    const char *a = placeholder, *b = source;
    while (*a != 0 || *b != 0) {
        bool wa = isalnum((unsigned char)*a) != 0, wb = isalnum((unsigned char)*b) != 0;
        if (wa != wb || (wa && *a != *b)) {
            return false;
        }
        if (wa) {
            a++;
            b++;
        } else {
            while (*a != 0 && !isalnum((unsigned char)*a)) {
                a++;
            }
            while (*b != 0 && !isalnum((unsigned char)*b)) {
                b++;
            }
        }
    }
    return true;
}

/* ---- inputs by name and by memory: a unit may have thousands --------------------------------- */

/* The hash of a name as named_after sees it. */
static uint64_t name_key(const char *s)
{
    uint64_t h = 0;
    for (bool gap = false; *s != '\0'; s++) {
        if (isalnum((unsigned char)*s) == 0) {
            gap = true;
            continue;
        }
        h = gap ? aot_hash_mix(h, '_') : h;
        h = aot_hash_mix(h, (unsigned char)*s);
        gap = false;
    }
    return h;
}

typedef struct named_input {
    uint64_t key;
    uint32_t index;
} named_input;

typedef struct input_index {
    const aot_unit *u;
    named_input *by_name; /* sorted; inputs without a source are not in it */
    size_t n;
    bool as_attributes; /* sources without what stands before the first name */
    /* the first input with the same memory: a number that no other memory has */
    int *first_sharing;
} input_index;

/* An attribute is named after its source without the L[...] around the first name. */
static const char *indexed_source(const aot_input_desc *d, bool as_attribute)
{
    const char *s = d->source;
    if (s == NULL || !as_attribute) {
        return s;
    }
    s = *s == 'L' ? s + 1 : "";
    while (*s != '\0' && !isalnum((unsigned char)*s)) {
        s++;
    }
    return *s != '\0' ? s : NULL;
}

static int by_key(const void *a, const void *b)
{
    const named_input *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->index > y->index) - (x->index < y->index);
}

static void index_names(input_index *ix)
{
    const aot_unit *u = ix->u;
    ix->by_name = aot_xcalloc(u->inputs.n + 1, sizeof *ix->by_name);
    for (size_t k = 0; k < u->inputs.n; k++) {
        const char *s = indexed_source(&u->inputs.d[k], ix->as_attributes);
        if (s != NULL) {
            ix->by_name[ix->n++] = (named_input){name_key(s), (uint32_t)k};
        }
    }
    qsort(ix->by_name, ix->n, sizeof *ix->by_name, by_key);
}

static void index_storages(input_index *ix)
{
    const aot_unit *u = ix->u;
    const aot_input_desc **v = aot_xcalloc(u->inputs.n + 1, sizeof *v);
    ix->first_sharing = aot_xcalloc(u->inputs.n + 1, sizeof *ix->first_sharing);
    for (size_t k = 0; k < u->inputs.n; k++) {
        v[k] = &u->inputs.d[k];
    }
    qsort(v, u->inputs.n, sizeof *v, by_storage);
    for (size_t k = 0, head = 0; k < u->inputs.n; k++) {
        head = same_storage(v[head], v[k]) ? head : k;
        ix->first_sharing[v[k] - u->inputs.d] = (int)(v[head] - u->inputs.d);
    }
    free(v);
}

static input_index index_of(const aot_unit *u, bool as_attributes)
{
    input_index ix = {.u = u, .as_attributes = as_attributes};
    index_names(&ix);
    if (!as_attributes) { // memory is asked of one index only
        index_storages(&ix);
    }
    return ix;
}

static void index_free(input_index *ix)
{
    free(ix->by_name);
    free(ix->first_sharing);
}

/* The first input that a placeholder or attribute is named after; NULL if none is. */
static const aot_input_desc *find_named(const input_index *ix, const char *name)
{
    uint64_t key = name_key(name);
    size_t low = 0, high = ix->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ix->by_name[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < ix->n && ix->by_name[low].key == key; low++) {
        const aot_input_desc *d = &ix->u->inputs.d[ix->by_name[low].index];
        if (named_after(name, indexed_source(d, ix->as_attributes))) {
            return d;
        }
    }
    return NULL;
}

/* "PlainAOTInput(idx=3)" -> 3; ViewBaseAOTInput(base_of=PlainAOTInput(idx=0)) -> 0; else -1. */
static int input_of_descriptor(const char *desc)
{
    const char *p = strstr(desc, "PlainAOTInput(idx=");
    return p != NULL ? atoi(p + strlen("PlainAOTInput(idx=")) : -1;
}

static bool is_primal(const aot_graph *g, const aot_node *n)
{
    return n->kind == AOT_PLACEHOLDER && strstr(aot_text(g->ctx, n->target), "tangents") == NULL;
}

/* storage[k] of each Dynamo placeholder, -1 unknown; NULL if the Dynamo graph is not there. */
static int *dynamo_storages(const aot_unit *u, size_t *n_out)
{
    const aot_record *rec = aot_unit_stage(u, AOT_STAGE_DYNAMO);
    if (rec == NULL || rec->text == NULL) {
        return NULL;
    }
    aot_ctx *c = aot_unit_new_ctx(u);
    aot_graph *g = NULL;
    int *storage = NULL;
    size_t n = 0;
    if (aot_parse_graph(&g, c, rec->text, rec->len, 1, NULL) == AOT_OK) {
        input_index ix = index_of(u, false);
        storage = aot_xmalloc((g->nodes.n + 1) * sizeof *storage);
        for (size_t i = 0; i < g->nodes.n; i++) {
            if (g->nodes.d[i].kind != AOT_PLACEHOLDER) {
                continue;
            }
            storage[n] = -1;
            const char *name = aot_text(c, g->nodes.d[i].target);
            const aot_input_desc *d = find_named(&ix, name);
            if (d != NULL && d->storage >= 0) {
                storage[n] = ix.first_sharing[d - u->inputs.d];
            }
            n++;
        }
        index_free(&ix);
    }
    aot_ctx_free(c);
    *n_out = n;
    return storage;
}

/* Which Dynamo input the k-th primal is; -1: unknown. */
static int dynamo_input(const aot_graph *joint, const aot_node *n, size_t k, size_t n_primals,
                        size_t n_dynamo)
{
    int which = n->desc != 0            ? input_of_descriptor(aot_text(joint->ctx, n->desc))
                : n_primals == n_dynamo ? (int)k
                                        : -1;
    return which >= 0 && (size_t)which < n_dynamo ? which : -1;
}

static void set_storages(aot_partition_in *in, const aot_unit *u, const aot_graph *joint)
{
    size_t n_dynamo = 0;
    int *of_dynamo = any_shared(u) ? dynamo_storages(u, &n_dynamo) : NULL;
    if (of_dynamo == NULL) {
        return;
    }
    size_t n_primals = 0;
    for (size_t i = 0; i < joint->nodes.n; i++) {
        n_primals += is_primal(joint, &joint->nodes.d[i]);
    }
    int *storage = AOT_NEW_ARRAY(joint->ctx->arena, int, n_primals);
    int alone = -2; /* a number of its own for each primal that shares with nobody we know */
    size_t k = 0;
    for (size_t i = 0; i < joint->nodes.n; i++) {
        const aot_node *n = &joint->nodes.d[i];
        if (!is_primal(joint, n)) {
            continue;
        }
        int which = dynamo_input(joint, n, k, n_primals, n_dynamo);
        bool known = which >= 0 && of_dynamo[which] >= 0;
        storage[k++] = known ? of_dynamo[which] : alone--;
    }
    in->primal_storage = storage;
    in->n_primal_storage = (int)n_primals;
    free(of_dynamo);
}

/* Paths of the parameters and buffers among the Dynamo graph's inputs; NULL without such a
 * graph. */
static const char **dynamo_paths(const aot_unit *u, aot_arena *a, size_t *n_out)
{
    const aot_record *rec = aot_unit_stage(u, AOT_STAGE_DYNAMO);
    aot_ctx *c = aot_unit_new_ctx(u);
    aot_graph *g = NULL;
    const char **paths = NULL;
    if (rec != NULL && rec->text != NULL &&
        aot_parse_graph(&g, c, rec->text, rec->len, 1, NULL) == AOT_OK) {
        input_index ix = index_of(u, false);
        aot_sb path = {0};
        paths = AOT_NEW_ARRAY(a, const char *, g->nodes.n + 1);
        *n_out = 0;
        for (size_t i = 0; i < g->nodes.n; i++) {
            if (g->nodes.d[i].kind != AOT_PLACEHOLDER) {
                continue;
            }
            const aot_input_desc *d = find_named(&ix, aot_text(c, g->nodes.d[i].target));
            aot_sb_clear(&path);
            if (d != NULL && d->source != NULL && aot_source_path(&path, d->source) != NULL) {
                paths[*n_out] = aot_arena_strndup(a, path.d, path.n);
            }
            ++*n_out;
        }
        aot_sb_free(&path);
        index_free(&ix);
    }
    aot_ctx_free(c);
    return paths;
}

const char *const *aot_unit_param_paths(const aot_unit *u, const aot_graph *joint, uint32_t *n_out)
{
    aot_arena *a = joint->ctx->arena;
    size_t n_dynamo = 0, n_primals = 0, k = 0;
    const char **of_dynamo = dynamo_paths(u, a, &n_dynamo);
    if (of_dynamo == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < joint->nodes.n; i++) {
        n_primals += is_primal(joint, &joint->nodes.d[i]);
    }
    const char **paths = AOT_NEW_ARRAY(a, const char *, n_primals + 1);
    for (size_t i = 0; i < joint->nodes.n; i++) {
        if (is_primal(joint, &joint->nodes.d[i])) {
            int which = dynamo_input(joint, &joint->nodes.d[i], k, n_primals, n_dynamo);
            paths[k++] = which >= 0 ? of_dynamo[which] : NULL;
        }
    }
    *n_out = (uint32_t)n_primals;
    return paths;
}

const char *aot_input_source(const aot_unit *u, const char *placeholder)
{
    for (size_t k = 0; k < u->inputs.n; k++) {
        const char *source = u->inputs.d[k].source;
        if (source != NULL && named_after(placeholder, source)) {
            return source;
        }
    }
    return NULL;
}

/* The described tensor whose view d is: it has the same memory and is no view. */
static const aot_input_desc *base_of(const aot_unit *u, const aot_input_desc *d)
{
    for (size_t k = 0; d->is_view && k < u->inputs.n; k++) {
        const aot_input_desc *b = &u->inputs.d[k];
        if (b != d && !b->is_view && b->storage >= 0 && same_storage(b, d)) {
            return b;
        }
    }
    return NULL;
}

static unsigned read_dims(const char *json, aot_dim out[AOT_FAKE_MAX_NDIM])
{
    unsigned n = 0;
    for (const char *p = json; *p != '\0' && n < AOT_FAKE_MAX_NDIM;) {
        char *end;
        long long v = strtoll(p, &end, 10);
        if (end > p) {
            out[n++] = aot_dim_of(v);
            p = end;
        } else {
            p++;
        }
    }
    return n;
}

static aot_meta_id described_type(aot_ctx *c, const aot_input_desc *d, aot_str device)
{
    aot_dim size[AOT_FAKE_MAX_NDIM], stride[AOT_FAKE_MAX_NDIM];
    unsigned n = read_dims(d->size, size);
    aot_dtype dtype = aot_dtype_of_torch(d->dtype, strlen(d->dtype));
    return dtype == AOT_NO_DTYPE || read_dims(d->stride, stride) != n
               ? 0
               : aot_ctx_tensor_meta(c, dtype, size, stride, n, device);
}

static bool same_sizes(const aot_ctx *c, const aot_input_desc *d, aot_meta_id meta)
{
    aot_dim size[AOT_FAKE_MAX_NDIM], stride[AOT_FAKE_MAX_NDIM];
    aot_fake f = aot_fake_of_meta(c, meta);
    unsigned n = read_dims(d->size, size);
    bool same = f.val == AOT_VAL_TENSOR && n == f.ndim && read_dims(d->stride, stride) == n &&
                aot_dtype_of_torch(d->dtype, strlen(d->dtype)) == (aot_dtype)f.dtype;
    for (unsigned i = 0; same && i < n; i++) {
        same = size[i].value == f.size[i].value && stride[i].value == f.stride[i].value;
    }
    return same;
}

/* A tensor that was described as the base of an earlier input is not described again when it is an
 * input itself: it has no source. The first one of the placeholder's type that is not taken. */
static const aot_input_desc *described_as_base(const aot_unit *u, const aot_ctx *c,
                                               aot_meta_id meta, uint8_t *taken)
{
    for (size_t k = 0; k < u->inputs.n; k++) {
        const aot_input_desc *v = &u->inputs.d[k], *b = base_of(u, v);
        size_t i = b != NULL ? (size_t)(b - u->inputs.d) : 0;
        if (b != NULL && b->source[0] == '\0' && !taken[i] && same_sizes(c, b, meta)) {
            taken[i] = 1;
            return b;
        }
    }
    return NULL;
}

static void describe(aot_capture_input *x, const input_index *ix, const aot_input_desc *d,
                     aot_ctx *c, aot_str device)
{
    const aot_unit *u = ix->u;
    const aot_input_desc *base = base_of(u, d);
    x->requires_grad = d->requires_grad;
    x->is_leaf = d->is_leaf;
    x->is_parameter = d->is_parameter;
    x->is_static = d->is_parameter;
    x->is_view = d->is_view;
    x->tensor = d->tensor;
    x->offset = d->offset;
    x->storage_bytes = d->storage_bytes;
    x->storage = d->storage < 0 ? -1 : ix->first_sharing[d - u->inputs.d];
    x->base = base != NULL ? described_type(c, base, device) : 0;
}

/* What the recorded ViewAndMutationMeta says of the inputs: it lists all of them in order, unless
 * some were dropped or made into one before it was taken. False: nothing that is of use. */
static bool metadata_of_inputs(aot_fw_metadata *m, const aot_unit *u, const aot_graph *dynamo)
{
    int n = 0;
    for (size_t i = 0; i < dynamo->nodes.n; i++) {
        if (dynamo->nodes.d[i].kind == AOT_GET_ATTR && dynamo->nodes.d[i].subgraph == 0) {
            return false; // which of them are inputs, and in which order, is not said
        }
        n += dynamo->nodes.d[i].kind == AOT_PLACEHOLDER;
    }
    return u->fw_metadata != NULL &&
           aot_fw_metadata_parse(m, dynamo->ctx->arena, u->fw_metadata, strlen(u->fw_metadata)) &&
           m->n_inputs == n;
}

static bool may_require_grad(const aot_graph *g, const aot_node *n)
{
    aot_fake f = aot_fake_of_meta(g->ctx, n->meta);
    char kind = f.val == AOT_VAL_TENSOR ? aot_dtype_get((aot_dtype)f.dtype)->kind : ' ';
    return kind == 'f' || kind == 'c';
}

bool aot_gradients_unsaid(const aot_unit *u, const aot_graph *dynamo)
{
    const aot_capture_input *in = aot_capture_inputs(u, dynamo);
    for (size_t i = 0; i < dynamo->nodes.n; i++) {
        const aot_node *n = aot_node_at(dynamo, (aot_node_id)i);
        if (n->kind == AOT_PLACEHOLDER && in[i].gradient_unsaid && may_require_grad(dynamo, n)) {
            return true;
        }
    }
    return false;
}

aot_capture_input *aot_capture_inputs(const aot_unit *u, const aot_graph *dynamo)
{
    aot_ctx *c = dynamo->ctx;
    aot_capture_input *in = AOT_NEW_ARRAY(c->arena, aot_capture_input, dynamo->nodes.n + 1);
    uint8_t *taken = AOT_NEW_ARRAY(c->arena, uint8_t, u->inputs.n + 1);
    aot_fw_metadata m = {0};
    bool listed = false, asked = false; // read where an input is not described
    int n_placeholders = 0;
    input_index inputs = index_of(u, false), attributes = index_of(u, true);
    for (size_t i = 0; i < dynamo->nodes.n; i++) {
        const aot_node *n = &dynamo->nodes.d[i];
        if (n->kind != AOT_PLACEHOLDER && n->kind != AOT_GET_ATTR) {
            continue;
        }
        const char *name = aot_text(c, n->target);
        const aot_input_desc *d =
            find_named(n->kind == AOT_PLACEHOLDER ? &inputs : &attributes, name);
        if (d == NULL && n->kind == AOT_PLACEHOLDER) {
            d = described_as_base(u, c, n->meta, taken);
        }
        in[i] = (aot_capture_input){
            .storage = -1, .storage_bytes = -1, .is_leaf = true, .tensor = -1};
        int k = n->kind == AOT_PLACEHOLDER ? n_placeholders++ : -1;
        if (d != NULL) {
            describe(&in[i], &inputs, d, c, aot_meta_get(c, n->meta)->device);
        } else {
            listed = asked ? listed : metadata_of_inputs(&m, u, dynamo);
            asked = true;
            in[i].is_parameter = in[i].requires_grad = strstr(name, "_parameters_") != NULL;
            in[i].gradient_unsaid = !listed;
            if (listed && k >= 0) {
                in[i].requires_grad = m.inputs[k].requires_grad;
                in[i].is_leaf = m.inputs[k].is_leaf;
                // taken after the call: what is written into it may have made it require grad
                in[i].gradient_unsaid = m.inputs[k].mutates_data && m.inputs[k].requires_grad;
            }
        }
        in[i].is_static |=
            strstr(name, "_parameters_") != NULL || strstr(name, "_buffers_") != NULL;
    }
    index_free(&inputs);
    index_free(&attributes);
    return in;
}

void aot_partition_inputs(aot_partition_in *in, const aot_unit *u, const aot_graph *joint)
{
    *in = (aot_partition_in){.joint = joint, .n_forward_outputs = -1, .n_static_inputs = -1};
    if (u->n_static_inputs >= 0) {
        in->static_inputs = u->static_inputs;
        in->n_static_inputs = u->n_static_inputs;
    }
    if (joint->out_descs.n == 0) {
        in->n_forward_outputs = u->n_forward_outputs;
    }
    set_storages(in, u, joint);
    in->edits = u->edits;
    if (aot_edits_need_modules(u->edits)) {
        in->param_paths = aot_unit_param_paths(u, joint, &in->n_param_paths);
    }
}
