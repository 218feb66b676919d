/* Live memory: blocks add up to the timeline under every option, groups to the peak, and kinds,
 * regions and folded modules are what they should be. */
#include "fixture.h"

#include <string.h>

#include "exec/allocator.h"
#include "exec/memgroup.h"
#include "ir/text.h"

enum { MAT = 64 * 128 * 4, SQUARE = 128 * 128 * 4 };

/* Two regions; sin is saved, the rest of the forward may be computed again. */
static const char text[] =
    "class inner_f(torch.nn.Module):\n"
    "    def forward(self, primals, tangents):\n"
    "        primals_1: \"f32[64, 128]\"; primals_2: \"f32[128, 128]\"; tangents_1: \"f32[64, "
    "128]\"; \n"
    "    \n"
    "        primals_1, primals_2, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], "
    "self._in_spec)\n"
    "        # ac_graph_id: 0 - PREFER_RECOMPUTE File: a/model.py:12 in forward, code: x = "
    "torch.sin(x @ w)\n"
    "        mm: \"f32[64, 128]\" = torch.ops.aten.mm.default(primals_1, primals_2)\n"
    "        sin: \"f32[64, 128]\" = torch.ops.aten.sin.default(mm)\n"
    "        # ac_graph_id: 1 - PREFER_RECOMPUTE File: a/model.py:14 in forward, code: x = "
    "torch.cos(x @ w)\n"
    "        mm_1: \"f32[64, 128]\" = torch.ops.aten.mm.default(sin, primals_2)\n"
    "        cos: \"f32[64, 128]\" = torch.ops.aten.cos.default(mm_1)\n"
    "        sin_1: \"f32[64, 128]\" = torch.ops.aten.sin.default(mm_1)\n"
    "        neg: \"f32[64, 128]\" = torch.ops.aten.neg.default(sin_1);  sin_1 = None\n"
    "        mul: \"f32[64, 128]\" = torch.ops.aten.mul.Tensor(tangents_1, neg);  tangents_1 = neg "
    "= None\n"
    "        t: \"f32[128, 128]\" = torch.ops.aten.t.default(primals_2)\n"
    "        mm_2: \"f32[64, 128]\" = torch.ops.aten.mm.default(mul, t)\n"
    "        t_1: \"f32[128, 64]\" = torch.ops.aten.t.default(sin)\n"
    "        mm_3: \"f32[128, 128]\" = torch.ops.aten.mm.default(t_1, mul)\n"
    "        # No stacktrace found for following nodes\n"
    "        cos_1: \"f32[64, 128]\" = torch.ops.aten.cos.default(mm)\n"
    "        mul_1: \"f32[64, 128]\" = torch.ops.aten.mul.Tensor(mm_2, cos_1)\n"
    "        t_2: \"f32[128, 64]\" = torch.ops.aten.t.default(primals_1)\n"
    "        mm_4: \"f32[128, 128]\" = torch.ops.aten.mm.default(t_2, mul_1)\n"
    "        add: \"f32[128, 128]\" = torch.ops.aten.add.Tensor(mm_4, mm_3)\n"
    "        return pytree.tree_unflatten([cos, None, add], self._out_spec)\n";

static aot_ctx *ctx;
static aot_partition *p;
static aot_memory m;

