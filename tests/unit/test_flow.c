/* Minimum cut: against a plain augmenting-path solver on small random networks, and by certificate
 * (a feasible flow whose value is that of the cut) on all, also large ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "partition/flow.h"

typedef struct tedge {
    uint32_t u, v;
    int64_t cap;
} tedge;

/* The test's own copy of a network. */
typedef struct tnet {
    uint32_t n, m, s, t, room;
    tedge *e;
} tnet;

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 20) % below);
}

static void add(tnet *g, uint32_t u, uint32_t v, int64_t cap)
{
    if (g->m == g->room) {
        g->room = g->room * 2 + 64;
        g->e = aot_xrealloc(g->e, g->room * sizeof *g->e);
    }
    g->e[g->m++] = (tedge){u, v, cap};
}

static aot_flow *build(const tnet *g)
{
    aot_flow *f = aot_flow_new(g->n, g->m / 2);
    for (uint32_t i = 0; i < g->m; i++) {
        assert_int_equal(aot_flow_edge(f, g->e[i].u, g->e[i].v, g->e[i].cap), i);
    }
    assert_int_equal(aot_flow_n_edges(f), g->m);
    return f;
}

/* Vertices that reach t over edges with room left, by passes over all edges until nothing changes;
 * the passes run down and up so that long chains need few. */
static void reach_sink(const tnet *g, const int64_t *flow, uint8_t *side)
{
    memset(side, 0, g->n);
    side[g->t] = 1;
    for (uint32_t changed = 1, pass = 0; changed != 0; pass++) {
        changed = 0;
        for (uint32_t k = 0; k < g->m; k++) {
            uint32_t i = pass % 2 == 0 ? g->m - 1 - k : k;
            const tedge *e = &g->e[i];
            if (side[e->v] && !side[e->u] && (e->cap == AOT_FLOW_INF || flow[i] < e->cap)) {
                side[e->u] = 1;
                changed = 1;
            }
            if (side[e->u] && !side[e->v] && flow[i] > 0) {
                side[e->v] = 1;
                changed = 1;
            }
        }
    }
}

/* Shortest augmenting paths, edge by edge; false if the flow has no bound. */
static bool simple_flow(const tnet *g, int64_t *flow, int64_t *value)
{
    uint32_t *queue = aot_xmalloc(g->n * sizeof *queue), *by = aot_xmalloc(g->n * sizeof *by);
    memset(flow, 0, g->m * sizeof *flow);
    bool bounded = true;
    *value = 0;
    while (bounded) {
        uint32_t n_queue = 1;
        queue[0] = g->s;
        memset(by, 0xff, g->n * sizeof *by);
        for (uint32_t q = 0; q < n_queue; q++) {
            for (uint32_t i = 0; i < g->m; i++) {
                const tedge *e = &g->e[i];
                uint32_t to = e->u == queue[q] ? e->v : e->u;
                bool open = (e->u == queue[q] && (e->cap == AOT_FLOW_INF || flow[i] < e->cap)) ||
                            (e->u != queue[q] && e->v == queue[q] && flow[i] > 0);
                if (open && to != g->s && by[to] == UINT32_MAX) {
                    by[to] = i;
                    queue[n_queue++] = to;
                }
            }
        }
        if (by[g->t] == UINT32_MAX) {
            break;
        }
        int64_t room = AOT_FLOW_INF;
        for (uint32_t v = g->t; v != g->s;) {
            const tedge *e = &g->e[by[v]];
            int64_t left = e->v != v            ? flow[by[v]]
                           : e->cap == AOT_FLOW_INF ? AOT_FLOW_INF
                                                    : e->cap - flow[by[v]];
            room = left < room ? left : room;
            v = e->v == v ? e->u : e->v;
        }
        bounded = room != AOT_FLOW_INF;
        for (uint32_t v = g->t; v != g->s && bounded;) {
            const tedge *e = &g->e[by[v]];
            flow[by[v]] += e->v == v ? room : -room;
            v = e->v == v ? e->u : e->v;
        }
        *value += bounded ? room : 0;
    }
    free(queue);
    free(by);
    return bounded;
}

