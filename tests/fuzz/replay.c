/* Runs a fuzz target over files and folders without libFuzzer: every seed and every old crash, in
 * `make check`. Compiled once a target (fuzz_X.c + replay.c); arguments are files or folders.
 * Prints TAP: one test a file; a crash ends it. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz_import.h"

static unsigned n_tests;

static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t n = 0, got;
    if (f == NULL) {
        printf("not ok %u - %s cannot be opened\n", ++n_tests, path);
        return 1;
    }
    do { // exact size, so that a sanitizer sees reads past the end
        uint8_t buf[65536];
        got = fread(buf, 1, sizeof buf, f);
        data = realloc(data, n + got + (n + got == 0));
        if (data == NULL) {
            abort();
        }
        memcpy(data + n, buf, got);
        n += got;
    } while (got > 0);
    fclose(f);
    LLVMFuzzerTestOneInput(data, n);
    free(data);
    printf("ok %u - %s\n", ++n_tests, path);
    fflush(stdout);
    return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int replay_path(const char *path)
{
    struct stat st;
    struct dirent **names;
    int bad = 0, n;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        return replay_file(path);
    }
    n = scandir(path, &names, NULL, by_name);
    for (int i = 0; i < n; i++) {
        char full[4096];
        if (names[i]->d_name[0] != '.') {
            snprintf(full, sizeof full, "%s/%s", path, names[i]->d_name);
            bad |= replay_file(full);
        }
        free(names[i]);
    }
    free(n >= 0 ? names : NULL);
    return bad;
}

int main(int argc, char **argv)
{
    int bad = argc < 2;
    for (int i = 1; i < argc; i++) {
        bad |= replay_path(argv[i]);
    }
    if (n_tests == 0) {
        printf("not ok 1 - no seed was found\n");
        n_tests = 1;
        bad = 1;
    }
    printf("1..%u\n", n_tests);
    return bad;
}
