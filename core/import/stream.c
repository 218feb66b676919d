/* Line reader over read(2) and zlib.
 *
 * One buffer holds the bytes that were read and not yet handed out. A line is a slice of it, found
 * by memchr; the buffer grows only for a line that is longer than it, up to AOT_LINE_MAX. Memory
 * input that is not compressed is the buffer itself. gzip is recognised by its first two bytes;
 * several gzip members in a row are read as one text, and a damaged member ends the text there. */
#include "import/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/arena.h"

enum { RAW_SIZE = 256 << 10, BUF_SIZE = 1 << 20 };

struct aot_stream {
    int fd;                        /* -1 for memory */
    const unsigned char *mem;      /* memory input that is still to be taken */
    size_t mem_left;
    uint64_t done, total, handed;
    char *buf;                     /* owned, or the caller's bytes if borrowed */
    bool borrowed;
    size_t pos, len, cap;          /* unread: buf[pos .. len) */
    uint64_t line_number;
    bool eof;                      /* no more bytes will come into buf */
    bool raw_eof;
    bool gz, inflating;            /* inflating: inside a member */
    z_stream z;
    unsigned char *raw;            /* compressed bytes */
    size_t raw_pos, raw_len;
    char trouble[200];
    char head[4096]; /* start of a line that is too long */
};

/* Takes up to n bytes from the file or memory; 0 at its end. */
static size_t take(aot_stream *s, void *to, size_t n)
{
    size_t got = 0;
    if (s->fd < 0) {
        got = n < s->mem_left ? n : s->mem_left;
        if (got > 0) {
            memcpy(to, s->mem, got);
        }
        s->mem += got;
        s->mem_left -= got;
    } else {
        ssize_t r;
        do {
            r = read(s->fd, to, n);
        } while (r < 0 && errno == EINTR);
        if (r < 0) {
            snprintf(s->trouble, sizeof s->trouble, "reading stopped: %s", strerror(errno));
            r = 0;
        }
        got = (size_t)r;
    }
    s->done += got;
    return got;
}

static bool refill_raw(aot_stream *s)
{
    if (s->raw_pos == s->raw_len && !s->raw_eof) {
        s->raw_pos = 0;
        s->raw_len = take(s, s->raw, RAW_SIZE);
        s->raw_eof = s->raw_len == 0;
    }
    return s->raw_pos < s->raw_len;
}

static void gz_end(aot_stream *s, const char *why)
{
    s->eof = true;
    if (why != NULL && s->trouble[0] == '\0') {
        snprintf(s->trouble, sizeof s->trouble, "%s; what came before it was read", why);
    }
}

/* Decompresses into to[0 .. n); returns the bytes written and sets eof when there are no more. */
static size_t inflate_some(aot_stream *s, char *to, size_t n)
{
    size_t room = n < UINT_MAX ? n : UINT_MAX;
    s->z.next_out = (unsigned char *)to;
    s->z.avail_out = (unsigned)room;
    while (s->z.avail_out == room && !s->eof) {
        if (!refill_raw(s)) {
            gz_end(s, s->inflating ? "the .gz ends too early" : NULL);
            break;
        }
        if (!s->inflating) {
            if (s->raw[s->raw_pos] != 0x1f) { // padding or junk after the last member
                gz_end(s, s->raw[s->raw_pos] == 0 ? NULL : "junk follows the end of the .gz");
                break;
            }
            s->inflating = true;
        }
        s->z.next_in = s->raw + s->raw_pos;
        s->z.avail_in = (unsigned)(s->raw_len - s->raw_pos);
        int r = inflate(&s->z, Z_NO_FLUSH);
        s->raw_pos = s->raw_len - s->z.avail_in;
        if (r == Z_STREAM_END) {
            s->inflating = false;
            inflateReset(&s->z);
        } else if (r != Z_OK && r != Z_BUF_ERROR) {
            gz_end(s, "the .gz is damaged");
        }
    }
    return room - s->z.avail_out;
}

/* Brings more bytes into buf; false if there are none. */
static bool fill(aot_stream *s)
{
    if (s->eof) {
        return false;
    }
    if (s->pos > 0) {
        memmove(s->buf, s->buf + s->pos, s->len - s->pos);
        s->len -= s->pos;
        s->pos = 0;
    }
    if (s->len == s->cap) {
        s->cap *= 2;
        s->buf = aot_xrealloc(s->buf, s->cap);
    }
    size_t got;
    if (s->gz) {
        got = inflate_some(s, s->buf + s->len, s->cap - s->len);
    } else {
        got = take(s, s->buf + s->len, s->cap - s->len);
        s->eof = got == 0;
    }
    s->len += got;
    return got > 0;
}

/* Looks at the first bytes: gzip or plain. */
static void start(aot_stream *s)
{
    s->raw = aot_xmalloc(RAW_SIZE);
    while (s->raw_len < 2 && !s->raw_eof) {
        size_t got = take(s, s->raw + s->raw_len, RAW_SIZE - s->raw_len);
        s->raw_len += got;
        s->raw_eof = got == 0;
    }
    s->gz = s->raw_len >= 2 && s->raw[0] == 0x1f && s->raw[1] == 0x8b;
    s->cap = BUF_SIZE;
    s->buf = aot_xmalloc(s->cap);
    if (!s->gz) {
        memcpy(s->buf, s->raw, s->raw_len);
        s->len = s->raw_len;
        s->eof = s->raw_eof;
        free(s->raw);
        s->raw = NULL;
    } else if (inflateInit2(&s->z, 15 + 16) != Z_OK) {
        gz_end(s, "zlib cannot be started");
    }
}

