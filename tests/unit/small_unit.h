/* A small joint graph, cut, as tests of viewers and formats want it; and an export of it as
 * text. */
#ifndef AOT_TEST_SMALL_UNIT_H
#define AOT_TEST_SMALL_UNIT_H

#include "ir/text.h"
#include "viewers/viewer.h"

/* x -> sin -> cos -> out; the comment tries to end every kind of quoting there is. */
static const char joint_text[] =
    "class inner_f(torch.nn.Module):\n"
    "    def forward(self, primals, tangents):\n"
    "        primals_1: \"f32[64, 128]\"; primals_2: \"f32[128, 128]\"; tangents_1: \"f32[64, "
    "128]\"; \n"
    "    \n"
    "        primals_1, primals_2, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], "
    "self._in_spec)\n"
    "        # File: model.py:12 in forward, code: y = \"</title><script>&quot;]]>\\N\\n\" + f(x) "
    "& z\n"
    "        mm: \"f32[64, 128]\" = torch.ops.aten.mm.default(primals_1, primals_2)\n"
    "        sin: \"f32[64, 128]\" = torch.ops.aten.sin.default(mm)\n"
    "        cos: \"f32[64, 128]\" = torch.ops.aten.cos.default(sin)\n"
    "        sin_1: \"f32[64, 128]\" = torch.ops.aten.sin.default(sin);  sin = None\n"
    "        neg: \"f32[64, 128]\" = torch.ops.aten.neg.default(sin_1);  sin_1 = None\n"
    "        mul: \"f32[64, 128]\" = torch.ops.aten.mul.Tensor(tangents_1, neg);  tangents_1 = neg "
    "= None\n"
    "        cos_1: \"f32[64, 128]\" = torch.ops.aten.cos.default(mm);  mm = None\n"
    "        mul_1: \"f32[64, 128]\" = torch.ops.aten.mul.Tensor(mul, cos_1);  mul = cos_1 = None\n"
    "        t: \"f32[128, 64]\" = torch.ops.aten.t.default(primals_1);  primals_1 = None\n"
    "        mm_1: \"f32[128, 128]\" = torch.ops.aten.mm.default(t, mul_1);  t = None\n"
    "        t_1: \"f32[128, 128]\" = torch.ops.aten.t.default(primals_2);  primals_2 = None\n"
    "        mm_2: \"f32[64, 128]\" = torch.ops.aten.mm.default(mul_1, t_1);  mul_1 = t_1 = None\n"
    "        return pytree.tree_unflatten([cos, mm_2, mm_1], self._out_spec)\n";

static aot_ctx *ctx;
static aot_partition *part;
static aot_draw_in in;

static inline int set_up(void **state)
{
    (void)state;
    aot_err err = {0};
    aot_graph *joint = NULL;
    aot_config config;
    ctx = aot_ctx_new();
    if (aot_parse_graph(&joint, ctx, joint_text, sizeof joint_text - 1, 1, &err) != AOT_OK) {
        print_error("%s\n", err.msg);
        return -1;
    }
    aot_config_init(&config);
    aot_partition_in pin = {.joint = joint, .n_forward_outputs = 1, .n_static_inputs = -1};
    if (aot_partition_run(&part, &pin, &config, &err) != AOT_OK) {
        print_error("%s\n", err.msg);
        return -1;
    }
    in = (aot_draw_in){
        .graph = part->cut, .part = part, .stage = "joint_cse", .label = "a <unit> & \"more\""};
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    aot_ctx_free(ctx);
    return 0;
}

static inline char *export_as(const char *what, const char *format, const aot_draw_options *opt,
                              bool *fell_back, char **notes)
{
    aot_sb out = {0}, said = {0};
    aot_err err = {0};
    bool fb = false;
    aot_draw_options none = {0};
    aot_status s =
        aot_export(&out, &said, &fb, aot_viewer_find(what), &in, format, opt ? opt : &none, &err);
    if (s != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    if (fell_back) {
        *fell_back = fb;
    } else {
        assert_false(fb);
    }
    if (notes) {
        *notes = strdup(aot_sb_text(&said));
    }
    char *text = strdup(aot_sb_text(&out));
    aot_sb_free(&out);
    aot_sb_free(&said);
    return text;
}

static inline size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, what)) != NULL; p += strlen(what)) {
        n++;
    }
    return n;
}

#endif
