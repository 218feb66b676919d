/* Symbolic links, locks and left-over files of a session that is written.
 *
 * The lock is flock on an empty file FILE-lock: the kernel lets go of it when the writer dies, and
 * a file that merely exists would stay. SQLite's own locks cannot serve: they are not held between
 * two transactions, and closing any descriptor of the database drops them. */
#include "session/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/path.h"

static const char *const rests[] = {"-wal", "-shm", "-journal"};

static char *join(const char *a, const char *b)
{
    size_t n = strlen(a) + strlen(b) + 1;
    char *s = aot_xmalloc(n);
    snprintf(s, n, "%s%s", a, b);
    return s;
}

const char *aot_place_refuses(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode)) {
        return NULL;
    }
    return S_ISDIR(st.st_mode) ? "is a folder; a session is an ordinary file"
                               : "is a pipe or a device; a session is an ordinary file";
}

aot_place_writer aot_place_writer_of(const char *file)
{
    char *lock = join(file, "-lock");
    int fd = open(lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    free(lock);
    if (fd < 0) {
        return AOT_PLACE_WRITER_UNKNOWN;
    }
    bool ours = flock(fd, LOCK_SH | LOCK_NB) == 0;
    aot_place_writer w = ours                   ? AOT_PLACE_WRITER_STOPPED
                         : errno == EWOULDBLOCK ? AOT_PLACE_WRITER_RUNS
                                                : AOT_PLACE_WRITER_UNKNOWN;
    close(fd);
    return w;
}

bool aot_place_has_rest(const char *file)
{
    bool found = false;
    for (int i = 0; i < 3 && !found; i++) {
        char *rest = join(file, rests[i]);
        found = access(rest, F_OK) == 0;
        free(rest);
    }
    return found;
}

void aot_place_remove_rest(const char *file)
{
    for (int i = 0; i < 3; i++) {
        char *rest = join(file, rests[i]);
        unlink(rest);
        free(rest);
    }
}

void aot_place_remove(const char *file)
{
    unlink(file);
    aot_place_remove_rest(file);
}

/* ---- a signal ---- */

/* What is removed where a signal ends the writer, ready for a handler: no memory is asked for
 * there. */
static struct {
    char *paths[5];
    int lock_fd;
    volatile sig_atomic_t n;
} at_end = {.lock_fd = -1};

void aot_place_remove_at_end(const aot_place *p, const char *temp)
{
    int n = at_end.n;
    at_end.n = 0;
    for (int i = 0; i < n; i++) {
        free(at_end.paths[i]);
    }
    if (temp == NULL) {
        return;
    }
    at_end.paths[0] = aot_xstrdup(temp);
    for (int i = 0; i < 3; i++) {
        at_end.paths[i + 1] = join(temp, rests[i]);
    }
    at_end.paths[4] = aot_xstrdup(p->lock);
    at_end.lock_fd = p->lock_fd;
    at_end.n = 5;
}

void aot_place_on_signal(int sig)
{
    struct stat st;
    bool ours = at_end.n == 5 && fstat(at_end.lock_fd, &st) == 0 && st.st_size == 0;
    for (int i = 0; i < at_end.n; i++) {
        if (i < 4 || ours) {
            unlink(at_end.paths[i]);
        }
    }
    signal(sig, SIG_DFL);
    raise(sig);
}

/* Removes FILE.new-PID and its rest where no process PID runs. */
static void remove_stale(const char *file)
{
    const char *base = aot_file_name(file);
    char *folder = aot_xstrdup(file);
    folder[base - file] = 0;
    char *prefix = join(base, ".new-");
    size_t n = strlen(prefix);
    DIR *d = opendir(folder[0] != 0 ? folder : ".");
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        char *end = NULL;
        if (strncmp(e->d_name, prefix, n) != 0 || strspn(e->d_name + n, "0123456789") == 0) {
            continue;
        }
        long pid = strtol(e->d_name + n, &end, 10);
        bool ours = *end == 0;
        for (int i = 0; i < 3; i++) {
            ours = ours || strcmp(end, rests[i]) == 0;
        }
        if (ours && pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH) {
            char *stale = join(folder, e->d_name);
            unlink(stale);
            free(stale);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    free(prefix);
    free(folder);
}

static aot_status follow(aot_place *p, const char *path, aot_err *err)
{
    struct stat st;
    const char *why = aot_place_refuses(path);
    if (why != NULL) {
        return AOT_FAIL(err, AOT_E_IO, "%s", why);
    }
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        p->file = realpath(path, NULL);
        if (p->file == NULL) {
            return AOT_FAIL(err, AOT_E_IO, "is a symbolic link that leads nowhere: %s",
                            strerror(errno));
        }
    } else {
        p->file = aot_xstrdup(path);
    }
    return AOT_OK;
}

/* A lock file that its owner removed while we waited for it locks nothing: then once more. */
static aot_status take_lock(aot_place *p, aot_err *err)
{
    p->lock = join(p->file, "-lock");
    for (;;) {
        struct stat ours, there;
        p->lock_fd = open(p->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (p->lock_fd < 0) {
            return AOT_FAIL(err, AOT_E_IO, "the session cannot be locked by %.200s: %s", p->lock,
                            strerror(errno));
        }
        if (flock(p->lock_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            close(p->lock_fd);
            p->lock_fd = -1;
            return AOT_FAIL(err, AOT_E_SESSION,
                            "another import is writing this file; wait for it, or give another "
                            "file to -o");
        }
        /* a file system without locks: the exclusive creation of the file has to do */
        if (fstat(p->lock_fd, &ours) == 0 && stat(p->lock, &there) == 0 &&
            ours.st_ino == there.st_ino && ours.st_dev == there.st_dev) {
            return AOT_OK;
        }
        close(p->lock_fd);
    }
}

aot_status aot_place_take(aot_place *p, const char *path, aot_err *err)
{
    *p = (aot_place){.lock_fd = -1};
    aot_status st = follow(p, path, err);
    if (st == AOT_OK) {
        st = take_lock(p, err);
    }
    if (st != AOT_OK) {
        aot_err_in_file(err, path);
        aot_place_release(p);
        return st;
    }
    remove_stale(p->file);
    return AOT_OK;
}

void aot_place_release(aot_place *p)
{
    if (p->lock != NULL && p->lock_fd >= 0) {
        struct stat st;
        if (fstat(p->lock_fd, &st) == 0 && st.st_size == 0) { /* else it is somebody's file */
            unlink(p->lock);
        }
        close(p->lock_fd);
    }
    free(p->lock);
    free(p->file);
    *p = (aot_place){.lock_fd = -1};
}
