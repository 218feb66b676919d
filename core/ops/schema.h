/* Operator schemas as PyTorch prints them, read into arguments and returns:
 *     mul.Tensor(Tensor self, Tensor other) -> Tensor
 *     split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]
 * Mirrors the grammar of torch/csrc/jit/frontend/function_schema_parser.cpp. */
#ifndef AOT_OPS_SCHEMA_H
#define AOT_OPS_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

typedef enum aot_type {
    AOT_TYPE_OTHER, /* t, Dict, AnyEnumType, classes: TorchScript only */
#define TYPE(id, text) AOT_TYPE_##id,
#include "ops/types.def"
#undef TYPE
    AOT_N_TYPES
} aot_type;

const char *aot_type_name(aot_type t); /* "Tensor"; "?" for OTHER */

/* Part of a schema's text: not terminated. */
typedef struct aot_span {
    const char *s;
    uint32_t n;
} aot_span;

typedef struct aot_schema_arg {
    aot_span name;     /* empty for unnamed returns */
    aot_span type;     /* as written, alias set included: "Tensor(a!)", "SymInt[2]?" */
    aot_span def;      /* default as written: "1", "[0, 0]", "\"mean\""; n = 0: none */
    aot_span alias;    /* "a", "a -> *", "b|a"; n = 0: none */
    aot_type kind;     /* of the element: SymInt for SymInt[2]? */
    int32_t list_size; /* 2 for int[2]; 0: of any length or no list */
    bool is_list;
    bool optional;     /* the whole may be None */
    bool item_optional; /* items may be None: Tensor?[] */
    bool kwarg_only;
    bool is_write;     /* (a!) */
} aot_schema_arg;

typedef struct aot_schema {
    aot_span name, overload; /* "mul", "Tensor"; overload.n = 0: default */
    aot_schema_arg *args, *returns;
    uint32_t n_args, n_returns;
    uint32_t n_positional; /* arguments before the star */
    bool varargs;          /* "..." stands among the arguments */
    bool returns_tuple;    /* parentheses around the returns */
} aot_schema;

/* Reads a schema. Owns: *out is in the arena; spans point into text, which must live as long.
 * Errors: E_PARSE with the column and what was expected. */
AOT_NODISCARD aot_status aot_schema_parse(aot_schema *out, aot_arena *a, const char *text,
                                          aot_err *err);
/* Whether some argument is written, and whether some return aliases an argument without being
 * written. One pass, nothing allocated; false for what is no schema. */
void aot_schema_effects(const char *text, bool *writes, bool *aliases);
/* The argument of that name, or NULL. */
const aot_schema_arg *aot_schema_arg_find(const aot_schema *s, const char *name);

#endif
