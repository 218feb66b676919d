/* TORCH_LOGS output in all its forms, and plain graph text with directives. */
#include <ctype.h>
#include <zlib.h>

#include "base/str.h"
#include "collect.h"

/* Decompressed fixture. */
static char *read_gz(const char *name, size_t *n)
{
    gzFile f = gzopen(fixture(name), "rb");
    char *d = NULL;
    int got;
    *n = 0;
    assert_non_null(f);
    do {
        d = realloc(d, *n + 65537);
        assert_non_null(d);
        got = gzread(f, d + *n, 65536);
        assert_true(got >= 0);
        *n += (size_t)got;
    } while (got > 0);
    d[*n] = '\0';
    gzclose(f);
    return d;
}

/* Rewrites each line of the three-unit log; `form` says how. */
typedef void line_form(aot_sb *out, const char *prefix, size_t prefix_n, const char *msg, size_t n);

static void collect_rewritten(collected *c, line_form *form)
{
    size_t n;
    char *log = read_gz("logs/three_units.stderr.gz", &n);
    aot_sb out = {0};
    for (char *line = log; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        char *mark = memmem(line, len, "] [__", 5);
        char *close = mark != NULL ? memchr(mark + 3, ']', len - (size_t)(mark + 3 - line)) : NULL;
        if (close != NULL) { // warnings between the graphs have no artifact
            size_t prefix_n = (size_t)(close + 2 - line);
            form(&out, line, prefix_n, line + prefix_n, len - prefix_n);
        } else {
            aot_sb_addf(&out, "%.*s\n", (int)len, line);
        }
        line += len + (line[len] == '\n');
    }
    collect_text(c, out.d, out.n);
    aot_sb_free(&out);
    free(log);
}

static void expect_three(const collected *c)
{
    assert_int_equal(c->status, AOT_OK);
    assert_int_equal(c->units.n, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(stages(c->units.d[i]), "djfb");
        assert_int_equal(c->units.d[i]->aot_id, i);
        assert_int_equal(c->units.d[i]->n_forward_outputs, 1);
        assert_int_equal(c->units.d[i]->notes.n, 0);
    }
    assert_string_equal(c->units.d[1]->title, "<lambda> units_corner.py:16");
}

static void keep(aot_sb *out, const char *p, size_t pn, const char *m, size_t n)
{
    aot_sb_addf(out, "%.*s%.*s\n", (int)pn, p, (int)n, m);
}

static void three_units_with_prefixes(void **state)
{
    (void)state;
    collected c;
    collect_rewritten(&c, keep);
    expect_three(&c);
    assert_string_equal(label(c.units.d[0]), "[0/0]");
    assert_int_equal(aot_unit_stage(c.units.d[0], AOT_STAGE_JOINT)->line, 17);
    assert_string_equal(aot_unit_stage(c.units.d[0], AOT_STAGE_BACKWARD)->name,
                        "aot_backward_graph");
    collect_free(&c);
}

static void bare(aot_sb *out, const char *p, size_t pn, const char *m, size_t n)
{
    (void)p;
    (void)pn;
    aot_sb_addf(out, "%.*s\n", (int)n, m);
}

static void without_prefixes(void **state)
{
    (void)state;
    collected c;
    collect_rewritten(&c, bare);
    expect_three(&c);
    assert_string_equal(label(c.units.d[0]), "[-]");
    collect_free(&c);
}

static void bare_with_output(aot_sb *out, const char *p, size_t pn, const char *m, size_t n)
{
    static unsigned k;
    bare(out, p, pn, m, n);
    if (++k % 5 == 0) {
        aot_sb_addz(out, "epoch 3 loss 0.25\n");
    }
}

static void without_prefixes_and_with_output_in_between(void **state)
{
    (void)state;
    collected c;
    collect_rewritten(&c, bare_with_output);
    expect_three(&c);
    collect_free(&c);
}