aot_status aot_stream_open(aot_stream **out, const char *path, aot_err *err)
{
    int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return AOT_FAIL(err, AOT_E_IO, "cannot be opened: %s", strerror(errno));
    }
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        close(fd);
        return AOT_FAIL(err, AOT_E_IO, "is a folder");
    }
    aot_stream *s = aot_xcalloc(1, sizeof *s);
    s->fd = fd;
    s->total = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    start(s);
    *out = s;
    return AOT_OK;
}

aot_stream *aot_stream_of_bytes(const char *data, size_t n)
{
    aot_stream *s = aot_xcalloc(1, sizeof *s);
    s->fd = -1;
    s->total = n;
    if (n >= 2 && (unsigned char)data[0] == 0x1f && (unsigned char)data[1] == 0x8b) {
        s->mem = (const unsigned char *)data;
        s->mem_left = n;
        start(s);
    } else {
        s->borrowed = true;
        s->buf = (char *)(uintptr_t)data;
        s->len = s->cap = n;
        s->eof = true;
        s->done = n;
    }
    return s;
}

void aot_stream_free(aot_stream *s)
{
    if (s == NULL) {
        return;
    }
    if (s->gz) {
        inflateEnd(&s->z);
    }
    if (s->fd >= 0) {
        close(s->fd);
    }
    if (!s->borrowed) {
        free(s->buf);
    }
    free(s->raw);
    free(s);
}

size_t aot_stream_peek(aot_stream *s, const char **data, size_t want)
{
    while (s->len - s->pos < want && fill(s)) {
    }
    *data = s->buf + s->pos;
    return s->len - s->pos < want ? s->len - s->pos : want;
}

/* Passes over the rest of a line that is too long. */
static bool skip_to_line_end(aot_stream *s)
{
    for (;;) {
        char *end = memchr(s->buf + s->pos, '\n', s->len - s->pos);
        if (end != NULL) {
            s->handed += (size_t)(end + 1 - (s->buf + s->pos));
            s->pos = (size_t)(end + 1 - s->buf);
            return true;
        }
        s->handed += s->len - s->pos;
        s->pos = s->len;
        if (!fill(s)) {
            return false;
        }
    }
}

bool aot_stream_line(aot_stream *s, aot_line *line)
{
    size_t looked = 0; // of the unread bytes, known to hold no line end
    char *end = NULL;
    *line = (aot_line){0};
    for (;;) {
        if (s->len > s->pos + looked) {
            end = memchr(s->buf + s->pos + looked, '\n', s->len - s->pos - looked);
        }
        looked = s->len - s->pos;
        if (end != NULL || looked > AOT_LINE_MAX || !fill(s)) {
            break;
        }
    }
    if (end == NULL && looked == 0) {
        return false;
    }
    line->number = ++s->line_number;
    if (end == NULL && looked > AOT_LINE_MAX) {
        line->n = sizeof s->head; // such a line is noted as damage; its start tells what it was
        memcpy(s->head, s->buf + s->pos, line->n);
        line->s = s->head;
        line->cut = true;
        line->ended = skip_to_line_end(s);
        return true;
    }
    line->s = s->buf + s->pos;
    line->ended = end != NULL;
    line->n = end != NULL ? (size_t)(end - line->s) : looked;
    s->pos += line->n + (end != NULL);
    s->handed += line->n + (end != NULL);
    if (line->n > 0 && line->s[line->n - 1] == '\r') {
        line->n--;
        line->cr = true;
    }
    return true;
}

/* Everything that is left, unpacked, into a temporary file. */
static aot_status spool(aot_stream *s, FILE **file, aot_err *err)
{
    FILE *f = tmpfile();
    if (f == NULL) {
        return AOT_FAIL(err, AOT_E_IO, "no temporary file can be made: %s", strerror(errno));
    }
    uint64_t total = 0;
    do {
        size_t n = s->len - s->pos;
        total += n;
        if (total > AOT_SPOOL_MAX || (n > 0 && fwrite(s->buf + s->pos, 1, n, f) != n)) {
            int why = errno;
            fclose(f);
            return total > AOT_SPOOL_MAX
                       ? AOT_FAIL(err, AOT_E_IO, "longer than 16 GiB: unpack it into a file")
                       : AOT_FAIL(err, AOT_E_IO, "the temporary file cannot be written: %s",
                                  strerror(why));
        }
        s->pos = s->len;
    } while (fill(s));
    if (fflush(f) != 0 || fseek(f, 0, SEEK_SET) != 0) {
        int why = errno;
        fclose(f);
        return AOT_FAIL(err, AOT_E_IO, "the temporary file cannot be written: %s", strerror(why));
    }
    *file = f;
    return AOT_OK;
}

aot_status aot_stream_seekable(aot_stream *s, FILE **file, const char **mem, size_t *n,
                               aot_err *err)
{
    *file = NULL;
    *mem = NULL;
    *n = 0;
    if (s->borrowed) {
        *mem = s->buf + s->pos;
        *n = s->len - s->pos;
        return AOT_OK;
    }
    if (s->gz || s->fd < 0 || s->total == 0 || lseek(s->fd, 0, SEEK_SET) != 0) {
        return spool(s, file, err);
    }
    int fd = dup(s->fd);
    *file = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (*file == NULL) {
        aot_status st = AOT_FAIL(err, AOT_E_IO, "cannot be read: %s", strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return st;
    }
    s->done = s->total;
    return AOT_OK;
}

const char *aot_stream_trouble(const aot_stream *s)
{
    return s->trouble[0] != '\0' ? s->trouble : NULL;
}

uint64_t aot_stream_done(const aot_stream *s)
{
    return s->done;
}

uint64_t aot_stream_total(const aot_stream *s)
{
    return s->total;
}

uint64_t aot_stream_bytes(const aot_stream *s)
{
    return s->handed;
}
