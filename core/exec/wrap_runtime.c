/* RuntimeWrapper: before the graph it tells autograd what will be written and detaches inputs;
 * behind it, mutated inputs are written and aliased outputs made again.
 * Mirrors: runtime_wrappers.py:_create_runtime_wrapper, make_output_handler. */
#include <string.h>

#include "exec/clones.h"
#include "exec/kernel.h"
#include "exec/ulps.h"
#include "exec/wrap.h"
#include "runtime/mutation.h"

aot_status wr_before_runtime_wrapper(aot_wrapped *c)
{
    c->n_inner = c->n_args;
    c->inner = wr_new_list(c->n_args);
    c->extra = aot_xcalloc(c->n_args + 1u, sizeof *c->extra);
    for (unsigned i = 0; i < c->n_args; i++) {
        const aot_input_info *x = &c->m->inputs[i];
        c->inner[i] = aot_xv_keep(c->args[i]);
        if (c->m->keep_input_mutations && x->mutation == AOT_MUTATED_IN_GRAPH &&
            !x->mutations_hidden_from_autograd) {
            wr_note(c, AOT_EVENT_RAISE_VERSION, &c->args[i], "the graph writes it", "%s",
                    wr_input(c, (int)i));
        }
    }
    for (int i = 0; i < c->m->n_detached; i++) {
        int at = c->m->detached[i];
        wr_note(c, AOT_EVENT_DETACH, &c->args[at], "it gets no gradient", "%s", wr_input(c, at));
    }
    wr_note(c, AOT_EVENT_GRAD_MODE, NULL, "", "%s",
            c->in->cut != NULL ? "gradients enabled" : "gradients disabled");
    return AOT_OK;
}

/* ---- mutated inputs -------------------------------------------------------------------------- */

static void take_geometry(aot_array *to, const aot_array *from, int64_t offset)
{
    to->ndim = from->ndim;
    to->offset = offset;
    memcpy(to->size, from->size, sizeof to->size);
    memcpy(to->stride, from->stride, sizeof to->stride);
}

/* set_: the storage itself is another. */
static void take_storage(aot_array *to, const aot_array *from)
{
    aot_array *v = aot_array_view(from, (aot_dtype)from->dtype, from->ndim, from->size,
                                  from->stride, from->offset);
    aot_storage *old = to->storage;
    to->storage = v->storage;
    v->storage = old;
    take_geometry(to, v, v->offset);
    aot_array_unref(v);
}

static void write_one(aot_wrapped *c, unsigned i, unsigned k)
{
    const aot_input_info *x = &c->m->inputs[i];
    const aot_xval *v = &c->returned[k];
    aot_array *to = c->inner[i].u.array, *from = v->u.array;
    const char *name = wr_input(c, (int)i);
    if (wr_makes(c, AOT_FAULT_LOST_COPY) && x->mutates_data) {
        c->out->made_fault = true;
        return;
    }
    if (x->mutates_storage_metadata) {
        wr_note(c, AOT_EVENT_SET_STORAGE, &c->inner[i],
                wr_text(c, "%s, returned value %u", wr_type(c, v), k), "%s", name);
        take_storage(to, from);
        return;
    }
    if (x->mutates_metadata) {
        wr_note(c, AOT_EVENT_SET_SIZES, &c->inner[i],
                wr_text(c, "%s, returned value %u", wr_type(c, v), k), "%s", name);
        take_geometry(to, from, from->offset);
    }
    if (x->mutates_data && to->storage != from->storage) {
        wr_note(c, AOT_EVENT_COPY_BACK, v,
                wr_text(c, "%s%s", name,
                        aot_copies_back_detached(c->in->calling, (int)i) ? ", detached" : ""),
                "returned value %u", k);
        aot_array_assign(to, from);
        to->storage->version++;
    }
}

static void write_back(aot_wrapped *c)
{
    unsigned k = 0;
    for (unsigned i = 0; i < c->n_inner; i++) {
        const aot_input_info *x = &c->m->inputs[i];
        bool array = c->inner[i].kind == AOT_X_ARRAY;
        if (x->mutation != AOT_MUTATED_OUT_GRAPH || k >= c->n_returned) {
            continue;
        }
        const aot_xval *v = &c->returned[k++];
        if (v->kind == AOT_X_ARRAY && array && v->u.array != c->inner[i].u.array) {
            write_one(c, i, k - 1);
        }
    }
}

/* ---- aliased outputs ------------------------------------------------------------------------- */