static void first_only(aot_sb *out, const char *p, size_t pn, const char *m, size_t n)
{
    if ((n == 12 && memcmp(m, "TRACED GRAPH", 12) == 0) ||
        (n > 10 && memcmp(m, "aot_config", 10) == 0)) {
        keep(out, p, pn, m, n);
    } else {
        bare(out, p, pn, m, n);
    }
}

static void a_prefix_on_the_first_line_of_each_message(void **state)
{
    (void)state;
    collected c;
    collect_rewritten(&c, first_only);
    expect_three(&c);
    assert_string_equal(label(c.units.d[2]), "[0/0]");
    collect_free(&c);
}

static void coloured(aot_sb *out, const char *p, size_t pn, const char *m, size_t n)
{
    aot_sb_addf(out, "\x1b[31m%.*s\x1b[0;1m%.*s\x1b[0m\n", (int)pn, p, (int)n, m);
}

static void with_colours(void **state)
{
    (void)state;
    collected c, plain;
    collect_rewritten(&c, coloured);
    expect_three(&c);
    collect_rewritten(&plain, keep);
    assert_string_equal(aot_unit_stage(c.units.d[2], AOT_STAGE_JOINT)->text,
                        aot_unit_stage(plain.units.d[2], AOT_STAGE_JOINT)->text);
    collect_free(&c);
    collect_free(&plain);
}

static void noisy(aot_sb *out, const char *p, size_t pn, const char *m, size_t n)
{
    static const char *const noise[] = {"step 12", "  File \"x.py\", line 3", "", "    foo()",
                                        "class Net(torch.nn.Module):",
                                        "    def __init__(self):"};
    static unsigned k;
    keep(out, p, pn, m, n);
    aot_sb_addf(out, "%s\n", noise[k++ % 6]);
}

static void with_other_output_after_every_line(void **state)
{
    (void)state;
    collected c;
    collect_rewritten(&c, noisy);
    expect_three(&c);
    collect_free(&c);
}

/* "V1129 13:59:42.697000 17980 torch/x.py:1] [0/0] [__graph_code] " as 2.2 wrote it */
static void old(aot_sb *out, const char *p, size_t pn, const char *m, size_t n)
{
    const char *art = memmem(p, pn, "[__", 3);
    int art_n = (int)(strchr(art, ']') - art) - 1;
    aot_sb_addf(out, "[2024-01-01 13:59:42,697] [0/0] torch._dynamo.x.%.*s: [DEBUG] %.*s\n", art_n,
                art + 1, (int)n, m);
}

static void in_the_format_of_older_versions(void **state)
{
    (void)state;
    collected c;
    collect_rewritten(&c, old);
    expect_three(&c);
    assert_string_equal(label(c.units.d[0]), "[0/0]");
    collect_free(&c);
}

static void two_ranks(aot_sb *out, const char *p, size_t pn, const char *m, size_t n)
{
    for (int r = 0; r < 2; r++) {
        aot_sb_addf(out, "[default%d]:[rank%d]:%.*s%.*s\n", r, r + 4, (int)pn, p, (int)n, m);
    }
}

static void lines_of_two_ranks_interleaved(void **state)
{
    (void)state;
    collected c;
    collect_rewritten(&c, two_ranks);
    assert_int_equal(c.units.n, 6);
    int at[2] = {0};
    for (size_t i = 0; i < 6; i++) {
        const aot_unit *u = c.units.d[i];
        assert_in_range(u->key.rank, 4, 5);
        assert_int_equal(u->aot_id, at[u->key.rank - 4]++);
        assert_string_equal(stages(u), "djfb");
    }
    collect_free(&c);
}

static void autograd_ids(aot_sb *out, const char *p, size_t pn, const char *m, size_t n)
{
    const char *id = memmem(p, pn, "[0/0]", 5);
    aot_sb_addf(out, "%.*s[!2/7/1_3]%.*s%.*s\n", (int)(id - p), p, (int)(pn - (size_t)(id - p) - 5),
                id + 5, (int)n, m);
}

