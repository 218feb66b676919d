/* Torch-level statements as operator calls: the cases of lower_cases.def, what PyTorch did; and
 * calls that are refused. */
#include "fixture.h"

#include "ir/text.h"
#include "lower/lower.h"
#include "trace/tracer.h"

static const char signature[] =
    "class GraphModule(torch.nn.Module):\n"
    "    def forward(self, x: \"f32[4, 5, 6][30, 6, 1]cpu\", i: \"i64[2][1]cpu\", "
    "m: \"f32[4, 4][4, 1]cpu\", v: \"f32[4][1]cpu\", b: \"f32[2, 3, 4][12, 4, 1]cpu\", "
    "c: \"c64[3, 4][4, 1]cpu\", s: \"f32[][]cpu\", k: \"b8[4][1]cpu\", j: \"i64[4, 5][5, "
    "1]cpu\"):\n";

typedef struct job {
    const aot_graph *g;
} job;

static void run_graph(aot_tracer *t, void *arg)
{
    const job *j = arg;
    aot_value in[16];
    unsigned n = 0;
    for (aot_node_id id = 0; id < j->g->nodes.n; id++) {
        const aot_node *node = aot_node_at(j->g, id);
        if (node->kind == AOT_PLACEHOLDER) {
            const char *name = aot_node_name(j->g, id);
            in[n++] = aot_v_tensor(aot_trace_input_tensor(t, name, node->meta, false, NULL));
        }
    }
    aot_interpret(t, j->g, n, in);
}

/* "name = view.default(x, [4]); " of each call, without types. */
static void calls_of(aot_sb *out, const aot_graph *g)
{
    for (aot_node_id id = 0; id < g->nodes.n; id++) {
        const aot_node *n = aot_node_at(g, id);
        aot_sb line = {0};
        if (n->kind != AOT_CALL_FUNCTION && n->kind != AOT_GET_ATTR) {
            continue;
        }
        aot_print_node(&line, g, id);
        const char *rhs = strstr(aot_sb_text(&line), " = ");
        const char *aten = strstr(aot_sb_text(&line), "torch.ops.aten.");
        aot_sb_addf(out, "%s%s = %s", out->n > 0 ? "; " : "", aot_node_name(g, id),
                    aten != NULL ? aten + strlen("torch.ops.aten.") : rhs + 3);
        aot_sb_free(&line);
    }
}

/* The statement's line in FX text: a value gets a name, a mutation says what it was of. */
static void statement(aot_sb *text, const char *s)
{
    size_t name = strspn(s, "abcdefghijklmnopqrstuvwxyz");
    bool item = s[name] == '[' && strstr(s, "] = ") != NULL;
    bool inplace =
        s[name] == ' ' && s[name + 1] != '\0' && s[name + 2] == '=' && s[name + 1] != '=';
    aot_sb_addz(text, "        ");
    if (item || inplace) {
        aot_sb_addf(text, "%s;  y = %.*s\n", s, (int)name, s);
    } else {
        aot_sb_addf(text, "y = %s\n", s);
    }
    aot_sb_addz(text, "        return (y,)\n");
}

/* Traces one statement; its calls go to out, or what it fails with to err. */
static aot_status trace(aot_sb *out, const char *s, aot_err *err)
{
    aot_ctx *c = aot_ctx_new();
    aot_graph *g;
    aot_sb text = {0};
    aot_trace_options options = {0};
    aot_sb_addz(&text, signature);
    statement(&text, s);
    aot_status status = aot_parse_graph(&g, c, text.d, text.n, 1, err);
    if (status == AOT_OK) {
        aot_tracer *t = aot_tracer_new(c, &options);
        job j = {g};
        status = aot_tracer_run(t, run_graph, &j, err);
        if (status == AOT_OK) {
            calls_of(out, aot_trace_graph(t, AOT_LEVEL_ATEN));
        }
        aot_tracer_free(t);
    }
    aot_sb_free(&text);
    aot_ctx_free(c);
    return status;
}

static void makes_the_calls_of_pytorch(void **state)
{
    static const struct {
        const char *statement, *calls;
    } cases[] = {
#define CASE(statement, calls) {statement, calls},
#include "lower_cases.def"
#undef CASE
    };
    (void)state;
    unsigned n_bad = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aot_sb got = {0};
        aot_err err = {0};
        aot_status s = trace(&got, cases[i].statement, &err);
        if (s != AOT_OK || strcmp(aot_sb_text(&got), cases[i].calls) != 0) {
            print_message("%s\n  want %s\n  got  %s\n", cases[i].statement, cases[i].calls,
                          s == AOT_OK ? aot_sb_text(&got) : err.msg);
            n_bad++;
        }
        aot_sb_free(&got);
    }
    assert_int_equal(n_bad, 0);
}

static void refuses(const char *s, aot_status code, const char *part)
{
    aot_sb got = {0};
    aot_err err = {0};
    assert_int_equal(trace(&got, s, &err), code);
    if (strstr(err.msg, part) == NULL) {
        fail_msg("%s: '%s' does not say '%s'", s, err.msg, part);
    }
    aot_sb_free(&got);
}

static void says_what_it_cannot_do(void **state)
{
    (void)state;
    refuses("torch.no_such_function(x)", AOT_E_UNSUPPORTED, "torch.no_such_function is not known");
    refuses("x.no_such_method()", AOT_E_UNSUPPORTED, "method .no_such_method is not known");
    refuses("x.view('a')", AOT_E_UNSUPPORTED, "no overload of aten.view takes (Tensor, str)");
    refuses("torch.sin(x, y = 1)", AOT_E_UNSUPPORTED, "no overload of aten.sin");
    refuses("x[(0, 0, 0, 0)]", AOT_E_RANGE, "too many indices");
    refuses("x[7]", AOT_E_RANGE, "index 7 is out of bounds for dimension 0 with size 4");
    refuses("x.no_such_attribute", AOT_E_UNSUPPORTED, "attribute .no_such_attribute");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_the_calls_of_pytorch),
        cmocka_unit_test(says_what_it_cannot_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
