/* See module.h. */
#define _GNU_SOURCE /* dladdr */
#include "os/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/error.h"

#if !defined(MLDF_MODULE_FOLDER)
#define MLDF_MODULE_FOLDER "/usr/local/lib/mldf"
#endif

/* The folder of the file that this function is in; false: not known. */
static bool own_folder(char out[PATH_MAX]) {
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)&mldfi_module_symbol, &info) || !info.dli_fname)
        return false;
    if (!realpath(info.dli_fname, out) &&
        !realpath("/proc/self/exe", out)) /* a program may know itself by its name alone */
        return false;
    char *slash = strrchr(out, '/');
    if (!slash)
        return false;
    *slash = 0;
    return true;
}

mldf_status mldfi_module_symbol(const char *name, const char *symbol, void **out, mldf_error *err) {
    static const char *const places[] = {"", "/lib", "/mldf", "/../lib", "/../lib/mldf"};
    char folder[PATH_MAX], path[PATH_MAX + 300];
    bool known = own_folder(folder);
    *out = NULL;
    for (size_t i = 0; i <= sizeof places / sizeof places[0]; i++) {
        if (i < sizeof places / sizeof places[0] && known)
            (void)snprintf(path, sizeof path, "%s%s/%s", folder, places[i], name);
        else if (i == sizeof places / sizeof places[0])
            (void)snprintf(path, sizeof path, "%s/%s", MLDF_MODULE_FOLDER, name);
        else
            continue;
        if (access(path, R_OK) != 0)
            continue;
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        const char *reason = handle ? NULL : dlerror();
        if (!handle)
            return mldfi_fail(err, MLDF_E_UNSUPPORTED, "%s cannot be loaded: %.300s", name,
                              reason ? reason : "no reason");
        *out = dlsym(handle, symbol);
        (void)dlclose(handle); /* NODELETE: it stays */
        return *out ? MLDF_OK
                    : mldfi_fail(err, MLDF_E_UNSUPPORTED, "%s has no %s: another version of mldf", path, symbol);
    }
    return mldfi_fail(
        err, MLDF_E_UNSUPPORTED,
        "%s was not found: this mldf was built without FFmpeg (Debian: install libavcodec-dev and libavformat-dev, and build again)",
        name);
}
