/* library.h: dlopen of a file without a name where the system has such files, else of one in a private folder that is gone right after.
 * What was checked in memory is what is loaded: nobody can change it in between.
 *
 * The descriptor stays open as long as the library: the loader knows libraries by their path, /proc/self/fd/N, and must not meet the same
 * N for another one. */
#include "os/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "os/compiler.h"
#include "os/file.h"
#include "util/buffer.h"
#include "util/error.h"

struct os_library {
    void *handle;
    int fd; /* -1: none */
};

static void *load_nameless(const void *object, size_t bytes, int *fd) {
#if defined(__linux__) && defined(MFD_CLOEXEC)
    char path[32];
    void *handle = NULL;
    *fd = memfd_create("mldf-code", MFD_CLOEXEC);
    if (*fd < 0)
        return NULL;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
    if (mldfi_fd_write_all(*fd, object, bytes, NULL) == MLDF_OK)
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        (void)close(*fd);
        *fd = -1;
    }
    return handle;
#else
    (void)object, (void)bytes, (void)fd;
    return NULL;
#endif
}

static void *load_named(const void *object, size_t bytes, mldf_error *err) {
    char folder[64], path[96];
    void *handle = NULL;
    if (mldfi_private_folder(folder, err) < 0)
        return NULL;
    (void)snprintf(path, sizeof path, "%s/code.so", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0700);
    mldf_status status =
        fd < 0 ? mldfi_fail_file(err, MLDF_E_IO, path, "cannot be made") : mldfi_fd_write_all(fd, object, bytes, err);
    if (fd >= 0)
        (void)close(fd);
    if (status == MLDF_OK)
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (status == MLDF_OK && !handle) {
        const char *reason = dlerror();
        (void)mldfi_fail(err, MLDF_E_UNSUPPORTED, "compiled code cannot be loaded: %.300s",
                         reason ? reason : "no reason");
    }
    (void)unlink(path);
    (void)rmdir(folder);
    return handle;
}

mldf_status mldfi_library_load(const void *object, size_t bytes, struct os_library **out, mldf_error *err) {
    struct os_library *library = mldfi_alloc_zero(1, sizeof *library, err);
    mldf_error own = {.status = MLDF_E_UNSUPPORTED};
    *out = NULL;
    if (!library)
        return MLDF_E_MEMORY;
    library->fd = -1;
    library->handle = load_nameless(object, bytes, &library->fd);
    if (!library->handle)
        library->handle = load_named(object, bytes, &own);
    if (!library->handle) {
        free(library);
        if (err)
            *err = own;
        return own.status;
    }
    *out = library;
    return MLDF_OK;
}

void *mldfi_library_symbol(const struct os_library *library, const char *name) {
    return dlsym(library->handle, name);
}

void mldfi_library_close(struct os_library *library) {
    if (!library)
        return;
    (void)dlclose(library->handle);
    if (library->fd >= 0)
        (void)close(library->fd);
    free(library);
}