static void compile_ids_with_autograd_and_attempt(void **state)
{
    (void)state;
    collected c;
    collect_rewritten(&c, autograd_ids);
    expect_three(&c);
    assert_string_equal(label(c.units.d[0]), "[!2/7/1_3]");
    assert_int_equal(c.units.d[0]->key.attempt, 3);
    collect_free(&c);
}

static void create_symbol_lines_give_hints(void **state)
{
    (void)state;
    collected c;
    static const char log[] =
        "I1129 13:59:42.697000 1 torch/fx/experimental/symbolic_shapes.py:5377] [0/0] "
        "create_symbol "
        "s77 = 5 for L['x'].size()[0] [2, int_oo] f (x.py:3)\n"
        "V1129 13:59:42.697000 1 t.py:1] [0/0] [__graph_code] TRACED GRAPH\n"
        "V1129 13:59:42.697000 1 t.py:1] [0/0] [__graph_code]  ===== __compiled_fn_1 =====\n"
        "V1129 13:59:42.697000 1 t.py:1] [0/0] [__graph_code]  <x>.0 class G(torch.nn.Module):\n"
        "V1129 13:59:42.697000 1 t.py:1] [0/0] [__graph_code]     def forward(self, x):\n"
        "V1129 13:59:42.697000 1 t.py:1] [0/0] [__graph_code]         return (x,)\n";
    collect_text(&c, log, sizeof log - 1);
    assert_int_equal(c.units.n, 1);
    assert_int_equal(c.units.d[0]->symbols.n, 1);
    assert_int_equal(c.units.d[0]->symbols.d[0].hint, 5);
    assert_string_equal(c.units.d[0]->symbols.d[0].source, "L['x'].size()[0]");
    assert_string_equal(c.units.d[0]->symbols.d[0].range, "[2, int_oo]");
    assert_string_equal(aot_unit_stage(c.units.d[0], AOT_STAGE_DYNAMO)->text,
                        "class G(torch.nn.Module):\n    def forward(self, x):\n"
                        "        return (x,)\n");
    collect_free(&c);
}

static void logs_of_other_versions(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "logs/torch_2.15.0.stderr.gz");
    assert_int_equal(c.units.n, 18);
    assert_string_equal(stages(c.units.d[2]), "djfb");
    collect_free(&c);
    collect_file(&c, "logs/train_mixed_stdout.log.gz");
    assert_int_equal(c.units.n, 2);
    assert_int_equal(c.units.d[0]->n_static_inputs, 6);
    collect_free(&c);
}

/* ---- plain text ---------------------------------------------------------------------------- */

static void directives_become_facts(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "logs/text/aliased_inputs.txt");
    assert_int_equal(c.units.n, 1);
    const aot_unit *u = c.units.d[0];
    assert_string_equal(stages(u), "d");
    assert_int_equal(u->inputs.n, 4); // the storage, x, y, w
    const aot_input_desc *x = &u->inputs.d[1], *y = &u->inputs.d[2], *w = &u->inputs.d[3];
    assert_string_equal(x->source, "L_x_");
    assert_int_equal(x->storage, y->storage);
    assert_int_equal(x->storage_bytes, 40);
    assert_int_equal(x->offset, 0);
    assert_int_equal(y->offset, 4);
    assert_string_equal(y->size, "[6]");
    assert_string_equal(y->stride, "[1]");
    assert_string_equal(w->source, "L_w_");
    assert_true(w->requires_grad);
    assert_int_equal(u->symbols.d[0].hint, 5);
    assert_true(json_real_value(json_object_get(u->config, "activation_memory_budget")) == 0.5);
    assert_true(json_is_true(json_object_get(u->config, "recompute_views")));
    collect_free(&c);
}

