/* A compiler that prints: for each graph of a program its instructions, each with the slot that its
 * value takes. Slots are used again after a value's last use, which is all that this compiler does.
 *
 *   print_compiler FILE [NAME=VALUE]...      FILE: graph text; NAME=VALUE as `aotscope --set` takes
 * it
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aotscope.h"

/* Slots of values; a freed one is taken again. */
typedef struct slots {
    int *of; /* by node; -1: none */
    int *free_list;
    int n_free, n;
} slots;

static int take_slot(slots *s)
{
    return s->n_free > 0 ? s->free_list[--s->n_free] : s->n++;
}

/* The last node that reads id. */
static aot_node_id last_use(const aot_graph *g, aot_node_id id)
{
    return aot_n_users(g, id) > 0 ? g->user[g->user_off[id + 1] - 1] : id;
}

static void print_instruction(const aot_graph *g, aot_node_id id, int slot)
{
    aot_sb text = {0};
    const aot_meta *m = aot_meta_get(g->ctx, aot_node_at(g, id)->meta);
    aot_print_node(&text, g, id);
    printf("  %%%d  %-28s %s\n", slot, aot_text(g->ctx, m->text), aot_sb_text(&text));
    aot_sb_free(&text);
}

static aot_status print_graph(void *arg, const aot_program *p, const char *side, const aot_graph *g,
                              aot_err *err)
{
    (void)p;
    (void)err;
    slots s = {.of = malloc((g->nodes.n + 1) * sizeof(int)),
               .free_list = malloc((g->nodes.n + 1) * sizeof(int))};
    printf("%s:\n", side);
    for (aot_node_id i = 0; i < g->nodes.n; i++) {
        const aot_node *n = aot_node_at(g, i);
        if (n->kind != AOT_OUTPUT) {
            s.of[i] = take_slot(&s);
        }
        if (n->kind != AOT_PLACEHOLDER && n->kind != AOT_OUTPUT) {
            print_instruction(g, i, s.of[i]);
        } else if (n->kind == AOT_OUTPUT) {
            aot_sb text = {0};
            aot_print_node(&text, g, i);
            printf("  %s\n", aot_sb_text(&text));
            aot_sb_free(&text);
        }
        for (uint32_t k = g->in_off[i]; k < g->in_off[i + 1]; k++) {
            if (last_use(g, g->in[k]) == i && n->kind != AOT_OUTPUT) {
                s.free_list[s.n_free++] = s.of[g->in[k]];
            }
        }
    }
    printf("  ; %d slots\n", s.n);
    *(int *)arg += s.n;
    free(s.of);
    free(s.free_list);
    return AOT_OK;
}

static char *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    int why = errno;
    size_t room = 1 << 16;
    char *text = f != NULL ? malloc(room) : NULL;
    *n = 0;
    while (text != NULL) {
        size_t got = fread(text + *n, 1, room - *n, f);
        *n += got;
        if (got == 0) {
            if (ferror(f)) { // a folder
                why = errno;
                free(text);
                text = NULL;
            }
            break;
        }
        if (*n == room) {
            char *more = realloc(text, room *= 2);
            if (more == NULL) {
                free(text);
                why = ENOMEM;
            }
            text = more;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    if (text == NULL) {
        fprintf(stderr, "print_compiler: %s: %s\n", path, strerror(why));
    }
    return text;
}

int main(int argc, char **argv)
{
    aot_err err = {0};
    aot_program *p = NULL;
    size_t n = 0;
    int n_slots = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: print_compiler FILE [NAME=VALUE]...\n");
        return 2;
    }
    char *text = read_file(argv[1], &n);
    if (text == NULL) {
        return 2;
    }
    aot_compiler compiler = {.arg = &n_slots, .compile = print_graph};
    aot_status st = aot_program_of_text(&p, argv[1], text, n, (const char *const *)argv + 2,
                                        (size_t)argc - 2, &err);
    if (st == AOT_OK) {
        st = aot_program_compile(p, &compiler, &err);
    }
    if (st == AOT_OK) {
        char *metadata = aot_program_metadata(p);
        printf("; %d slots in all\n%s\n", n_slots, metadata);
        free(metadata);
    } else {
        char words[1024];
        fprintf(stderr, "print_compiler: %s\n", aot_err_text(&err, words, sizeof words));
    }
    aot_program_free(p);
    free(text);
    return st == AOT_OK ? 0 : 2;
}
