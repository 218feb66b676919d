/* What units have in common is said once: versions, settings, what is missing. */
#include "tui/shared_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS_SHOWN = 6 };

void aot_shared_add(aot_shared_lines *v, const char *text, size_t unit)
{
    for (size_t i = 0; i < v->n; i++) {
        if (strcmp(v->d[i].text, text) == 0) {
            aot_vec_push(&v->d[i].units, unit);
            return;
        }
    }
    aot_shared_line s = {.text = aot_xstrdup(text)};
    aot_vec_push(&s.units, unit);
    aot_vec_push(v, s);
}

void aot_shared_free(aot_shared_lines *v)
{
    for (size_t i = 0; i < v->n; i++) {
        free(v->d[i].text);
        aot_vec_free(&v->d[i].units);
    }
    aot_vec_free(v);
}

void aot_print_unit_name(const aot_model *m, size_t unit)
{
    char label[96];
    printf("%zu %s", unit, aot_unit_label(&aot_model_unit(m, unit)->key, label, sizeof label));
}

void aot_shared_print(const aot_model *m, const aot_shared_lines *v)
{
    for (size_t i = 0; i < v->n; i++) {
        const aot_shared_line *s = &v->d[i];
        printf("  %s  (", s->text);
        if (s->units.n == aot_model_n_units(m) && s->units.n > 1) {
            printf("all units");
        }
        for (size_t k = 0; k < s->units.n && k < LABELS_SHOWN && s->units.n != aot_model_n_units(m);
             k++) {
            printf("%s", k > 0 ? ", " : "");
            aot_print_unit_name(m, s->units.d[k]);
        }
        if (s->units.n == 1 && aot_model_n_units(m) == 1) {
            aot_print_unit_name(m, 0);
        } else if (s->units.n > LABELS_SHOWN && s->units.n != aot_model_n_units(m)) {
            printf(" and %zu more", s->units.n - LABELS_SHOWN);
        }
        puts(")");
    }
}

json_t *aot_shared_json(const aot_shared_lines *v)
{
    json_t *list = json_array();
    for (size_t i = 0; i < v->n; i++) {
        json_t *units = json_array();
        for (size_t k = 0; k < v->d[i].units.n; k++) {
            json_array_append_new(units, json_integer((json_int_t)v->d[i].units.d[k]));
        }
        json_array_append_new(list, json_pack("{s:s, s:o}", "text", v->d[i].text, "units", units));
    }
    return list;
}
