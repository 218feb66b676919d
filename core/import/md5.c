/* MD5 (RFC 1321) of a block of memory, written for whole payloads: no incremental state.
 *
 * Each 64-byte block goes through four rounds of sixteen steps on four words; a step adds a mixing
 * function of three words, one message word and a sine constant, and rotates. The constants are
 * floor(2^32 * |sin(i + 1)|). */
#include "import/md5.h"

#include <string.h>

#define F(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define G(x, y, z) ((y) ^ ((z) & ((x) ^ (y))))
#define H(x, y, z) ((x) ^ (y) ^ (z))
#define I(x, y, z) ((y) ^ ((x) | ~(z)))
#define STEP(f, a, b, c, d, word, sine, by)        \
    do {                                           \
        (a) += f((b), (c), (d)) + (word) + (sine); \
        (a) = ((a) << (by)) | ((a) >> (32 - (by))); \
        (a) += (b);                                \
    } while (0)
/* Four steps with the words rotated, message words j, j+s, j+2s, j+3s (mod 16). */
#define FOUR(f, j, s, r0, r1, r2, r3, k0, k1, k2, k3)  \
    do {                                               \
        STEP(f, a, b, c, d, m[(j) & 15], k0, r0);      \
        STEP(f, d, a, b, c, m[((j) + (s)) & 15], k1, r1);     \
        STEP(f, c, d, a, b, m[((j) + 2 * (s)) & 15], k2, r2); \
        STEP(f, b, c, d, a, m[((j) + 3 * (s)) & 15], k3, r3); \
    } while (0)

static uint32_t word_le(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void block(uint32_t st[4], const unsigned char *p)
{
    uint32_t m[16], a = st[0], b = st[1], c = st[2], d = st[3];
    for (int i = 0; i < 16; i++) {
        m[i] = word_le(p + 4 * i);
    }
    FOUR(F, 0, 1, 7, 12, 17, 22, 0xd76aa478u, 0xe8c7b756u, 0x242070dbu, 0xc1bdceeeu);
    FOUR(F, 4, 1, 7, 12, 17, 22, 0xf57c0fafu, 0x4787c62au, 0xa8304613u, 0xfd469501u);
    FOUR(F, 8, 1, 7, 12, 17, 22, 0x698098d8u, 0x8b44f7afu, 0xffff5bb1u, 0x895cd7beu);
    FOUR(F, 12, 1, 7, 12, 17, 22, 0x6b901122u, 0xfd987193u, 0xa679438eu, 0x49b40821u);
    FOUR(G, 1, 5, 5, 9, 14, 20, 0xf61e2562u, 0xc040b340u, 0x265e5a51u, 0xe9b6c7aau);
    FOUR(G, 5, 5, 5, 9, 14, 20, 0xd62f105du, 0x02441453u, 0xd8a1e681u, 0xe7d3fbc8u);
    FOUR(G, 9, 5, 5, 9, 14, 20, 0x21e1cde6u, 0xc33707d6u, 0xf4d50d87u, 0x455a14edu);
    FOUR(G, 13, 5, 5, 9, 14, 20, 0xa9e3e905u, 0xfcefa3f8u, 0x676f02d9u, 0x8d2a4c8au);
    FOUR(H, 5, 3, 4, 11, 16, 23, 0xfffa3942u, 0x8771f681u, 0x6d9d6122u, 0xfde5380cu);
    FOUR(H, 1, 3, 4, 11, 16, 23, 0xa4beea44u, 0x4bdecfa9u, 0xf6bb4b60u, 0xbebfbc70u);
    FOUR(H, 13, 3, 4, 11, 16, 23, 0x289b7ec6u, 0xeaa127fau, 0xd4ef3085u, 0x04881d05u);
    FOUR(H, 9, 3, 4, 11, 16, 23, 0xd9d4d039u, 0xe6db99e5u, 0x1fa27cf8u, 0xc4ac5665u);
    FOUR(I, 0, 7, 6, 10, 15, 21, 0xf4292244u, 0x432aff97u, 0xab9423a7u, 0xfc93a039u);
    FOUR(I, 12, 7, 6, 10, 15, 21, 0x655b59c3u, 0x8f0ccc92u, 0xffeff47du, 0x85845dd1u);
    FOUR(I, 8, 7, 6, 10, 15, 21, 0x6fa87e4fu, 0xfe2ce6e0u, 0xa3014314u, 0x4e0811a1u);
    FOUR(I, 4, 7, 6, 10, 15, 21, 0xf7537e82u, 0xbd3af235u, 0x2ad7d2bbu, 0xeb86d391u);
    st[0] += a;
    st[1] += b;
    st[2] += c;
    st[3] += d;
}

void aot_md5_hex(const void *data, size_t n, char out[33])
{
    uint32_t st[4] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u};
    const unsigned char *p = data;
    size_t left = n;
    for (; left >= 64; left -= 64, p += 64) {
        block(st, p);
    }
    unsigned char tail[128] = {0};
    if (left > 0) {
        memcpy(tail, p, left);
    }
    tail[left] = 0x80;
    size_t size = left < 56 ? 64 : 128;
    uint64_t bits = (uint64_t)n * 8;
    for (int i = 0; i < 8; i++) {
        tail[size - 8 + (size_t)i] = (unsigned char)(bits >> (8 * i));
    }
    for (size_t i = 0; i < size; i += 64) {
        block(st, tail + i);
    }
    for (int i = 0; i < 16; i++) {
        unsigned byte = st[i / 4] >> (8 * (i % 4)) & 255;
        out[2 * i] = "0123456789abcdef"[byte >> 4];
        out[2 * i + 1] = "0123456789abcdef"[byte & 15];
    }
    out[32] = '\0';
}
