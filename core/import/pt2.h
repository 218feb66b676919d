/* Between the files that read .pt2 archives (torch.export.save): pt2_archive.c opens the zip and
 * hands over one exported program after the other, pt2_program.c makes a unit of it with the help
 * of the others. Nothing here is public.
 *
 * The JSON of a program is walked in place (json_scan.h) after it was found to be JSON; positions
 * in errors are field names, since that is what a person can look up in PyTorch's
 * torch/_export/serde/schema.py. */
#ifndef AOT_IMPORT_PT2_H
#define AOT_IMPORT_PT2_H

#include "import/importer.h"
#include "import/json_scan.h"
#include "ir/graph.h"

/* torch/_export/serde/schema.py:SCHEMA_VERSION of PyTorch 2.11. */
enum { AOT_PT2_SCHEMA_MAJOR = 8, AOT_PT2_SCHEMA_MINOR = 17 };

/* A tensor whose bytes are a member of the archive: parameter, buffer, constant. */
typedef struct aot_pt2_payload {
    const char *fqn;    /* a.weight */
    const char *member; /* weight_0: programs and names may share it */
    int64_t bytes;      /* of the member; -1 unknown */
    int storage;        /* equal: the same member */
    bool is_param, is_constant, use_pickle;
    aot_slice meta; /* TensorMeta; s NULL if it has none */
} aot_pt2_payload;

typedef struct aot_pt2_payloads {
    AOT_VEC(aot_pt2_payload) v;
    aot_strtab *strs;            /* names and members; NULL while empty */
    AOT_VEC(uint32_t) of_fqn;    /* by aot_str: 1 + index into v */
    AOT_VEC(uint32_t) of_member; /* by aot_str: 1 + index of the first that has it */
} aot_pt2_payloads;

/* NULL if the archive does not tell. */
const aot_pt2_payload *aot_pt2_payload_of(const aot_pt2_payloads *all, const char *fqn);

/* What a symbol was when traced. */
typedef struct aot_pt2_symbol {
    const char *name;
    int64_t hint;
    bool has_hint;
} aot_pt2_symbol;

/* A hint of a whole expression ("4*_h" was 16): may tell the hint of its symbol. */
typedef struct aot_pt2_equation {
    const char *expr;
    int64_t value;
} aot_pt2_equation;

/* Value by name within the graph that is being built. */
typedef struct aot_pt2_binding {
    uint32_t scope, node; /* node: AOT_NO_NODE until it is made */
    aot_meta_id meta;
} aot_pt2_binding;

/* Value of the program's own graph by name. */
typedef struct aot_pt2_top {
    uint32_t node;  /* AOT_NO_NODE if there is none */
    aot_slice type; /* TensorMeta; s NULL */
} aot_pt2_top;

typedef struct aot_pt2_job {
    aot_slice json; /* Graph */
    aot_graph *g;
    unsigned depth;
    bool list_output; /* the subgraph returns a list where others return a tuple */
} aot_pt2_job;

/* One exported program being read. */
typedef struct aot_pt2_program {
    aot_import_run *run;
    const char *model;  /* "model", or the name it was packaged under */
    const char *member; /* models/model.json */
    aot_slice json;     /* the whole program */
    unsigned major, minor;
    const aot_pt2_payloads *payloads;
    aot_arena *arena; /* decoded texts; freed with the program */
    aot_ctx *ctx;
    aot_slot *slot; /* of the unit; NULL until it is open */
    aot_slice input_specs;
    char at[160]; /* where in the JSON: for errors */
    aot_err *err;
    aot_status status; /* sticky: the first error */
    /* graph building */
    AOT_VEC(aot_pt2_binding) bindings; /* by aot_str */
    AOT_VEC(aot_pt2_top) tops;         /* by aot_str */
    AOT_VEC(aot_pt2_job) jobs;         /* graphs to be built, in order */
    AOT_VEC(aot_meta_id) plain_of;     /* by meta: the annotation without strides and device */
    AOT_VEC(aot_arg) stack;
    AOT_VEC(aot_pt2_symbol) symbols; /* in order of appearance */
    AOT_VEC(aot_pt2_equation) equations;
    AOT_VEC(uint32_t) symbol_of;    /* by aot_str: 1 + index into symbols */
    aot_graph *g;                   /* being built */
    aot_namespace *names, *printed; /* FX's namespaces of g: of the graph, of its printer */
    unsigned depth, nest;           /* of modules; of arguments */
    uint32_t scope, src;
    const char *comment; /* text of the node's comment */
} aot_pt2_program;

/* Sets status and the error "MEMBER: FIELD: message" unless one is set; returns false. field may
 * be "": then the error is about the place itself. */
bool aot_pt2_fail(aot_pt2_program *p, const char *field, const char *fmt, ...) AOT_PRINTF(3, 4);
void aot_pt2_note(aot_pt2_program *p, const char *kind, const char *fmt, ...) AOT_PRINTF(3, 4);
/* A field that must be there and of that kind ('{', '[', '"', '0' number, 'b' boolean). */
bool aot_pt2_field(aot_pt2_program *p, aot_slice object, const char *key, char kind,
                   aot_slice *out);
