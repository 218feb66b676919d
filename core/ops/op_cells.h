/* One reading of the operator table. Define OP (and FAMILY) and the cells that are wanted, then
 * include this file: the other cells expand to nothing, and everything is undefined afterwards.
 *
 *     #define OP(id, text, cells) AOT_OP_##id,
 *     #include "ops/op_cells.h"
 *
 * Not guarded: each inclusion is one reading. */
#ifndef OP
#define OP(id, text, cells)
#endif
#ifndef FAMILY
#define FAMILY(id, title)
#endif
#ifndef DOC
#define DOC(sentence)
#endif
#ifndef TAGS
#define TAGS(bits)
#endif
#ifndef PART
#define PART(bits)
#endif
#ifndef FLAGS
#define FLAGS(bits)
#endif
#ifndef FREQ
#define FREQ(models)
#endif
#ifndef META
#define META(fn)
#endif
#ifndef VJP
#define VJP(fn)
#endif
#ifndef SAVES
#define SAVES(bits)
#endif
#ifndef GRADS
#define GRADS(bits)
#endif
#ifndef DECOMP
#define DECOMP(fn)
#endif
#ifndef KERN
#define KERN(fn)
#endif
#ifndef OUTS
#define OUTS(fn)
#endif
#ifndef NO_META
#define NO_META(reason)
#endif
#ifndef NO_VJP
#define NO_VJP(reason)
#endif
#ifndef NO_DECOMP
#define NO_DECOMP(reason)
#endif
#ifndef NO_KERN
#define NO_KERN(reason)
#endif
#ifndef FUNCTIONAL_ROW
#define FUNCTIONAL_ROW(id)
#endif
#define NO_RULES(reason) NO_META(reason) NO_VJP(reason) NO_DECOMP(reason) NO_KERN(reason)
#define FUNCTIONAL(id) FUNCTIONAL_ROW(id) NO_RULES(functionalized)
#define FUNCTIONAL_BUT(id, vjp)                                                                   \
    FUNCTIONAL_ROW(id) NO_META(functionalized) vjp NO_DECOMP(functionalized) NO_KERN(functionalized)

#include "ops/ops.def"

#undef OP
#undef FAMILY
#undef DOC
#undef TAGS
#undef PART
#undef FLAGS
#undef FREQ
#undef META
#undef VJP
#undef SAVES
#undef GRADS
#undef DECOMP
#undef KERN
#undef OUTS
#undef NO_META
#undef NO_VJP
#undef NO_DECOMP
#undef NO_KERN
#undef FUNCTIONAL_ROW
#undef NO_RULES
#undef FUNCTIONAL
#undef FUNCTIONAL_BUT