static void slices_of_several_dimensions(void **state)
{
    (void)state;
    collected c;
    static const char text[] = "# aotscope: storage b i64[4, 6]\n"
                               "# aotscope: input x = b[1, 0:6:2]\n"
                               "# aotscope: input y = b[-2:]\n"
                               "# aotscope: input z = b[9:2:0]\n"
                               "class G(torch.nn.Module):\n"
                               "    def forward(self, x, y):\n"
                               "        return (x, y)\n";
    collect_text(&c, text, sizeof text - 1);
    const aot_unit *u = c.units.d[0];
    assert_int_equal(u->inputs.d[1].offset, 6);
    assert_string_equal(u->inputs.d[1].size, "[3]");
    assert_string_equal(u->inputs.d[1].stride, "[2]");
    assert_int_equal(u->inputs.d[2].offset, 12);
    assert_string_equal(u->inputs.d[2].size, "[2, 6]");
    const aot_import_note *n = find_unit_note(u, "damage");
    assert_non_null(n); // z
    assert_int_equal(n->line, 4);
    collect_free(&c);
}

static void headings_and_texts_tell_the_stage(void **state)
{
    (void)state;
    collected c;
    collect_file(&c, "logs/text/layer_norm_default_partition.txt");
    assert_int_equal(c.units.n, 1);
    assert_string_equal(stages(c.units.d[0]), "fb");
    collect_free(&c);
    collect_file(&c, "logs/text/sgd_mutation_kept.txt");
    assert_string_equal(stages(c.units.d[0]), "i");
    collect_free(&c);
    collect_file(&c, "logs/text/mlp_training.txt");
    assert_string_equal(stages(c.units.d[0]), "e");
    static const char start[] = "class GraphModule(torch.nn.Module):\n    def forward(";
    assert_int_equal(strncmp(aot_unit_stage(c.units.d[0], AOT_STAGE_EXPORT)->text, start,
                             sizeof start - 1), 0);
    collect_free(&c);
}

static void a_function_without_its_class_is_a_graph(void **state)
{
    (void)state;
    collected c;
    static const char text[] = "def forward(self, primals_1, tangents_1):\n"
                               "    mul = torch.ops.aten.mul.Tensor(tangents_1, primals_1)\n"
                               "    return [mul]\n";
    collect_text(&c, text, sizeof text - 1);
    assert_string_equal(stages(c.units.d[0]), "b");
    assert_string_equal(aot_unit_stage(c.units.d[0], AOT_STAGE_BACKWARD)->text,
                        "class GraphModule(torch.nn.Module):\n"
                        "    def forward(self, primals_1, tangents_1):\n"
                        "        mul = torch.ops.aten.mul.Tensor(tangents_1, primals_1)\n"
                        "        return [mul]\n");
    collect_free(&c);
}

static void the_users_own_classes_are_not_graphs(void **state)
{
    (void)state;
    collected c;
    static const char text[] = "class Net(torch.nn.Module):\n"
                               "    def __init__(self):\n"
                               "        super().__init__()\n";
    collect_text(&c, text, sizeof text - 1);
    assert_int_equal(c.status, AOT_E_FORMAT);
    collect_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_units_with_prefixes),
        cmocka_unit_test(without_prefixes),
        cmocka_unit_test(without_prefixes_and_with_output_in_between),
        cmocka_unit_test(a_prefix_on_the_first_line_of_each_message),
        cmocka_unit_test(with_colours),
        cmocka_unit_test(with_other_output_after_every_line),
        cmocka_unit_test(in_the_format_of_older_versions),
        cmocka_unit_test(lines_of_two_ranks_interleaved),
        cmocka_unit_test(compile_ids_with_autograd_and_attempt),
        cmocka_unit_test(create_symbol_lines_give_hints),
        cmocka_unit_test(logs_of_other_versions),
        cmocka_unit_test(directives_become_facts),
        cmocka_unit_test(slices_of_several_dimensions),
        cmocka_unit_test(headings_and_texts_tell_the_stage),
        cmocka_unit_test(a_function_without_its_class_is_a_graph),
        cmocka_unit_test(the_users_own_classes_are_not_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