/* Solves; checks that the flow is one, that the cut is worth as much, that side is canonical. */
static int64_t check_certificate(const tnet *g, aot_flow *f, uint8_t *side)
{
    int64_t value = -1, cut = 0;
    aot_err err = {0};
    if (aot_flow_min_cut(f, g->s, g->t, &value, side, NULL, NULL, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    int64_t *net_in = aot_xcalloc(g->n, sizeof *net_in);
    int64_t *flow = aot_xcalloc(g->m + 1, sizeof *flow);
    uint8_t *reach = aot_xcalloc(g->n, 1);
    for (uint32_t i = 0; i < g->m; i++) {
        const tedge *e = &g->e[i];
        flow[i] = aot_flow_on(f, i);
        assert_true(flow[i] >= 0 && flow[i] <= e->cap);
        net_in[e->u] -= flow[i];
        net_in[e->v] += flow[i];
        if (!side[e->u] && side[e->v]) {
            assert_true(e->cap != AOT_FLOW_INF);
            cut += e->cap;
        }
    }
    for (uint32_t v = 0; v < g->n; v++) {
        assert_int_equal(net_in[v], v == g->t ? value : v == g->s ? -value : 0);
    }
    assert_int_equal(cut, value);
    reach_sink(g, flow, reach);
    assert_memory_equal(reach, side, g->n);
    free(net_in);
    free(flow);
    free(reach);
    return value;
}

/* The unbounded path: over infinite edges only, no longer than any other. */
static void check_path(const tnet *g, const uint32_t *path, uint32_t n)
{
    assert_int_equal(path[0], g->s);
    assert_int_equal(path[n - 1], g->t);
    uint32_t *dist = aot_xmalloc(g->n * sizeof *dist);
    memset(dist, 0xff, g->n * sizeof *dist);
    dist[g->s] = 0;
    for (uint32_t round = 0; round < g->n; round++) {
        for (uint32_t i = 0; i < g->m; i++) {
            const tedge *e = &g->e[i];
            if (e->cap == AOT_FLOW_INF && dist[e->u] == round && dist[e->v] > round) {
                dist[e->v] = round + 1;
            }
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        assert_int_equal(dist[path[k]], k);
        bool linked = k == 0;
        for (uint32_t i = 0; i < g->m && !linked; i++) {
            linked = g->e[i].cap == AOT_FLOW_INF && g->e[i].u == path[k - 1] &&
                     g->e[i].v == path[k];
        }
        assert_true(linked);
    }
    assert_int_equal(dist[g->t], n - 1);
    free(dist);
}

/* Any network; acyclic if dag. Self loops, parallel and zero edges included. */
static tnet random_net(uint32_t n, uint32_t m, uint32_t top, uint32_t percent_inf, bool dag)
{
    tnet g = {.n = n, .s = dag ? 0 : draw(n), .t = n - 1};
    g.t = g.s == g.t ? 0 : g.t;
    for (uint32_t i = 0; i < m; i++) {
        uint32_t u = draw(n), v = draw(n);
        if (dag && u > v) {
            uint32_t w = u;
            u = v;
            v = w;
        }
        add(&g, u, v, draw(100) < percent_inf ? AOT_FLOW_INF : (int64_t)draw(top + 1));
    }
    return g;
}

/* Compares with the plain solver; returns whether the flow was bounded. */
static bool compare(const tnet *g)
{
    int64_t *flow = aot_xcalloc(g->m + 1, sizeof *flow), want = 0, value = 0;
    uint8_t *side = aot_xcalloc(g->n, 1), *want_side = aot_xcalloc(g->n, 1);
    uint32_t *path = aot_xcalloc(g->n, sizeof *path), n_path = 0;
    aot_flow *f = build(g);
    bool bounded = simple_flow(g, flow, &want);
    if (bounded) {
        assert_int_equal(check_certificate(g, f, side), want);
        reach_sink(g, flow, want_side);
        assert_memory_equal(side, want_side, g->n);
    } else {
        aot_err err = {0};
        aot_status status = aot_flow_min_cut(f, g->s, g->t, &value, side, path, &n_path, &err);
        assert_int_equal(status, AOT_E_UNBOUNDED);
        assert_int_equal(err.code, AOT_E_UNBOUNDED);
        check_path(g, path, n_path);
    }
    aot_flow_free(f);
    free(flow);
    free(side);
    free(want_side);
    free(path);
    return bounded;
}

static void small_networks_agree_with_a_plain_solver(void **state)
{
    (void)state;
    uint32_t n_bounded = 0, n_unbounded = 0;
    for (uint32_t i = 0; i < 6000; i++) {
        random_state = 1000003u * (uint64_t)i + 77777;
        uint32_t n = 2 + draw(14), m = draw(4 * n), top = i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : 1000;
        tnet g = random_net(n, m, top, i % 5 * 10, i % 2 == 0);
        *(compare(&g) ? &n_bounded : &n_unbounded) += 1;
        free(g.e);
    }
    assert_true(n_bounded > 3000 && n_unbounded > 100);
}

static void middle_networks_agree_with_a_plain_solver(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 120; i++) {
        random_state = 1000033u * (uint64_t)i + 4242;
        uint32_t n = 60 + draw(200);
        tnet g = random_net(n, 3 * n, i % 2 == 0 ? 2 : 50, i % 3 * 4, i % 4 < 2);
        compare(&g);
        free(g.e);
    }
}

/* As the partitioner makes them: node i is 2i -> 2i + 1; inputs lie up to `reach` nodes back, and
 * `back` percent of the edges run backwards, which makes cycles. */
static tnet node_net(uint32_t n, uint32_t reach, uint32_t rare, uint32_t top, uint32_t back)
{
    tnet g = {.n = 2 * n + 2, .s = 2 * n, .t = 2 * n + 1};
    for (uint32_t i = 0; i < n; i++) {
        add(&g, 2 * i, 2 * i + 1, 1 + draw(top));
        for (uint32_t k = 1 + draw(3); k > 0 && i != 0; k--) {
            uint32_t from = i - 1 - draw(i < reach ? i : reach);
            bool turned = draw(100) < back;
            add(&g, 2 * (turned ? i : from) + 1, 2 * (turned ? from : i),
                draw(20) == 0 ? (int64_t)draw(top) : AOT_FLOW_INF);
        }
        if (i == 0 || draw(rare) == 0) {
            add(&g, g.s, 2 * i, AOT_FLOW_INF);
        } else if (i == n - 1 || draw(rare) == 0) {
            add(&g, 2 * i + 1, g.t, AOT_FLOW_INF);
        }
    }
    return g;
}

static void large_networks_have_a_certificate(void **state)
{
    (void)state;
    static const struct {
        uint32_t n, reach, rare, top, back;
    } kinds[] = {
        {3000, 5, 10, 3, 0},    {3000, 20, 100, 1000, 0}, {9000, 20, 300, 1, 0},
        {9000, 8, 1000, 100, 2}, {20000, 20, 500, 1000, 0}, {5000, 5000, 200, 10, 0},
        {20000, 3, 5000, 1000000, 1}, {3000, 3000, 40, 5, 20},
    };
    for (uint32_t i = 0; i < 2 * sizeof kinds / sizeof *kinds; i++) {
        random_state = 998877 + i;
        uint32_t k = i / 2;
        tnet g = node_net(kinds[k].n, kinds[k].reach, kinds[k].rare, kinds[k].top, kinds[k].back);
        uint8_t *side = aot_xcalloc(g.n, 1);
        aot_flow *f = build(&g);
        check_certificate(&g, f, side);
        aot_flow_free(f);
        free(side);
        free(g.e);
    }
}

static void capacities_can_be_changed_and_solved_again(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 200; i++) {
        random_state = 31337 + 7 * (uint64_t)i;
        tnet g = random_net(20, 60, 20, 0, i % 2 == 0);
        uint8_t side[20], fresh_side[20];
        aot_flow *f = build(&g);
        check_certificate(&g, f, side);
        for (uint32_t k = 0; k < 10; k++) {
            uint32_t e = draw(g.m);
            g.e[e].cap = draw(40);
            aot_flow_set_capacity(f, e, g.e[e].cap);
            assert_int_equal(aot_flow_on(f, e), 0);
        }
        add(&g, draw(20), draw(20), 5);
        aot_flow_edge(f, g.e[g.m - 1].u, g.e[g.m - 1].v, 5);
        aot_flow *fresh = build(&g);
        assert_int_equal(check_certificate(&g, f, side), check_certificate(&g, fresh, fresh_side));
        assert_memory_equal(side, fresh_side, 20);
        aot_flow_free(fresh);
        aot_flow_free(f);
        free(g.e);
    }
}

static void ties_are_cut_nearest_to_the_sink(void **state)
{
    (void)state;
    tnet g = {.n = 5, .s = 0, .t = 4};
    add(&g, 0, 1, 7);
    add(&g, 1, 2, 7);
    add(&g, 2, 3, 7);
    add(&g, 3, 4, AOT_FLOW_INF);
    uint8_t side[5];
    aot_flow *f = build(&g);
    assert_int_equal(check_certificate(&g, f, side), 7);
    assert_memory_equal(side, ((uint8_t[]){0, 0, 0, 1, 1}), 5);
    aot_flow_free(f);
    free(g.e);
}

static void a_sink_that_is_not_reached_costs_nothing(void **state)
{
    (void)state;
    tnet g = {.n = 6, .s = 0, .t = 5};
    add(&g, 0, 1, AOT_FLOW_INF);
    add(&g, 1, 2, 3);
    add(&g, 3, 5, AOT_FLOW_INF);
    add(&g, 4, 3, 2);
    add(&g, 2, 4, 0);
    uint8_t side[6];
    aot_flow *f = build(&g);
    assert_int_equal(check_certificate(&g, f, side), 0);
    assert_memory_equal(side, ((uint8_t[]){0, 0, 0, 1, 1, 1}), 6);
    aot_flow_free(f);
    free(g.e);
    f = aot_flow_new(2, 0);
    int64_t value = -1;
    assert_int_equal(aot_flow_min_cut(f, 1, 0, &value, side, NULL, NULL, NULL), AOT_OK);
    assert_int_equal(value, 0);
    assert_memory_equal(side, ((uint8_t[]){1, 0}), 2);
    aot_flow_free(f);
}

static void the_unbounded_path_follows_insertion_order(void **state)
{
    (void)state;
    aot_flow *f = aot_flow_new(8, 0);
    aot_flow_edge(f, 0, 7, 5);
    aot_flow_edge(f, 0, 3, AOT_FLOW_INF);
    aot_flow_edge(f, 0, 2, AOT_FLOW_INF);
    aot_flow_edge(f, 2, 5, AOT_FLOW_INF); /* both ways are as long; 3 was added first */
    aot_flow_edge(f, 3, 6, AOT_FLOW_INF);
    aot_flow_edge(f, 3, 4, AOT_FLOW_INF);
    aot_flow_edge(f, 5, 7, AOT_FLOW_INF);
    aot_flow_edge(f, 4, 7, AOT_FLOW_INF);
    aot_flow_edge(f, 6, 7, AOT_FLOW_INF);
    int64_t value = -1;
    uint8_t side[8] = {9};
    uint32_t path[8], n_path = 0;
    aot_err err = {0};
    assert_int_equal(aot_flow_min_cut(f, 0, 7, &value, side, path, &n_path, &err), AOT_E_UNBOUNDED);
    assert_int_equal(n_path, 4);
    assert_memory_equal(path, ((uint32_t[]){0, 3, 6, 7}), 4 * sizeof *path);
    assert_int_equal(value, -1);
    assert_int_equal(side[0], 9);
    assert_int_equal(aot_flow_min_cut(f, 4, 4, &value, side, path, &n_path, NULL), AOT_E_UNBOUNDED);
    assert_int_equal(n_path, 1);
    assert_int_equal(path[0], 4);
    /* Without the infinite edges into 7 there is a cut. */
    for (uint32_t e = 6; e < 9; e++) {
        aot_flow_set_capacity(f, e, 2);
    }
    assert_int_equal(aot_flow_min_cut(f, 0, 7, &value, side, NULL, NULL, NULL), AOT_OK);
    assert_int_equal(value, 11);
    aot_flow_free(f);
}

static void huge_capacities_do_not_overflow(void **state)
{
    (void)state;
    const int64_t huge = AOT_FLOW_INF - 1, byte_count = 1000000000000000;
    tnet g = {.n = 104, .s = 0, .t = 103};
    for (uint32_t i = 0; i < 50; i++) { /* far more than 2^63 arrives at 101 */
        add(&g, 0, 1 + i, huge);
        add(&g, 1 + i, 101, AOT_FLOW_INF);
        add(&g, 0, 51 + i, byte_count + i);
        add(&g, 51 + i, 101, byte_count);
    }
    add(&g, 101, 102, byte_count * 3);
    add(&g, 102, 103, huge);
    uint8_t side[104];
    aot_flow *f = build(&g);
    assert_int_equal(check_certificate(&g, f, side), byte_count * 3);
    assert_int_equal(side[102], 1);
    assert_int_equal(side[101], 0);
    aot_flow_set_capacity(f, g.m - 2, huge);
    int64_t value = -1;
    aot_err err = {0};
    assert_int_equal(aot_flow_min_cut(f, 0, 103, &value, side, NULL, NULL, &err), AOT_E_RANGE);
    assert_int_equal(value, -1);
    aot_flow_free(f);
    free(g.e);
}

static void many_large_weights_add_up_exactly(void **state)
{
    (void)state;
    tnet g = {.n = 2002, .s = 2000, .t = 2001};
    for (uint32_t i = 0; i < 1000; i++) {
        add(&g, g.s, 2 * i, AOT_FLOW_INF);
        add(&g, 2 * i, 2 * i + 1, 1000000000000000 + i);
        add(&g, 2 * i + 1, g.t, AOT_FLOW_INF);
    }
    uint8_t *side = aot_xcalloc(g.n, 1);
    aot_flow *f = build(&g);
    assert_int_equal(check_certificate(&g, f, side), 1000000000000000 * 1000 + 499500);
    aot_flow_free(f);
    free(side);
    free(g.e);
}

/* Twice a million vertices; the last of the equal minima is cut. */
static void a_chain_of_a_million_nodes_is_cut(void **state)
{
    (void)state;
    const uint32_t n = 1000000;
    aot_flow *f = aot_flow_new(2 * n + 2, 0);
    aot_flow_edge(f, 2 * n, 0, AOT_FLOW_INF);
    for (uint32_t i = 0; i < n; i++) {
        aot_flow_edge(f, 2 * i, 2 * i + 1, i % 1000 == 500 ? 17 : 1000000 - i / 2);
        if (i != 0) {
            aot_flow_edge(f, 2 * i - 1, 2 * i, AOT_FLOW_INF);
        }
        if (i > 2 && i % 1000 != 501 && i % 1000 != 502 && i % 1000 != 503) {
            aot_flow_edge(f, 2 * i - 5, 2 * i, AOT_FLOW_INF);
        }
    }
    aot_flow_edge(f, 2 * n - 1, 2 * n + 1, AOT_FLOW_INF);
    uint8_t *side = aot_xcalloc(2 * n + 2, 1);
    int64_t value = -1;
    assert_int_equal(aot_flow_min_cut(f, 2 * n, 2 * n + 1, &value, side, NULL, NULL, NULL), AOT_OK);
    assert_int_equal(value, 17);
    for (uint32_t v = 0; v < 2 * n; v++) {
        if (side[v] != (v > 2 * (n - 500))) {
            fail_msg("vertex %u is on the wrong side", v);
        }
    }
    aot_flow_free(f);
    free(side);
}

/* Every path has another length, and every weight is a new bottleneck. */
static void paths_of_all_lengths_are_found(void **state)
{
    (void)state;
    const uint32_t half = 6000;
    tnet g = {.n = 4 * half + 2, .s = 4 * half, .t = 4 * half + 1};
    random_state = 5;
    add(&g, g.s, 0, AOT_FLOW_INF);
    add(&g, 2 * half, g.t, AOT_FLOW_INF);
    for (uint32_t i = 0; i < half; i++) {
        add(&g, 2 * i, 2 * i + 1, (half - i) * 10 + draw(10));
        add(&g, 2 * (half + i), 2 * (half + i) + 1, (half - i) * 10 + draw(10));
        add(&g, 2 * i + 1, 2 * (half + i), 1 + draw(10));
        if (i != 0) {
            add(&g, 2 * i - 1, 2 * i, AOT_FLOW_INF);
            add(&g, 2 * (half + i) + 1, 2 * (half + i) - 2, AOT_FLOW_INF);
        }
    }
    uint8_t *side = aot_xcalloc(g.n, 1);
    aot_flow *f = build(&g);
    assert_true(check_certificate(&g, f, side) > half);
    aot_flow_free(f);
    free(side);
    free(g.e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_networks_agree_with_a_plain_solver),
        cmocka_unit_test(middle_networks_agree_with_a_plain_solver),
        cmocka_unit_test(large_networks_have_a_certificate),
        cmocka_unit_test(capacities_can_be_changed_and_solved_again),
        cmocka_unit_test(ties_are_cut_nearest_to_the_sink),
        cmocka_unit_test(a_sink_that_is_not_reached_costs_nothing),
        cmocka_unit_test(the_unbounded_path_follows_insertion_order),
        cmocka_unit_test(huge_capacities_do_not_overflow),
        cmocka_unit_test(many_large_weights_add_up_exactly),
        cmocka_unit_test(a_chain_of_a_million_nodes_is_cut),
        cmocka_unit_test(paths_of_all_lengths_are_found),
    };
    return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