static void cut(double budget)
{
    static const int statics[] = {1};
    aot_err err = {0};
    aot_graph *joint;
    aot_config c;
    ctx = aot_ctx_new();
    aot_config_init(&c);
    c.activation_memory_budget = budget;
    if (aot_parse_graph(&joint, ctx, text, sizeof text - 1, 1, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    aot_partition_in in = {
        .joint = joint, .n_forward_outputs = 1, .static_inputs = statics, .n_static_inputs = 1};
    if (aot_partition_run(&p, &in, &c, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
}

static int set_up(void **state)
{
    (void)state;
    cut(1);
    aot_memory_of_partition(&m, p, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    aot_memory_free(&m);
    aot_ctx_free(ctx);
    return 0;
}

static void walk(const aot_memory_options *opt)
{
    aot_memory_free(&m);
    aot_memory_of_partition(&m, p, opt);
}

static int64_t sum_at(const aot_memory_side *s, uint32_t row)
{
    int64_t sum = 0;
    for (size_t i = 0; i < s->blocks.n; i++) {
        const aot_mem_block *b = &s->blocks.d[i];
        sum += b->born <= row && row <= b->died ? b->bytes : 0;
    }
    return sum;
}

static void blocks_add_up_to_the_timeline(void **state)
{
    static const aot_memory_options options[] = {
        {0},
        {.reuse_in_place = true},
        {.hold_saved = true},
        {.hold_saved = true, .free_donated = true},
        {.round_to = 512},
        {.reuse_in_place = true, .hold_saved = true, .free_donated = true, .round_to = 4096}};
    (void)state;
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        walk(&options[o]);
        for (int side = 0; side < 2; side++) {
            const aot_memory_side *s = aot_memory_get(&m, (aot_mem_side)side);
            assert_true(s->live.n > 2);
            for (uint32_t row = 0; row < s->live.n; row++) {
                assert_int_equal(sum_at(s, row), s->live.d[row].bytes);
            }
            assert_int_equal(s->live.d[s->peak_row].bytes, s->peak);
            assert_int_equal(s->live.d[s->peak_row].node, s->peak_node);
        }
    }
}

static int64_t of_kind(aot_mem_side side, aot_mem_kind kind)
{
    const aot_memory_side *s = aot_memory_get(&m, side);
    int64_t sum = 0;
    for (size_t i = 0; i < s->blocks.n; i++) {
        sum += s->blocks.d[i].kind == kind ? s->blocks.d[i].bytes : 0;
    }
    return sum;
}

static void every_block_has_its_kind(void **state)
{
    (void)state;
    assert_int_equal(of_kind(AOT_SIDE_FORWARD, AOT_MEM_PARAMETER), SQUARE);
    assert_int_equal(of_kind(AOT_SIDE_FORWARD, AOT_MEM_INPUT), MAT);
    assert_int_equal(of_kind(AOT_SIDE_FORWARD, AOT_MEM_OUTPUT), MAT); // cos
    assert_int_equal(of_kind(AOT_SIDE_BACKWARD, AOT_MEM_TANGENT), MAT);
    assert_int_equal(of_kind(AOT_SIDE_BACKWARD, AOT_MEM_GRADIENT), SQUARE); // add
    assert_int_equal(of_kind(AOT_SIDE_BACKWARD, AOT_MEM_SAVED),
                     of_kind(AOT_SIDE_FORWARD, AOT_MEM_SAVED));
    assert_int_equal(of_kind(AOT_SIDE_BACKWARD, AOT_MEM_PARAMETER), SQUARE);
    assert_int_equal(p->saved_new_bytes, of_kind(AOT_SIDE_FORWARD, AOT_MEM_SAVED));
    // at budget 0 the forward is computed again
    aot_memory_free(&m);
    aot_ctx_free(ctx);
    cut(0);
    aot_memory_of_partition(&m, p, NULL);
    assert_int_equal(of_kind(AOT_SIDE_BACKWARD, AOT_MEM_SAVED), 0);
    assert_true(of_kind(AOT_SIDE_BACKWARD, AOT_MEM_RECOMPUTED) >= 3 * MAT); // mm, sin, mm_1
}

static void options_change_what_they_say(void **state)
{
    (void)state;
    int64_t forward = m.forward.peak, backward = m.backward.peak, end = m.backward.end;
    walk(&(aot_memory_options){.reuse_in_place = true});
    assert_true(m.backward.peak < backward);
    assert_int_equal(m.backward.end, end);
    walk(&(aot_memory_options){.hold_saved = true});
    assert_int_equal(m.forward.peak, forward);
    assert_true(m.backward.end > end); // else saved values are gone when the backward returns
    int64_t held = m.backward.end;
    walk(&(aot_memory_options){.hold_saved = true, .free_donated = true});
    assert_true(m.backward.end < held);
    walk(&(aot_memory_options){.round_to = 3 * MAT});
    assert_int_equal(m.forward.inputs, 6 * MAT);
    assert_int_equal(m.forward.peak % (3 * MAT), 0);
}

static void groups_add_up_to_the_peak(void **state)
{
    int64_t *rows = malloc((m.backward.live.n + m.forward.live.n) * sizeof *rows);
    (void)state;
    for (int by = 0; by < AOT_N_MEM_BY; by++) {
        for (int side = 0; side < 2; side++) {
            const aot_memory_side *s = aot_memory_get(&m, (aot_mem_side)side);
            aot_memgroups g;
            int64_t sum = 0;
            aot_memgroups_make(&g, p, &m, (aot_mem_side)side, (aot_mem_by)by, NULL, true);
            for (uint32_t i = 0; i < g.n; i++) {
                int64_t most = 0;
                sum += g.d[i].peak_bytes;
                assert_true(i == 0 || g.d[i].peak_bytes <= g.d[i - 1].peak_bytes);
                aot_memgroups_over_time(rows, &g, i);
                assert_int_equal(rows[s->peak_row], g.d[i].peak_bytes);
                for (size_t r = 0; r < s->live.n; r++) {
                    most = rows[r] > most ? rows[r] : most;
                }
                assert_int_equal(most, g.d[i].most_bytes);
            }
            assert_int_equal(sum, s->peak);
            aot_memgroups_free(&g);
        }
    }
    free(rows);
}

static const aot_memgroup *group(const aot_memgroups *g, const char *key)
{
    for (uint32_t i = 0; i < g->n; i++) {
        if (strcmp(g->d[i].key, key) == 0) {
            return &g->d[i];
        }
    }
    fail_msg("no group %s", key);
    return NULL;
}

static void lines_and_regions_are_told_apart(void **state)
{
    aot_memgroups g;
    (void)state;
    aot_memgroups_make(&g, p, &m, AOT_SIDE_FORWARD, AOT_MEM_BY_LINE, NULL, true);
    assert_string_equal(group(&g, "model.py:12")->detail, "x = torch.sin(x @ w)");
    assert_int_equal(group(&g, "(an input)")->peak_bytes, MAT + SQUARE);
    aot_memgroups_free(&g);
    aot_memgroups_make(&g, p, &m, AOT_SIDE_FORWARD, AOT_MEM_BY_REGION, NULL, false);
    assert_int_equal(group(&g, "(in no region)")->peak_bytes, MAT + SQUARE);
    assert_true(group(&g, "region 0")->most_bytes >= MAT);
    assert_true(group(&g, "region 1")->most_bytes >= MAT);
    aot_memgroups_free(&g);
    aot_memgroups_make(&g, p, &m, AOT_SIDE_FORWARD, AOT_MEM_BY_REGION, NULL, true);
    assert_int_equal(group(&g, "region *")->n_same, 2);
    aot_memgroups_free(&g);
}

static void equal_layers_are_folded(void **state)
{
    const char **modules = calloc(p->n_nodes, sizeof *modules);
    aot_memgroups g;
    (void)state;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        const char *name = aot_node_name(p->cut, i);
        modules[i] = strcmp(name, "mm") == 0 || strcmp(name, "sin") == 0 ? "layers.0.fc"
                     : strcmp(name, "mm_1") == 0                         ? "layers.1.fc"
                                                                         : NULL;
    }
    aot_memgroups_make(&g, p, &m, AOT_SIDE_FORWARD, AOT_MEM_BY_MODULE, modules, true);
    assert_int_equal(group(&g, "layers.*.fc")->n_same, 2);
    assert_true(group(&g, "(in no module)")->peak_bytes >= MAT + SQUARE);
    aot_memgroups_free(&g);
    aot_memgroups_make(&g, p, &m, AOT_SIDE_FORWARD, AOT_MEM_BY_MODULE, modules, false);
    assert_int_equal(group(&g, "layers.1.fc")->n_same, 1);
    aot_memgroups_free(&g);
    free(modules);
}

/* copy clones the whole storage, slice_scatter keeps what lies before: the first time. */
static const char repeated[] =
    "class inner_f(torch.nn.Module):\n"
    "    def forward(self, primals, tangents):\n"
    "        primals_1: \"f32[4, 4][4, 1]cpu\"; tangents_1: \"f32[4, 4][4, 1]cpu\"; \n"
    "    \n"
    "        primals_1, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], "
    "self._in_spec)\n"
    "        full: \"f32[4, 4][4, 1]cpu\" = torch.ops.aten.full.default([4, 4], 0)\n"
    "        slice_1: \"f32[2, 4][4, 1]cpu\" = torch.ops.aten.slice.Tensor(full, 0, 2, 4)\n"
    "        slice_2: \"f32[2, 4][4, 1]cpu\" = torch.ops.aten.slice.Tensor(primals_1, 0, 0, 2)\n"
    "        copy: \"f32[2, 4][4, 1]cpu\" = torch.ops.aten.copy.default(slice_1, slice_2)\n"
    "        copy_1: \"f32[2, 4][4, 1]cpu\" = torch.ops.aten.copy.default(slice_1, slice_2)\n"
    "        add: \"f32[2, 4][4, 1]cpu\" = torch.ops.aten.add.Tensor(copy, copy_1)\n"
    "        mul: \"f32[4, 4][4, 1]cpu\" = torch.ops.aten.mul.Tensor(tangents_1, 2)\n"
    "        return pytree.tree_unflatten([add, mul], self._out_spec)\n";

static int64_t bytes_of(const char *name)
{
    for (size_t i = 0; i < m.forward.blocks.n; i++) {
        if (strcmp(aot_node_name(p->forward, m.forward.blocks.d[i].node), name) == 0) {
            return m.forward.blocks.d[i].bytes;
        }
    }
    fail_msg("no block of %s", name);
    return 0;
}

static void a_repeated_call_takes_less(void **state)
{
    aot_err err = {0};
    aot_graph *joint;
    aot_config c;
    (void)state;
    aot_memory_free(&m);
    aot_ctx_free(ctx);
    ctx = aot_ctx_new();
    aot_config_init(&c);
    c.cse = false; // the two calls are one to it
    if (aot_parse_graph(&joint, ctx, repeated, sizeof repeated - 1, 1, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    aot_partition_in in = {.joint = joint, .n_forward_outputs = 1, .n_static_inputs = -1};
    if (aot_partition_run(&p, &in, &c, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    aot_memory_of_partition(&m, p, NULL);
    assert_int_equal(bytes_of("copy"), 64); // all of full
    assert_int_equal(bytes_of("copy_1"), 32);
    walk(&(aot_memory_options){.first_calls = true});
    assert_int_equal(bytes_of("copy_1"), 64);
    // after a walk in the same process the first is a repeated one, too
    aot_fake_calls *calls = aot_fake_calls_new();
    walk(&(aot_memory_options){.calls = calls});
    assert_int_equal(bytes_of("copy"), 64);
    walk(&(aot_memory_options){.calls = calls});
    assert_int_equal(bytes_of("copy"), 32);
    aot_fake_calls_free(calls);
}

static void names_of_groups_are_found(void **state)
{
    (void)state;
    assert_int_equal(aot_mem_by_find("module"), AOT_MEM_BY_MODULE);
    assert_int_equal(aot_mem_by_find("nothing"), AOT_N_MEM_BY);
    assert_string_equal(aot_mem_by_name(AOT_MEM_BY_REGION), "region");
}

/* ---- the allocator --------------------------------------------------------------------------- */

/* One side of blocks (bytes, born, died) over n rows. */
static void side_of(aot_memory_side *s, const int64_t (*blocks)[3], size_t n_blocks, size_t n_rows)
{
    *s = (aot_memory_side){0};
    for (size_t i = 0; i < n_rows; i++) {
        aot_vec_push(&s->live, ((aot_live){0, 0}));
    }
    for (size_t i = 0; i < n_blocks; i++) {
        aot_mem_block b = {.storage = (uint32_t)i,
                           .bytes = blocks[i][0],
                           .born = (uint32_t)blocks[i][1],
                           .died = blocks[i][2] < 0 ? UINT32_MAX : (uint32_t)blocks[i][2]};
        aot_vec_push(&s->blocks, b);
    }
}

static aot_reserved replay(const int64_t (*blocks)[3], size_t n_blocks, size_t n_rows)
{
    aot_memory x = {0};
    aot_reserved forward, backward;
    side_of(&x.forward, blocks, n_blocks, n_rows);
    aot_allocator_replay(&forward, &backward, &x);
    assert_int_equal(backward.reserved_end, forward.reserved_end); // the cache is kept
    aot_memory_free(&x);
    return forward;
}

enum { K = 1 << 10, M = 1 << 20 };

static void segments_are_of_the_allocators_sizes(void **state)
{
    (void)state;
    const int64_t small[][3] = {{1, 0, -1}, {512, 0, -1}};
    assert_int_equal(replay(small, 2, 1).reserved_peak, 2 * M);
    assert_int_equal(replay(small, 2, 1).allocated_peak, 1024);
    const int64_t middle[][3] = {{M, 0, -1}, {M + 1, 0, -1}}; // a small segment, and a large one
    assert_int_equal(replay(middle, 2, 1).reserved_peak, 22 * M);
    const int64_t large[][3] = {{11 * M, 0, -1}};
    assert_int_equal(replay(large, 1, 1).reserved_peak, 12 * M);
    // what is left of the first, 1 MiB, is too little for the large pool to keep: it is not split
    // off
    const int64_t whole[][3] = {{19 * M, 0, -1}};
    assert_int_equal(replay(whole, 1, 1).allocated_peak, 20 * M);
}

static void freed_memory_is_used_again(void **state)
{
    (void)state;
    const int64_t in_turn[][3] = {{8 * M, 0, 0}, {8 * M, 1, 1}, {8 * M, 2, 2}};
    assert_int_equal(replay(in_turn, 3, 3).reserved_peak, 20 * M);
    // two neighbours of 8 MiB become one of 16
    const int64_t joined[][3] = {{8 * M, 0, 0}, {8 * M, 0, 0}, {16 * M, 1, 1}};
    assert_int_equal(replay(joined, 3, 2).reserved_peak, 20 * M);
    const int64_t refilled[][3] = {{4 * M, 0, 0}, {4 * M, 0, 0}, {9 * M, 1, 1}};
    assert_int_equal(replay(refilled, 3, 2).reserved_peak, 20 * M);
    // a piece that lives in the middle keeps them apart
    const int64_t apart[][3] = {{8 * M, 0, 0}, {3 * M, 0, -1}, {8 * M, 0, 0}, {9 * M + 512, 1, 1}};
    assert_int_equal(replay(apart, 4, 2).reserved_peak, 40 * M);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(blocks_add_up_to_the_timeline),
        T(every_block_has_its_kind),
        T(options_change_what_they_say),
        T(groups_add_up_to_the_peak),
        T(lines_and_regions_are_told_apart),
        T(equal_layers_are_folded),
        T(a_repeated_call_takes_less),
        T(names_of_groups_are_found),
        cmocka_unit_test(segments_are_of_the_allocators_sizes),
        cmocka_unit_test(freed_memory_is_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
