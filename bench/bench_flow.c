/* Times of the minimum cut on families of networks shaped as the partitioner makes them: each node
 * i is an edge in(i) -> out(i), an input an infinite edge out(j) -> in(i).
 *   bench_flow [family] [largest size]      prints milliseconds and growth from size to size
 * To add a family: a function that adds its edges, and a row in families[]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "partition/flow.h"

typedef struct net {
    aot_flow *f;
    uint32_t n, s, t; /* nodes; vertices: in(i) = 2i, out(i) = 2i + 1, then s and t */
    uint64_t random;
} net;

static uint32_t draw(net *b, uint32_t below)
{
    b->random ^= b->random << 13;
    b->random ^= b->random >> 7;
    b->random ^= b->random << 17;
    return (uint32_t)((b->random >> 20) % below);
}

static void node(net *b, uint32_t i, int64_t weight)
{
    aot_flow_edge(b->f, 2 * i, 2 * i + 1, weight);
}

static void input(net *b, uint32_t from, uint32_t to)
{
    aot_flow_edge(b->f, 2 * from + 1, 2 * to, AOT_FLOW_INF);
}

static void ban(net *b, uint32_t i)
{
    aot_flow_edge(b->f, b->s, 2 * i, AOT_FLOW_INF);
}

static void use(net *b, uint32_t i)
{
    aot_flow_edge(b->f, 2 * i + 1, b->t, AOT_FLOW_INF);
}

/* One chain, random weights. */
static void chain(net *b)
{
    ban(b, 0);
    for (uint32_t i = 0; i < b->n; i++) {
        node(b, i, 1 + draw(b, 1000000));
        if (i != 0) {
            input(b, i - 1, i);
        }
    }
    use(b, b->n - 1);
}

/* Weights fall towards the sink: every node is a new bottleneck. */
static void funnel(net *b)
{
    ban(b, 0);
    for (uint32_t i = 0; i < b->n; i++) {
        node(b, i, (int64_t)(b->n - i) * 10 + draw(b, 10));
        if (i != 0) {
            input(b, i - 1, i);
        }
        if (i > 7 && draw(b, 2) == 0) {
            input(b, i - 7, i);
        }
    }
    use(b, b->n - 1);
}

/* A chain with skip connections of several lengths. */
static void skips(net *b)
{
    ban(b, 0);
    for (uint32_t i = 0; i < b->n; i++) {
        node(b, i, 1 + draw(b, 1000000));
        for (uint32_t back = 1; back <= 16 && back <= i; back *= 2) {
            if (back == 1 || draw(b, 3) == 0) {
                input(b, i - back, i);
            }
        }
    }
    use(b, b->n - 1);
}

/* Transformer-like blocks of 16 nodes; the heavy ones are banned, most results are used. */
static void blocks_of(net *b, bool bans)
{
    for (uint32_t i = 0; i < b->n; i++) {
        uint32_t at = i % 16, first = i - at;
        node(b, i, 4096 * (1 + draw(b, 8)));
        if (at == 1 || at == 2 || i == 0) { /* parameters */
            ban(b, i);
            continue;
        }
        if (i > 16) {
            input(b, at == 0 || at == 3 ? first - 1 : i - 1, i);
        }
        if (at == 4 || at == 10) {
            input(b, at == 4 ? first + 1 : first + 2, i);
        }
        if (at == 15 && i > 16) { /* residual */
            input(b, first - 1, i);
        }
        if (bans && at % 6 == 4) {
            ban(b, i);
        }
        if (at == 4 || at == 9 || at == 12) {
            use(b, i);
        }
    }
}

static void blocks(net *b)
{
    blocks_of(b, true);
}

static void free_blocks(net *b)
{
    blocks_of(b, false);
}

/* Forward and backward chain; each forward value is used at its backward node, which must run. */
static void mirror(net *b)
{
    uint32_t half = b->n / 2;
    ban(b, 0);
    for (uint32_t i = 0; i < half; i++) {
        node(b, i, 1 + draw(b, 1000));
        node(b, half + i, 1 + draw(b, 1000));
        aot_flow_edge(b->f, 2 * (half + i), b->t, AOT_FLOW_INF);
        input(b, i, half + i);
        if (i != 0) {
            input(b, i - 1, i);
            input(b, half + i, half + i - 1);
        }
    }
}

/* The same, but only the last backward node must run: paths of n different lengths. */
static void rungs(net *b)
{
    uint32_t half = b->n / 2;
    ban(b, 0);
    aot_flow_edge(b->f, 2 * half, b->t, AOT_FLOW_INF);
    for (uint32_t i = 0; i < half; i++) {
        node(b, i, (int64_t)(half - i) * 10 + draw(b, 10));
        node(b, half + i, (int64_t)(half - i) * 10 + draw(b, 10));
        aot_flow_edge(b->f, 2 * i + 1, 2 * (half + i), 1 + draw(b, 10));
        if (i != 0) {
            input(b, i - 1, i);
            input(b, half + i, half + i - 1);
        }
    }
}

