/* Result files are written beside their place and renamed into it, so a full disk or a killed
 * program never costs the previous result. */
#include "base/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

static aot_status write_stream(FILE *f, const char *name, const char *data, size_t n, aot_err *err)
{
    if (fwrite(data, 1, n, f) != n || fflush(f) != 0) {
        return AOT_FAIL(err, AOT_E_IO, "cannot write %s: %s", name, strerror(errno));
    }
    return AOT_OK;
}

static aot_status write_plain(const char *path, const char *data, size_t n, aot_err *err)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL) {
        return AOT_FAIL(err, AOT_E_IO, "cannot write %s: %s", path, strerror(errno));
    }
    aot_status s = write_stream(f, path, data, n, err);
    if (fclose(f) != 0 && s == AOT_OK) {
        s = AOT_FAIL(err, AOT_E_IO, "cannot write %s: %s", path, strerror(errno));
    }
    return s;
}

aot_status aot_file_write(const char *path, const char *data, size_t n, aot_err *err)
{
    char real[PATH_MAX];
    struct stat st;
    if (path == NULL || strcmp(path, "-") == 0) {
        return write_stream(stdout, "standard output", data, n, err);
    }
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        if (S_ISDIR(st.st_mode)) {
            return AOT_FAIL(err, AOT_E_IO, "cannot write %s: it is a folder", path);
        }
        return write_plain(path, data, n, err);
    }
    aot_sb temp = {0};
    const char *target = realpath(path, real);
    if (target == NULL && lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        return AOT_FAIL(err, AOT_E_IO,
                        "cannot write %s: it is a symbolic link that leads nowhere: %s", path,
                        strerror(errno));
    }
    target = target != NULL ? target : path;
    aot_sb_addf(&temp, "%s.new-%ld", target, (long)getpid());
    aot_status s = write_plain(temp.d, data, n, err);
    if (s == AOT_OK && rename(temp.d, target) != 0) {
        s = AOT_FAIL(err, AOT_E_IO, "cannot write %s: %s", path, strerror(errno));
    }
    if (s != AOT_OK) {
        unlink(temp.d);
    }
    aot_sb_free(&temp);
    return s;
}

static aot_status read_blocks(aot_sb *out, FILE *f, const char *what, const char *path,
                              aot_err *err)
{
    static const char mark[] = "\xEF\xBB\xBF";
    char block[65536];
    size_t n, total = 0;
    while ((n = fread(block, 1, sizeof block, f)) > 0) {
        size_t skip = total == 0 && n >= 3 && memcmp(block, mark, 3) == 0 ? 3 : 0;
        if (memchr(block, '\0', n) != NULL) {
            return AOT_FAIL(err, AOT_E_USAGE, "%s is no %s: it holds a zero byte", path, what);
        }
        total += n;
        if (total > AOT_FILE_TEXT_BYTES) {
            return AOT_FAIL(err, AOT_E_USAGE, "%s is no %s: it has more than %d MiB", path, what,
                            AOT_FILE_TEXT_BYTES >> 20);
        }
        aot_sb_add(out, block + skip, n - skip);
    }
    return ferror(f)
               ? AOT_FAIL(err, AOT_E_IO, "cannot read the %s %s: %s", what, path, strerror(errno))
               : AOT_OK;
}

aot_status aot_file_read_text(aot_sb *out, const char *what, const char *path, aot_err *err)
{
    bool from_stdin = strcmp(path, "-") == 0;
    FILE *f = from_stdin ? stdin : fopen(path, "rb");
    struct stat st;
    if (f == NULL) {
        return AOT_FAIL(err, AOT_E_IO, "cannot read the %s %s: %s", what, path, strerror(errno));
    }
    aot_status s =
        fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)
            ? AOT_FAIL(err, AOT_E_IO, "cannot read the %s %s: it is a folder", what, path)
            : read_blocks(out, f, what, from_stdin ? "standard input" : path, err);
    if (!from_stdin) {
        fclose(f);
    }
    return s;
}

bool aot_file_same(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

aot_status aot_file_not_input(const char *output, const char *const *inputs, size_t n, aot_err *err)
{
    struct stat st;
    for (size_t i = 0; output != NULL && i < n; i++) {
        if (aot_file_same(output, inputs[i]) && stat(output, &st) == 0 && S_ISREG(st.st_mode)) {
            return AOT_FAIL(err, AOT_E_USAGE, "%s is the input: write to another file", output);
        }
    }
    return AOT_OK;
}
