/* Names of files. */
#ifndef AOT_BASE_PATH_H
#define AOT_BASE_PATH_H

#include <string.h>

/* "c.py" of "/a/b/c.py" and of "c.py"; a part of path. */
static inline const char *aot_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

#endif