/* A lazily conjugated view is a copy here: over the base's memory its values would be others. */
static bool same_values(const aot_array *out, const aot_array *view)
{
    aot_ulps u;
    aot_xval a = aot_xv_array((aot_array *)(uintptr_t)out),
             b = aot_xv_array((aot_array *)(uintptr_t)view);
    if (aot_dtype_class((aot_dtype)out->dtype) != AOT_CLASS_COMPLEX) {
        return true;
    }
    aot_ulps_compare(&u, &a, &b, NULL);
    return u.n_unequal == 0;
}

/* An aliased output over the memory that it is a view of. */
static aot_xval again(const aot_array *out, aot_array *base)
{
    if (out->storage == base->storage) {
        return aot_xv_none();
    }
    aot_array *v =
        aot_array_view(base, (aot_dtype)out->dtype, out->ndim, out->size, out->stride, out->offset);
    if (!aot_array_fits(v) || !same_values(out, v)) {
        aot_array_unref(v);
        return aot_xv_none();
    }
    return aot_xv_array(v);
}

aot_array *wr_base_of_output(const aot_wrapped *c, unsigned i)
{
    const aot_output_info *o = &c->m->outputs[i];
    const aot_xval *v = NULL;
    int at = o->base_idx, first = c->m->n_mutated_returned;
    if (at < 0) {
        return NULL;
    }
    switch (o->type) {
    case AOT_OUT_IS_INPUT:
    case AOT_OUT_ALIAS_OF_INPUT: v = at < (int)c->n_inner ? &c->inner[at] : NULL; break;
    case AOT_OUT_ALIAS_OF_INTERMEDIATE:
    case AOT_OUT_ALIAS_OF_INTERMEDIATE_SAVE_AS_OUTPUT:
        at += first + c->m->n_outputs; // fall through
    case AOT_OUT_ALIAS_OF_INTERMEDIATE_BASE_IS_USER_OUTPUT:
        at += o->type == AOT_OUT_ALIAS_OF_INTERMEDIATE_BASE_IS_USER_OUTPUT ? first : 0;
        v = at < (int)c->n_returned ? &c->returned[at] : NULL;
        break;
    default: break;
    }
    return v != NULL && v->kind == AOT_X_ARRAY ? v->u.array : NULL;
}

static const char *base_text(const aot_wrapped *c, const aot_output_info *o)
{
    bool of_input = o->type == AOT_OUT_ALIAS_OF_INPUT || o->type == AOT_OUT_IS_INPUT;
    return of_input ? wr_text(c, "a view of %s", wr_input(c, o->base_idx))
           : o->type == AOT_OUT_ALIAS_OF_INTERMEDIATE_BASE_IS_USER_OUTPUT
               ? wr_text(c, "a view of output %d", o->base_idx)
               : wr_text(c, "a view of intermediate base %d", o->base_idx);
}

static void take_output(aot_wrapped *c, unsigned i, const aot_xval *v)
{
    const aot_output_info *o = &c->m->outputs[i];
    aot_xval made = aot_xv_none(), *to = &c->out->outputs[i];
    aot_array *base = wr_base_of_output(c, i);
    if (v->kind == AOT_X_ARRAY && base != NULL) {
        bool input = o->type == AOT_OUT_IS_INPUT;
        made = input ? aot_xv_keep(aot_xv_array(base)) : again(v->u.array, base);
        if (wr_makes(c, AOT_FAULT_WRONG_ALIAS) && !c->out->made_fault) {
            aot_xv_drop(&made);
            made = aot_copy_value(v);
            c->out->made_fault = true;
        } else if (input) {
            wr_note(c, AOT_EVENT_RETURN_INPUT, &made, wr_text(c, "%s", wr_input(c, o->base_idx)),
                    "output %u", i);
        } else {
            wr_note(c, AOT_EVENT_MAKE_AGAIN, v, base_text(c, o), "output %u", i);
        }
    }
    *to = made.kind != AOT_X_NONE ? made : aot_xv_keep(*v);
}

static void take_outputs(aot_wrapped *c)
{
    unsigned first = (unsigned)c->m->n_mutated_returned, n = (unsigned)c->m->n_outputs;
    c->out->outputs = aot_xcalloc(n + 1u, sizeof *c->out->outputs);
    for (unsigned i = 0; i < n && first + i < c->n_returned; i++) {
        take_output(c, i, &c->returned[first + i]);
        c->out->n_outputs = i + 1;
    }
    for (unsigned i = first + n; i < c->n_forward && i < c->n_returned; i++) {
        wr_note(c, AOT_EVENT_DROP_BASE, &c->returned[i], "", "returned value %u", i);
    }
}

aot_status wr_behind_runtime_wrapper(aot_wrapped *c)
{
    write_back(c);
    take_outputs(c);
    return AOT_OK;
}
