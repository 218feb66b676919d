/* Which calls a cache of fake tensors has answered before.
 *
 * PyTorch keeps what a call of an operator gave, by operator, arguments and, of tensors, sizes,
 * strides, type, offset and bytes of the storage; the same call again gives a new tensor of the
 * same sizes and strides that starts at the beginning of a storage of its own. So a repeated call
 * differs from the first one where that kept more memory than the result needs: copy, which clones
 * the whole storage, and the scatters, which keep what lies before their first argument.
 * Mirrors: torch/_subclasses/fake_tensor.py:FakeTensorMode._cached_dispatch_impl. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "exec/memsim_internal.h"

struct aot_fake_calls {
    uint64_t *slots; /* 0: free */
    size_t n, size;  /* size: a power of two */
};

aot_fake_calls *aot_fake_calls_new(void)
{
    aot_fake_calls *c = aot_xcalloc(1, sizeof *c);
    c->size = 64;
    c->slots = aot_xcalloc(c->size, sizeof *c->slots);
    return c;
}

aot_fake_calls *aot_fake_calls_copy(const aot_fake_calls *c)
{
    aot_fake_calls *to = aot_xcalloc(1, sizeof *to);
    *to = *c;
    to->slots = aot_xmalloc(c->size * sizeof *to->slots);
    memcpy(to->slots, c->slots, c->size * sizeof *to->slots);
    return to;
}

void aot_fake_calls_free(aot_fake_calls *c)
{
    if (c != NULL) {
        free(c->slots);
        free(c);
    }
}

/* Whether the key was there; it is afterwards. */
static bool enter(uint64_t *slots, size_t size, uint64_t key)
{
    size_t i = (size_t)key & (size - 1);
    while (slots[i] != 0 && slots[i] != key) {
        i = (i + 1) & (size - 1);
    }
    bool known = slots[i] == key;
    slots[i] = key;
    return known;
}

static bool seen_before(aot_fake_calls *c, uint64_t key)
{
    if (c->n * 2 >= c->size) {
        uint64_t *old = c->slots;
        size_t n_old = c->size;
        c->size *= 2;
        c->slots = aot_xcalloc(c->size, sizeof *c->slots);
        for (size_t i = 0; i < n_old; i++) {
            if (old[i] != 0) {
                enter(c->slots, c->size, old[i]);
            }
        }
        free(old);
    }
    bool known = enter(c->slots, c->size, key != 0 ? key : 1);
    c->n += !known;
    return known;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static uint64_t mix_tensor(const aot_sim *s, uint64_t h, aot_node_id id)
{
    const aot_ctx *c = s->g->ctx;
    const aot_meta *m = aot_meta_get(c, aot_node_at(s->g, id)->meta);
    h = aot_hash_mix(h, m->val);
    if (m->val != AOT_VAL_TENSOR) {
        return m->val == AOT_VAL_SYM ? aot_hash_mix(h, (uint64_t)aot_dim_size(c, &m->sym))
                                     : aot_hash_mix(h, id);
    }
    h = aot_hash_mix(aot_hash_mix(aot_hash_mix(h, m->dtype), m->ndim), m->device);
    for (unsigned i = 0; i < m->ndim; i++) {
        h = aot_hash_mix(h, (uint64_t)aot_dim_size(c, &aot_meta_sizes(c, m)[i]));
        h = m->has_stride ? aot_hash_mix(h, (uint64_t)aot_dim_size(c, &aot_meta_strides(c, m)[i]))
                          : h;
    }
    int64_t bytes = s->values[id].n == 1 ? s->storages.d[s->held.d[s->values[id].first]].bytes : -1;
    return aot_hash_mix(aot_hash_mix(h, (uint64_t)s->offset[id]), (uint64_t)bytes);
}

static uint64_t mix_args(const aot_sim *s, uint64_t h, const aot_arg *a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        h = aot_hash_mix(h, a[i].kind);
        if (a[i].kind == AOT_ARG_NODE) {
            h = mix_tensor(s, h, a[i].u.node);
        } else if (a[i].kind >= AOT_ARG_LIST) { // they nest one level at most in calls of this kind
            const aot_arg *items = aot_arg_items(s->g, &a[i]);
            h = aot_hash_mix(h, a[i].n);
            for (uint32_t k = 0; k < a[i].n; k++) {
                h = items[k].kind == AOT_ARG_NODE ? mix_tensor(s, h, items[k].u.node)
                                                  : aot_hash_mix(h, (uint64_t)items[k].u.i);
            }
        } else {
            uint64_t bits = 0;
            memcpy(&bits, &a[i].u,
                   a[i].kind == AOT_ARG_STR || a[i].kind == AOT_ARG_NAME ? sizeof(aot_str)
                                                                         : sizeof bits);
            h = aot_hash_mix(h, a[i].kind == AOT_ARG_NONE ? 0 : bits);
        }
    }
    return h;
}

bool aot_fake_call_repeats(const aot_sim *s, aot_node_id id)
{
    const aot_node *n = aot_node_at(s->g, id);
    if (s->opt->calls == NULL) {
        return false;
    }
    uint64_t h = aot_hash_mix(n->op, n->n_args);
    h = mix_args(s, h, aot_node_args(s->g, n), n->n_args);
    return seen_before(s->opt->calls, mix_args(s, h, aot_node_kwargs(s->g, n), 2u * n->n_kwargs));
}