/* The only key and value of a union such as {"as_int": 3}; false and an error if it is none. */
bool aot_pt2_union(aot_pt2_program *p, aot_slice v, const char *field, aot_slice *key,
                   aot_slice *value);
/* Decoded string in p->arena; "" and an error if it is no string. */
const char *aot_pt2_string(aot_pt2_program *p, aot_slice v, const char *field);
bool aot_pt2_is_identifier(const char *s);

/* ---- pt2_program.c ---- */
/* Makes a unit of the program and adds it to p->run. p: model, member, json, payloads, run, err. */
AOT_NODISCARD aot_status aot_pt2_program_read(aot_pt2_program *p);

/* ---- pt2_graph.c ---- */
/* Builds the graph with its subgraphs; NULL and p->status on an error. Owned by p->ctx. */
aot_graph *aot_pt2_graph(aot_pt2_program *p, aot_slice graph);
/* Never NULL; valid until the next call. */
aot_pt2_top *aot_pt2_top_of(aot_pt2_program *p, const char *name);
/* Annotations without strides and device, as print(ep) shows them. */
void aot_pt2_graph_plain(aot_pt2_program *p);

/* ---- pt2_args.c ---- */
/* One Argument as an argument of a node of p->g; may append get_attr nodes and jobs. */
bool aot_pt2_arg(aot_pt2_program *p, aot_slice v, const char *field, aot_arg *out);
/* The value of that name in p->g. */
bool aot_pt2_value(aot_pt2_program *p, const char *name, const char *field, aot_arg *out);
/* Appends a node of that name with the type that the graph tells; names of get_attr nodes are made
 * unique by FX's rule. AOT_NO_NODE on an error. */
aot_node_id aot_pt2_add(aot_pt2_program *p, aot_node *n, const char *name);
aot_pt2_binding *aot_pt2_bind(aot_pt2_program *p, aot_str name);

/* ---- pt2_value.c ---- */
/* Annotation of a TensorMeta: "f32[4, s77][s77, 1]cpu". 0 if it prints none, or on an error. */
aot_meta_id aot_pt2_tensor(aot_pt2_program *p, aot_slice meta, const char *field);
/* Annotation of a SymInt, SymFloat or SymBool: "Sym(s77)"; 0 for plain numbers. */
aot_meta_id aot_pt2_sym(aot_pt2_program *p, aot_slice sym, const char *field);
/* Appends a SymInt as text: a number or an expression. */
bool aot_pt2_dim(aot_pt2_program *p, aot_sb *out, aot_slice dim, const char *field);
/* torch.float32 of a ScalarType's number; NULL if it is none. */
const char *aot_pt2_dtype_name(int64_t scalar_type);
const char *aot_pt2_layout_name(int64_t layout);
const char *aot_pt2_memory_format_name(int64_t format);
/* "cuda:0" of a Device. */
const char *aot_pt2_device(aot_pt2_program *p, aot_slice device);
/* Finds hints of symbols that are known only through expressions. */
void aot_pt2_solve(aot_pt2_program *p);

/* ---- pt2_sympy.c ---- */
/* sympy's srepr text ("Mul(Integer(2), Symbol('s0', integer=True))") as str() prints it ("2*s0").
 * False if it is not understood; *symbol: the expression is a symbol and nothing else. */
bool aot_pt2_sympy(aot_sb *out, const char *srepr, size_t n, bool *symbol);

/* ---- pt2_python.c ---- */
/* Python's repr of a text: the quote it chooses, and the escapes. */
char aot_py_repr(aot_sb *out, const char *s, size_t n);
/* repr of what json.loads makes of a value, as in a printed annotation. */
void aot_py_repr_json(aot_sb *out, aot_arena *scratch, aot_slice v, unsigned depth);
/* repr of complex(re, im). */
void aot_py_repr_complex(aot_sb *out, double re, double im);
/* The comment of a node with this Node.metadata: "File: model.py:3 in forward, code: x + 1". */
const char *aot_pt2_comment(aot_pt2_program *p, aot_slice metadata);

/* ---- pt2_signature.c ---- */
/* "Graph signature: ... Range constraints: ..." as print(ep) shows them. */
void aot_pt2_signature_text(aot_pt2_program *p, aot_sb *out, aot_slice signature, aot_slice ranges);
/* The record graph_signature; new reference. */
json_t *aot_pt2_signature_json(aot_pt2_program *p, aot_slice signature, aot_slice ranges,
                               const aot_graph *g);
/* Inputs, static inputs and symbols of the unit. */
void aot_pt2_describe(aot_pt2_program *p, aot_unit *u, aot_slice signature, aot_slice ranges,
                      const aot_graph *g);

#endif
