/* rand, randn and randint draw from Inductor's generator: a seed for each call, then all seeds of a
 * device at once.
 * Mirrors: torch/_inductor/fx_passes/replace_random.py. */
#include <stdlib.h>
#include <string.h>

#include "joint/internal.h"

static const aot_arg *kwarg(const fx *f, uint32_t id, const char *name)
{
    const aot_arg *a = aot_node_kwarg(f->g, fx_node(f, id), name);
    return a != NULL && a->kind != AOT_ARG_NONE ? a : NULL;
}

static void set_type(fx *f, uint32_t id, aot_dtype d, const aot_fake *like, bool scalar)
{
    aot_fake t = aot_fake_new(d, scalar ? 0 : like->ndim, like->size, like->device);
    fx_node(f, id)->meta = aot_fake_meta(f->c, &t);
}

/* A call that takes over source line and tags of the one it stands for. */
static uint32_t call(fx *f, uint32_t from, const char *target, const aot_arg *args, uint32_t n)
{
    uint32_t id = fx_call(f, target, args, n, NULL, 0);
    fx_node(f, id)->src = fx_node(f, from)->src;
    fx_node(f, id)->policy = fx_node(f, from)->policy;
    return id;
}

static void finish(fx *f, uint32_t old, uint32_t now, aot_dtype made, aot_dtype wanted)
{
    if (wanted != made) {
        aot_fake t = joint_type(f, now);
        aot_arg args[2] = {fx_a_node(now), fx_a_dtype(f, wanted)};
        now = call(f, old, "prims.convert_element_type.default", args, 2);
        set_type(f, now, wanted, &t, false);
    }
    fx_replace_uses(f, old, now, AOT_NO_NODE);
    fx_erase(f, old);
}

static aot_dtype dtype_or(const fx *f, uint32_t id, aot_dtype otherwise)
{
    const aot_arg *a = kwarg(f, id, "dtype");
    const char *s = a != NULL && a->kind == AOT_ARG_NAME ? aot_text(f->c, a->u.s) : "";
    aot_dtype d = aot_dtype_of_torch(s, strlen(s));
    return d == AOT_NO_DTYPE ? otherwise : d;
}

static uint32_t seed(fx *f, uint32_t from, const aot_fake *t)
{
    aot_arg device = fx_a_device(f, t->device);
    uint32_t id = call(f, from, "prims.inductor_seed.default", &device, 1);
    set_type(f, id, AOT_I64, t, true);
    return id;
}

static void replace_random(fx *f, uint32_t id, const char *mode)
{
    aot_fake t = joint_type(f, id);
    fx_insert_before(f, id);
    uint32_t s = seed(f, id, &t);
    aot_arg size = fx_args(f, id)[0];
    aot_arg args[3] = {fx_a_list(f, NULL, 0), fx_a_node(s), fx_a_str(f, mode)};
    if (size.n != 0) {
        aot_vec_grow(&f->g->args, size.n);
        args[0] = fx_a_list(f, f->g->args.d + size.u.first, size.n);
    }
    uint32_t now = call(f, id, "prims.inductor_random.default", args, 3);
    set_type(f, now, AOT_F32, &t, false);
    finish(f, id, now, AOT_F32, dtype_or(f, id, AOT_F32));
}

static void replace_randint(fx *f, uint32_t id)
{
    aot_fake t = joint_type(f, id);
    aot_arg low = fx_args(f, id)[0], high = fx_args(f, id)[1], size = fx_args(f, id)[2];
    fx_insert_before(f, id);
    uint32_t s = seed(f, id, &t);
    aot_vec_grow(&f->g->args, size.n);
    aot_arg args[4] = {low, high, fx_a_list(f, f->g->args.d + size.u.first, size.n), fx_a_node(s)};
    uint32_t now = call(f, id, "prims.inductor_randint.default", args, 4);
    set_type(f, now, AOT_I64, &t, false);
    finish(f, id, now, AOT_I64, dtype_or(f, id, AOT_I64));
}

static const char *mode_of(const fx *f, uint32_t id)
{
    if (fx_is(f, id, "aten.rand.default") || fx_is(f, id, "aten.rand.generator")) {
        return "rand";
    }
    return fx_is(f, id, "aten.randn.default") || fx_is(f, id, "aten.randn.generator") ? "randn"
                                                                                      : NULL;
}

aot_status joint_random_pass(joint *j, aot_err *err)
{
    fx *f = &j->f;
    (void)err;
    for (uint32_t i = f->tail, prev; i != AOT_NO_NODE && !j->config->fallback_random; i = prev) {
        prev = f->l.d[i].prev;
        const char *mode = mode_of(f, i);
        bool sized = fx_node(f, i)->n_args > 0 && joint_type(f, i).val == AOT_VAL_TENSOR;
        if (mode != NULL && sized) {
            j->count++;
            if (kwarg(f, i, "generator") == NULL) {
                replace_random(f, i, mode);
            }
        } else if (fx_is(f, i, "aten.randint.low") && fx_node(f, i)->n_args == 3) {
            j->count++;
            replace_randint(f, i);
        }
    }
    return AOT_OK;
}

/* ---- seeds ---------------------------------------------------------------------------------- */

static void fuse_seeds(fx *f, const uint32_t *seeds, uint32_t n)
{
    aot_fake t = joint_type(f, seeds[0]);
    fx_insert_before(f, seeds[0]);
    aot_arg args[2] = {fx_a_int(n), fx_a_device(f, t.device)};
    uint32_t all = fx_call(f, "prims.inductor_seeds.default", args, 2, NULL, 0);
    aot_dim size = {.value = n};
    aot_fake v = aot_fake_new(AOT_I64, 1, &size, t.device);
    fx_node(f, all)->meta = aot_fake_meta(f->c, &v);
    for (uint32_t i = 0; i < n; i++) {
        fx_insert_before(f, seeds[i]);
        aot_arg look[2] = {fx_a_node(all), fx_a_int(i)};
        uint32_t now = fx_call(f, "prims.inductor_lookup_seed.default", look, 2, NULL, 0);
        fx_replace_uses(f, seeds[i], now, AOT_NO_NODE);
        fx_update_meta(f, now, seeds[i]);
        fx_erase(f, seeds[i]);
    }
}

aot_status joint_seeds_pass(joint *j, aot_err *err)
{
    fx *f = &j->f;
    (void)err;
    AOT_VEC(uint32_t) all = {0};
    for (uint32_t i = f->head; i != AOT_NO_NODE && !j->config->fallback_random; i = fx_next(f, i)) {
        if (fx_is(f, i, "prims.inductor_seed.default")) {
            aot_vec_push(&all, i);
        }
    }
    uint32_t *same = aot_xcalloc(all.n + 1, sizeof *same);
    for (size_t i = 0; i < all.n; i++) {
        uint32_t n = 0;
        aot_str device = all.d[i] != AOT_NO_NODE ? joint_type(f, all.d[i]).device : 0;
        for (size_t k = i; k < all.n && device != 0; k++) {
            if (all.d[k] != AOT_NO_NODE && joint_type(f, all.d[k]).device == device) {
                same[n++] = all.d[k];
                all.d[k] = AOT_NO_NODE;
            }
        }
        if (n != 0) {
            j->count++;
            fuse_seeds(f, same, n);
        }
    }
    free(same);
    aot_vec_free(&all);
    return AOT_OK;
}
