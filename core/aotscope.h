/* aotscope as a library: what AOTAutograd does, for a program that compiles graphs.
 *
 *     aot_program *p;
 *     if (aot_program_of_text(&p, "model.txt", text, n, NULL, 0, &err) == AOT_OK) {
 *         aot_compiler c = {.compile = my_compiler};
 *         status = aot_program_compile(p, &c, &err);   // forward, then backward
 *         aot_program_free(p);
 *     }
 *
 * Compile and link with `pkg-config --cflags --libs libaotscope`. docs/examples/print_compiler.c is
 * a whole program. Reading a graph (nodes in program order, arguments, types, users): ir/graph.h;
 * as text: ir/text.h; values and the interpreter: exec/value.h, exec/interp.h; settings:
 * pipeline/config.h.
 *
 * The memory allocator is left as the program has it; one that makes and frees programs again and
 * again may call aot_keep_freed_memory() (base/memory.h) at its begin, as aotscope does.
 *
 * No global state: programs may be used in several threads, one thread a program. Errors are values
 * (base/err.h): the first one stays; aot_err_text words it. */
#ifndef AOTSCOPE_H
#define AOTSCOPE_H

#include "base/err.h"
#include "ir/graph.h"
#include "ir/text.h"
#include "session/program.h"

#endif
