/* What tensor attributes of an ATen graph hold. PyTorch's text names them (self._tensor_constant0)
 * and does not print them; but they were numbers in the graph that Dynamo captured:
 * torch.tensor(2.5), x[0] = 1. The n-th such number is the n-th attribute, provided that there are
 * as many of both and their dtypes agree; else nothing is said. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "session/model.h"

typedef struct number {
    aot_arg value;
    char dtype[16]; /* "f32" */
} number;

typedef AOT_VEC(number) numbers;

static bool is_number(const aot_arg *a)
{
    return a->kind == AOT_ARG_INT || a->kind == AOT_ARG_FLOAT || a->kind == AOT_ARG_BOOL;
}

static void dtype_of(char *out, size_t size, const aot_graph *g, aot_meta_id meta)
{
    const aot_meta *m = aot_meta_get(g->ctx, meta);
    snprintf(out, size, "%s",
             m->val == AOT_VAL_TENSOR ? aot_dtype_get((aot_dtype)m->dtype)->abbr : "");
}

/* torch.tensor(number), torch.tensor([number]), or x[...] = number. */
static void look_at(const aot_graph *g, aot_node_id id, numbers *out)
{
    const aot_node *n = aot_node_at(g, id);
    const char *t = aot_node_target(g, id);
    const aot_arg *a = aot_node_args(g, n);
    number x = {.dtype = ""};
    if (n->kind != AOT_CALL_FUNCTION) {
        return;
    }
    if (strcmp(t, "torch.tensor") == 0 && n->n_args > 0) {
        while (a->kind == AOT_ARG_LIST && a->n == 1) {
            a = aot_arg_items(g, a);
        }
        if (is_number(a)) {
            x.value = *a;
            dtype_of(x.dtype, sizeof x.dtype, g, n->meta);
            aot_vec_push(out, x);
        }
    } else if (strcmp(t, "operator.setitem") == 0 && n->n_args == 3 && is_number(&a[2]) &&
               a[0].kind == AOT_ARG_NODE) {
        x.value = a[2];
        dtype_of(x.dtype, sizeof x.dtype, g, aot_node_at(g, a[0].u.node)->meta);
        aot_vec_push(out, x);
    }
}

/* Dtype of attribute k as the text prints it: _tensor_constant0: "f32[][]cpu" =
 * self._tensor_constant0 */
static bool attribute_has_dtype(const char *text, size_t k, const char *dtype)
{
    char def[48];
    snprintf(def, sizeof def, "_tensor_constant%zu: \"", k);
    const char *at = strstr(text, def);
    size_t n = strlen(dtype);
    return at != NULL && strncmp(at + strlen(def), dtype, n) == 0 && at[strlen(def) + n] == '[';
}

static size_t count_attributes(const char *text)
{
    size_t n = 0;
    for (;; n++) {
        char use[48];
        snprintf(use, sizeof use, "self._tensor_constant%zu", n);
        if (strstr(text, use) == NULL) {
            return n;
        }
    }
}

static const aot_record *aten_record(const aot_unit *u)
{
    const aot_record *r = aot_unit_stage(u, AOT_STAGE_JOINT);
    return r != NULL ? r : aot_unit_stage(u, AOT_STAGE_INFERENCE);
}

void aot_unit_set_constants(const aot_unit *u, aot_ctx *c)
{
    const aot_record *aten = aten_record(u), *dynamo = aot_unit_stage(u, AOT_STAGE_DYNAMO);
    if (aten == NULL || aten->text == NULL || dynamo == NULL || dynamo->text == NULL) {
        return;
    }
    char *text = aot_xstrndup(aten->text, aten->len);
    size_t n = count_attributes(text);
    aot_ctx *own = n != 0 ? aot_ctx_new() : NULL;
    aot_graph *g = NULL;
    numbers found = {0};
    if (n != 0 && aot_parse_graph(&g, own, dynamo->text, dynamo->len, 1, NULL) == AOT_OK) {
        for (uint32_t i = 0; i < g->nodes.n; i++) {
            look_at(g, i, &found);
        }
    }
    bool agree = found.n == n;
    for (size_t i = 0; i < n && agree; i++) {
        agree = attribute_has_dtype(text, i, found.d[i].dtype);
    }
    for (size_t i = 0; i < n && agree; i++) {
        char attr[48];
        snprintf(attr, sizeof attr, "_tensor_constant%zu", i);
        aot_ctx_set_constant(c, attr, found.d[i].value);
    }
    aot_vec_free(&found);
    aot_ctx_free(own);
    free(text);
}
