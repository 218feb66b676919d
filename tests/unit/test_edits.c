/* Selections and edits: each term means the nodes that it says, and each line changes what it
 * says. */
#include "fixture.h"

#include "ir/text.h"
#include "partition/edits.h"
#include "session/model.h"

static aot_model *open_log(const char *name)
{
    aot_model *m = NULL;
    aot_err err = {0};
    const char *path = fixture(name);
    if (aot_model_open(&m, &path, 1, NULL, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    return m;
}

/* Names of what a selection means in the cut graph, with blanks between. */
static const char *meant(const aot_partition *p, const char *text, const char *const *modules)
{
    static char names[2048];
    aot_select s;
    aot_select_on on;
    aot_err err = {0};
    names[0] = '\0';
    if (aot_select_parse(&s, text, &err) != AOT_OK) {
        fail_msg("%s: %s", text, err.msg);
    }
    aot_select_begin(&on, p->cut, p, modules);
    for (uint32_t i = 0; i < p->cut->nodes.n; i++) {
        if (aot_select_match(&s, &on, i)) {
            size_t n = strlen(names);
            snprintf(names + n, sizeof names - n, "%s%s", n != 0 ? " " : "",
                     aot_node_name(p->cut, i));
        }
    }
    aot_select_end(&on);
    aot_select_free(&s);
    return names;
}

static void each_term_means_the_nodes_that_it_says(void **state)
{
    (void)state;
    static const struct {
        const char *text, *names;
    } cases[] = {
        {"saved", "primals_1 getitem_1 neg"},
        {"saved !input", "getitem_1 neg"},
        {"random", "native_dropout"},
        {"op:native_dropout", "native_dropout"},
        {"op:aten.native_dropout.default", "native_dropout"},
        {"op:native_dropout*", "native_dropout native_dropout_backward"},
        {"native_dropout", "native_dropout native_dropout_backward"},
        {"NATIVE", ""},
        {"op:getitem", "getitem getitem_1"},
        {"op:sin,neg", "sin sin_1 neg"},
        {"op:sin,neg forward", "sin"},
        {"node:sin", "sin"},
        {"node:getitem*", "getitem getitem_1"},
        {"bytes<9 bytes>7 !symbol forward", "getitem_1"},
        {"type:b8", "getitem_1"},
        {"input backward", "tangents_1"},
        {"ban:allowlist", "native_dropout"},
        {"\"saved\"", ""},
        {"tag:none op:sin", "sin sin_1"},
        {"tag:MUST", ""},
        {"region:none op:sin", "sin sin_1"},
        {"region:0", ""},
    };
    aot_model *m = open_log("logs/dropout_default.log.gz");
    const aot_partition *p = NULL;
    assert_int_equal(aot_model_partition(m, 0, &p, NULL), AOT_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *names = meant(p, cases[i].text, NULL);
        if (strcmp(names, cases[i].names) != 0) {
            fail_msg("%s means '%s', not '%s'", cases[i].text, names, cases[i].names);
        }
    }
    aot_model_free(m);
}

static void a_wrong_term_is_named_with_what_there_is(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"colour:red", "node: op:"},  {"bytes>big", "'big' is no number"},
        {"op:", "write op:OPERATOR"}, {"a(", "regular expression"},
        {"!", "missing behind '!'"},  {"bytes>1X", "'1X' is no number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aot_select s;
        aot_err err = {0};
        assert_int_equal(aot_select_parse(&s, cases[i].text, &err), AOT_E_USAGE);
        if (strstr(err.msg, cases[i].message) == NULL) {
            fail_msg("%s: %s", cases[i].text, err.msg);
        }
    }
}

/* ---- edits ----------------------------------------------------------------------------------- */

#define T "\"f32[4, 4][4, 1]cpu\""

/* Two layers: linear, gelu; each has a parameter. */
static const char joint[] =
    "class joint(torch.nn.Module):\n    def forward(self, primals, tangents):\n"
    "        primals_1: " T "; primals_2: " T "; primals_3: " T "; tangents_1: " T "; \n\n"
    "        primals_1, primals_2, primals_3, tangents_1, = fx_pytree.tree_flatten_spec([primals, "
    "tangents], "
    "self._in_spec)\n"
    "        # File: /src/model.py:12 in forward, code: h = gelu(x @ w)\n"
    "        mm: " T " = torch.ops.aten.mm.default(primals_1, primals_2)\n"
    "        gelu: " T " = torch.ops.aten.gelu.default(mm)\n"
    "        # File: /src/model.py:13 in forward, code: return gelu(h @ v)\n"
    "        t: " T " = torch.ops.aten.t.default(primals_3)\n"
    "        mm_1: " T " = torch.ops.aten.mm.default(gelu, t)\n"
    "        gelu_1: " T " = torch.ops.aten.gelu.default(mm_1)\n"
    "        gelu_backward: " T " = torch.ops.aten.gelu_backward.default(tangents_1, mm_1)\n"
    "        mul: " T " = torch.ops.aten.mul.Tensor(gelu, gelu_backward)\n"
    "        gelu_backward_1: " T " = torch.ops.aten.gelu_backward.default(gelu_backward, mm)\n"
    "        return pytree.tree_unflatten([gelu_1, None, gelu_backward_1, mul], self._out_spec)\n";

typedef struct cut {
    aot_ctx *c;
    aot_status status;
    aot_partition *p;
    aot_err err;
} cut;

static cut under(const char *policy, const char *const *paths)
{
    cut x = {.c = aot_ctx_new()};
    aot_graph *g = NULL;
    aot_config config;
    aot_unit_edits e = {0};
    aot_config_init(&config);
    assert_int_equal(aot_parse_graph(&g, x.c, joint, strlen(joint), 1, &x.err), AOT_OK);
    x.status = aot_edits_parse(&e, policy, "test.policy", &x.err);
    if (x.status == AOT_OK) {
        assert_int_equal(aot_edits_configure(&e, &config, &x.err), AOT_OK);
        aot_partition_in in = {
            .joint = g, .n_forward_outputs = 1, .n_static_inputs = -1, .edits = &e};
        in.param_paths = paths;
        in.n_param_paths = paths != NULL ? 3 : 0;
        x.status = aot_partition_run(&x.p, &in, &config, &x.err);
    }
    aot_edits_free(&e);
    return x;
}

static void expect_saved(const char *policy, const char *names)
{
    static const char *const paths[] = {NULL, "a.0.weight", "a.1.weight"};
    cut x = under(policy, paths);
    if (x.status != AOT_OK) {
        fail_msg("%s: %s", policy, x.err.msg);
    }
    const char *saved = meant(x.p, "saved !input", NULL);
    if (strcmp(saved, names) != 0) {
        fail_msg("'%s' saves '%s', not '%s'", policy, saved, names);
    }
    aot_ctx_free(x.c);
}

static void a_line_of_a_policy_saves_and_recomputes_what_it_selects(void **state)
{
    (void)state;
    expect_saved("", "mm mm_1");
    expect_saved("save op:gelu", "mm gelu mm_1");
    expect_saved("save node:gelu   # the first\n\n", "mm gelu mm_1");
    expect_saved("save op:gelu\nclear node:gelu", "mm mm_1");
    expect_saved("recompute op:mm", "t");
    expect_saved("recompute line:model.py:12 op:mm", "mm_1");
    expect_saved("recompute module:a.0 op:mm", "mm_1");
    expect_saved("recompute module:1 op:mm", "mm t");
    expect_saved("recompute saved op:mm\nclear recomputed node:mm_1", "mm_1");
    expect_saved("set activation_memory_budget=0", "");
}

static void a_policy_that_means_nothing_says_where(void **state)
{
    (void)state;
    static const struct {
        const char *policy, *message;
        uint32_t line;
    } cases[] = {
        {"save op:mm\nsave op:conv", "'save op:conv': no operator of the forward matches", 2},
        {"keep op:mm", "'keep' is no edit; there are: set NAME=VALUE, save SELECTION", 1},
        {"# one\n\nset activation_memory_budget=2", "activation_memory_budget", 3},
        {"save", "'save' needs SELECTION behind it", 1},
        {"save colour:red", "there is no such term", 1},
        {"save node:tangents_1", "no operator of the forward matches", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cut x = under(cases[i].policy, NULL);
        assert_int_equal(x.status, AOT_E_USAGE);
        assert_string_equal(x.err.file, "test.policy");
        assert_int_equal(x.err.at.line, cases[i].line);
        if (strstr(x.err.msg, cases[i].message) == NULL) {
            fail_msg("%s: %s", cases[i].policy, x.err.msg);
        }
        aot_ctx_free(x.c);
    }
}

static uint32_t n_saved(aot_model *m)
{
    const aot_partition *p = NULL;
    aot_err err = {0};
    if (aot_model_partition(m, 0, &p, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    return p->n_saved;
}

static void edits_of_a_unit_are_undone_and_done_again(void **state)
{
    (void)state;
    aot_model *m = open_log("logs/dropout_default.log.gz");
    aot_config config;
    aot_err err = {0};
    assert_int_equal(n_saved(m), 3);
    assert_int_equal(aot_model_edit(m, 0, "set activation_memory_budget=0", &err), AOT_OK);
    assert_int_equal(n_saved(m), 1);
    assert_int_equal(aot_model_config(m, 0, &config, &err), AOT_OK);
    assert_true(config.activation_memory_budget == 0);
    assert_int_equal(aot_model_stage(m, 0, AOT_STAGE_FORWARD).origin, AOT_ORIGIN_DERIVED);
    assert_int_equal(aot_model_n_edits(m, 0), 1);
    assert_string_equal(aot_model_edit_at(m, 0, 0)->line, "set activation_memory_budget=0");
    assert_true(aot_model_undo(m, 0));
    assert_int_equal(n_saved(m), 3);
    assert_int_equal(aot_model_n_edits(m, 0), 0);
    assert_int_equal(aot_model_n_undone(m, 0), 1);
    assert_false(aot_model_undo(m, 0));
    assert_true(aot_model_redo(m, 0));
    assert_int_equal(n_saved(m), 1);
    assert_false(aot_model_redo(m, 0));
    aot_model_free(m);
}

/* Lines are added to what was found before; the answer is that of all of them at once. */
static void lines_that_are_added_tag_as_all_at_once(void **state)
{
    (void)state;
    static const char *const steps[] = {"save op:sin", "set activation_memory_budget=1", NULL,
                                        "recompute op:sin"};
    aot_model *m = open_log("logs/dropout_default.log.gz"),
              *at_once = open_log("logs/dropout_default.log.gz");
    const aot_partition *p = NULL, *q = NULL;
    aot_err err = {0};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (steps[i] == NULL) {
            assert_true(aot_model_undo(m, 0));
        } else {
            assert_int_equal(aot_model_edit(m, 0, steps[i], &err), AOT_OK);
        }
        assert_int_equal(aot_model_partition(m, 0, &p, &err), AOT_OK);
    }
    assert_int_equal(aot_model_n_edits(m, 0), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(aot_model_edit(at_once, 0, aot_model_edit_at(m, 0, i)->line, &err),
                         AOT_OK);
    }
    assert_int_equal(aot_model_partition(at_once, 0, &q, &err), AOT_OK);
    assert_int_equal(p->n_nodes, q->n_nodes);
    unsigned n_tagged = 0;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        assert_int_equal(p->nodes[i].policy, q->nodes[i].policy);
        assert_int_equal(p->nodes[i].verdict, q->nodes[i].verdict);
        n_tagged += p->nodes[i].policy == AOT_POLICY_MUST_RECOMPUTE;
    }
    assert_true(n_tagged > 0);
    aot_model_free(m);
    aot_model_free(at_once);
}

static void an_edit_that_means_nothing_changes_nothing(void **state)
{
    (void)state;
    aot_model *m = open_log("logs/dropout_default.log.gz");
    aot_err err = {0};
    assert_int_equal(aot_model_edit(m, 0, "save op:conv2d", &err), AOT_E_USAGE);
    assert_non_null(strstr(err.msg, "no operator of the forward matches"));
    assert_int_equal(aot_model_n_edits(m, 0), 0);
    assert_int_equal(n_saved(m), 3);
    err = (aot_err){0};
    assert_int_equal(aot_model_edit(m, 0, "set activation_memory_budget=3", &err), AOT_E_USAGE);
    assert_int_equal(aot_model_n_edits(m, 0), 0);
    aot_model_free(m);
}

static void an_edit_that_traces_otherwise_makes_another_joint_graph(void **state)
{
    (void)state;
    aot_model *m = open_log("logs/dropout_default.log.gz");
    const aot_graph *before = NULL, *after = NULL;
    aot_err err = {0};
    assert_int_equal(aot_model_graph(m, 0, AOT_STAGE_JOINT, &before, &err), AOT_OK);
    size_t n = before->nodes.n;
    assert_int_equal(aot_model_edit(m, 0, "set backend=decomp", &err), AOT_OK);
    assert_int_equal(aot_model_graph(m, 0, AOT_STAGE_JOINT, &after, &err), AOT_OK);
    assert_true(after->nodes.n > n);
    assert_true(aot_model_undo(m, 0));
    assert_int_equal(aot_model_graph(m, 0, AOT_STAGE_JOINT, &after, &err), AOT_OK);
    assert_int_equal(after->nodes.n, n);
    aot_model_free(m);
}

/* PyTorch's joint graph of `for b in self.l: x = torch.relu(b(x))`, two linears, then sin: all
 * of both layers stands under one source line. */
static const char two_layers[] =
    "def forward(self, primals_1: \"f32[4, 4]\", primals_2: \"f32[2, 4]\", "
    "primals_3: \"f32[4, 4]\", tangents_1: \"f32[2, 4]\"):\n"
    "    full: \"f32[2, 4]\" = torch.ops.aten.full.default([2, 4], 0)\n" // of no line
    "    # File: m.py:5 in forward, code: for b in self.l: x = torch.relu(b(x))\n"
    "    t: \"f32[4, 4]\" = torch.ops.aten.t.default(primals_1)\n"
    "    mm: \"f32[2, 4]\" = torch.ops.aten.mm.default(primals_2, t)\n"
    "    relu: \"f32[2, 4]\" = torch.ops.aten.relu.default(mm)\n"
    "    detach: \"f32[2, 4]\" = torch.ops.aten.detach.default(relu)\n"
    "    t_1: \"f32[4, 4]\" = torch.ops.aten.t.default(primals_3)\n"
    "    mm_1: \"f32[2, 4]\" = torch.ops.aten.mm.default(relu, t_1)\n"
    "    relu_1: \"f32[2, 4]\" = torch.ops.aten.relu.default(mm_1)\n"
    "    detach_1: \"f32[2, 4]\" = torch.ops.aten.detach.default(relu_1)\n"
    "    # File: m.py:6 in forward, code: return x.sin()\n"
    "    sin: \"f32[2, 4]\" = torch.ops.aten.sin.default(relu_1)\n"
    "    cos: \"f32[2, 4]\" = torch.ops.aten.cos.default(relu_1)\n"
    "    mul: \"f32[2, 4]\" = torch.ops.aten.mul.Tensor(tangents_1, cos)\n"
    "    # No stacktrace found for following nodes\n"
    "    ones: \"f32[2, 4]\" = torch.ops.aten.full.default([2, 4], 1)\n"
    "    neg: \"f32[2, 4]\" = torch.ops.aten.mul.Tensor(mul, ones)\n"
    "    # File: m.py:5 in forward, code: for b in self.l: x = torch.relu(b(x))\n"
    "    detach_2: \"f32[2, 4]\" = torch.ops.aten.detach.default(detach_1)\n"
    "    threshold_backward: \"f32[2, 4]\" = "
    "torch.ops.aten.threshold_backward.default(neg, detach_2, 0)\n"
    "    t_2: \"f32[4, 2]\" = torch.ops.aten.t.default(threshold_backward)\n"
    "    mm_2: \"f32[4, 4]\" = torch.ops.aten.mm.default(t_2, relu)\n"
    "    t_3: \"f32[4, 4]\" = torch.ops.aten.t.default(mm_2)\n"
    "    t_4: \"f32[4, 4]\" = torch.ops.aten.t.default(t_1)\n"
    "    mm_3: \"f32[2, 4]\" = torch.ops.aten.mm.default(threshold_backward, t_4)\n"
    "    detach_3: \"f32[2, 4]\" = torch.ops.aten.detach.default(detach)\n"
    "    threshold_backward_1: \"f32[2, 4]\" = "
    "torch.ops.aten.threshold_backward.default(mm_3, detach_3, 0)\n"
    "    t_5: \"f32[4, 2]\" = torch.ops.aten.t.default(threshold_backward_1)\n"
    "    mm_4: \"f32[4, 4]\" = torch.ops.aten.mm.default(t_5, primals_2)\n"
    "    t_6: \"f32[4, 4]\" = torch.ops.aten.t.default(mm_4)\n"
    "    return (sin, t_6, None, t_3)\n";

static void a_backward_node_is_in_the_module_of_its_forward_node(void **state)
{
    (void)state;
    static const char *const paths[] = {"l.0.weight", NULL, "l.1.weight"};
    static const struct {
        const char *name, *module;
    } want[] = {{"mm", "l.0"},   {"relu", "l"},   {"mm_1", "l.1"}, {"mul", NULL},
                {"mm_2", "l.1"}, {"t_3", "l.1"},  {"mm_3", "l.1"},
                {"detach_3", "l"}, {"threshold_backward_1", "l"},  {"mm_4", "l.0"},
                {"t_6", "l.0"}};
    aot_ctx *c = aot_ctx_new();
    aot_graph *g = NULL;
    aot_err err = {0};
    if (aot_parse_graph(&g, c, two_layers, strlen(two_layers), 1, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    aot_arena *a = aot_arena_new();
    const char *const *modules = aot_select_modules(g, paths, 3, a);
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        uint32_t at = 0;
        while (strcmp(aot_node_name(g, at), want[k].name) != 0) {
            at++;
        }
        const char *is = modules[at], *should = want[k].module;
        if ((is == NULL) != (should == NULL) || (is != NULL && strcmp(is, should) != 0)) {
            fail_msg("%s is in %s, not %s", want[k].name, is ? is : "none",
                     should ? should : "none");
        }
    }
    aot_arena_free(a);
    aot_ctx_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_term_means_the_nodes_that_it_says),
        cmocka_unit_test(a_wrong_term_is_named_with_what_there_is),
        cmocka_unit_test(a_line_of_a_policy_saves_and_recomputes_what_it_selects),
        cmocka_unit_test(a_policy_that_means_nothing_says_where),
        cmocka_unit_test(edits_of_a_unit_are_undone_and_done_again),
        cmocka_unit_test(lines_that_are_added_tag_as_all_at_once),
        cmocka_unit_test(an_edit_that_means_nothing_changes_nothing),
        cmocka_unit_test(an_edit_that_traces_otherwise_makes_another_joint_graph),
        cmocka_unit_test(a_backward_node_is_in_the_module_of_its_forward_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