/* Layers of ten, three inputs each. */
static void layered(net *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        uint32_t layer = i / 10;
        node(b, i, 1 + draw(b, 1000));
        for (uint32_t k = 0; k < 3 && layer != 0; k++) {
            input(b, (layer - 1) * 10 + draw(b, 10), i);
        }
        if (layer == 0) {
            ban(b, i);
        }
        if (i + 10 >= b->n) {
            use(b, i);
        }
    }
}

/* Two rails that cross at every step, weights all equal. */
static void ladder(net *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        node(b, i, 1);
        if (i < 2) {
            ban(b, i);
        } else {
            input(b, i - 2, i);
            input(b, (i ^ 1) - 2, i);
        }
        if (i + 2 >= b->n) {
            use(b, i);
        }
    }
}

/* Half of the nodes feed one, which feeds the other half. */
static void star(net *b)
{
    uint32_t hub = b->n / 2;
    for (uint32_t i = 0; i < b->n; i++) {
        node(b, i, i == hub ? (int64_t)b->n * 200 : 1 + draw(b, 1000));
        if (i < hub) {
            ban(b, i);
            input(b, i, hub);
        } else if (i > hub) {
            input(b, hub, i);
            use(b, i);
        }
    }
}

/* Inputs from the last 20 nodes; one node in `rare` is banned, one used. */
static void local_of(net *b, uint32_t rare)
{
    for (uint32_t i = 0; i < b->n; i++) {
        node(b, i, 1 + draw(b, 1000000));
        for (uint32_t k = 1 + draw(b, 3); k > 0 && i != 0; k--) {
            input(b, i - 1 - draw(b, i < 20 ? i : 20), i);
        }
        if (i == 0 || draw(b, rare) == 0) {
            ban(b, i);
        } else if (draw(b, rare) == 0) {
            use(b, i);
        }
    }
    use(b, b->n - 1);
}

static void local_10(net *b)
{
    local_of(b, 10);
}

static void local_100(net *b)
{
    local_of(b, 100);
}

static void local_1000(net *b)
{
    local_of(b, 1000);
}

static void local_100000(net *b)
{
    local_of(b, 100000);
}

/* DenseNet-like: in blocks of 32 every node takes all before it in the block. */
static void dense(net *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        node(b, i, 4096 * (1 + draw(b, 8)));
        for (uint32_t j = i - i % 32; j < i; j++) {
            input(b, j, i);
        }
        if (i % 32 == 0 && i != 0) {
            input(b, i - 1, i);
        }
        if (i == 0 || draw(b, 16) == 0) {
            ban(b, i);
        }
        if (draw(b, 4) == 0) {
            use(b, i);
        }
    }
}

/* As wide as long; not thin at all. */
static void grid(net *b)
{
    uint32_t side = 1;
    while ((side + 1) * (side + 1) <= b->n) {
        side++;
    }
    for (uint32_t i = 0; i < side * side; i++) {
        node(b, i, 1 + draw(b, 1000));
        if (i < side) {
            ban(b, i);
        } else {
            input(b, i - side, i);
            input(b, i % side == 0 ? i - 1 : i - side - 1, i);
        }
        if (i + side >= side * side) {
            use(b, i);
        }
    }
}

static const struct {
    const char *name;
    void (*make)(net *b);
} families[] = {
    {"chain", chain},         {"funnel", funnel},         {"skips", skips},
    {"blocks", blocks},       {"free_blocks", free_blocks}, {"mirror", mirror},
    {"rungs", rungs},         {"layered", layered},       {"ladder", ladder},
    {"star", star},           {"local_10", local_10},     {"local_100", local_100},
    {"local_1000", local_1000}, {"local_100000", local_100000}, {"dense", dense},
    {"grid", grid},
};

/* Of this process: other work on the machine does not count. */
static double now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* Least of a few runs, in milliseconds. */
static double time_of(void (*make)(net *b), uint32_t n)
{
    net b = {.n = n, .s = 2 * n, .t = 2 * n + 1, .random = 88172645463325252u};
    b.f = aot_flow_new(2 * n + 2, 0);
    make(&b);
    uint8_t *side = aot_xmalloc(2 * (size_t)n + 2);
    double best = 1e300;
    for (int run = 0; run < (n <= 10000 ? 5 : 2) && best > 0; run++) {
        int64_t value = 0;
        double start = now_ms();
        aot_status status = aot_flow_min_cut(b.f, b.s, b.t, &value, side, NULL, NULL, NULL);
        double took = now_ms() - start;
        if (status != AOT_OK) {
            printf("%s ", aot_status_name(status));
            break;
        }
        best = took < best ? took : best;
    }
    free(side);
    aot_flow_free(b.f);
    return best;
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : "";
    uint32_t largest = argc > 2 ? (uint32_t)atol(argv[2]) : 1000000;
    printf("%-14s ms at 1,000, 10,000, ... nodes (growth)\n", "family");
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (strstr(families[i].name, only) == NULL) {
            continue;
        }
        double before = 0;
        printf("%-14s", families[i].name);
        for (uint32_t n = 1000; n <= largest; n *= 10) {
            double ms = time_of(families[i].make, n);
            printf(before > 0 ? " %10.3f (x%5.1f)" : " %10.3f", ms, ms / before);
            fflush(stdout);
            before = ms;
        }
        printf("\n");
    }
    return 0;
}
