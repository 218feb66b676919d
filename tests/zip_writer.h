/* Zip archives made in memory, members stored as they are: for tests that need an archive of
 * which one thing is wrong. */
#ifndef AOT_TESTS_ZIP_WRITER_H
#define AOT_TESTS_ZIP_WRITER_H

#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "base/str.h"

typedef struct zip_member {
    const char *name, *data;
    size_t n;
} zip_member;

static inline void zip_number(aot_sb *out, uint32_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        aot_sb_addc(out, (char)(v >> 8 * i & 0xff));
    }
}

/* What local header and directory entry share, from the version to the name's length. */
static inline void zip_facts(aot_sb *out, const zip_member *m)
{
    zip_number(out, 20, 2);
    zip_number(out, 0, 4);          /* flags, stored */
    zip_number(out, 0x00210000, 4); /* 1980-01-01 */
    zip_number(out, (uint32_t)crc32(0, (const unsigned char *)m->data, (unsigned)m->n), 4);
    zip_number(out, (uint32_t)m->n, 4);
    zip_number(out, (uint32_t)m->n, 4);
    zip_number(out, (uint32_t)strlen(m->name), 2);
    zip_number(out, 0, 2); /* no extra field */
}

static inline void zip_write(aot_sb *out, const zip_member *members, size_t n)
{
    aot_sb directory = {0};
    for (size_t i = 0; i < n; i++) {
        uint32_t at = (uint32_t)out->n;
        zip_number(out, 0x04034b50, 4);
        zip_facts(out, &members[i]);
        aot_sb_addz(out, members[i].name);
        aot_sb_add(out, members[i].data, members[i].n);
        zip_number(&directory, 0x02014b50, 4);
        zip_number(&directory, 20, 2);
        zip_facts(&directory, &members[i]);
        zip_number(&directory, 0, 2); /* no comment */
        zip_number(&directory, 0, 4); /* disk, attributes */
        zip_number(&directory, 0, 4);
        zip_number(&directory, at, 4);
        aot_sb_addz(&directory, members[i].name);
    }
    uint32_t at = (uint32_t)out->n;
    aot_sb_add(out, directory.d, directory.n);
    zip_number(out, 0x06054b50, 4);
    zip_number(out, 0, 4);
    zip_number(out, (uint32_t)n, 2);
    zip_number(out, (uint32_t)n, 2);
    zip_number(out, (uint32_t)directory.n, 4);
    zip_number(out, at, 4);
    zip_number(out, 0, 2);
    aot_sb_free(&directory);
}

#endif
