/* MD5 (RFC 1321), for the has_payload sums of trace logs. Not for security. */
#ifndef AOT_IMPORT_MD5_H
#define AOT_IMPORT_MD5_H

#include <stddef.h>
#include <stdint.h>

/* 32 hexadecimal digits and a 0. */
void aot_md5_hex(const void *data, size_t n, char out[33]);

#endif
