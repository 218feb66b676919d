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
    const char *target = realpath(path, real) != NULL ? real : path;
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
