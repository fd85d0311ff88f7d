/* compiler.h: a program with the source on standard input and the object in a private folder, which is gone before the caller sees the
 * object's bytes. The compiler leads a process group of its own, so that a time limit ends it with all that it started. */
#include "os/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/file.h"
#include "os/spawn.h"
#include "util/buffer.h"
#include "util/error.h"

/* ---- Finding ------------------------------------------------------------------------------------------------------------------- */

static bool look_at(const char *folder, const char *name, struct os_compiler *out) {
    struct stat st;
    int n = snprintf(out->path, sizeof out->path, "%s%s", folder, name);
    if (n < 0 || (size_t)n >= sizeof out->path || stat(out->path, &st) != 0 || !S_ISREG(st.st_mode) ||
        access(out->path, X_OK) != 0)
        return false;
    out->bytes = (uint64_t)st.st_size;
    out->seconds = (int64_t)st.st_mtime;
#if defined(__APPLE__)
    out->nanoseconds = st.st_mtimespec.tv_nsec;
#else
    out->nanoseconds = st.st_mtim.tv_nsec;
#endif
    return true;
}

mldf_status mldfi_compiler_find(const char *name, struct os_compiler *out, mldf_error *err) {
    memset(out, 0, sizeof *out);
    bool found = strchr(name, '/') ? look_at("", name, out)
                                   : look_at("/usr/bin/", name, out) || look_at("/usr/local/bin/", name, out);
    if (!found)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "no C compiler: %.200s is not a program that can be run", name);
    return MLDF_OK;
}

/* ---- The private folder ----------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_private_folder(char path[64], mldf_error *err) {
    memcpy(path, "/tmp/mldf-XXXXXX", sizeof "/tmp/mldf-XXXXXX");
    return mkdtemp(path) ? MLDF_OK : mldfi_fail_errno(err, errno, "no temporary folder in /tmp");
}

struct workplace {
    char folder[64], object[96];
    int source, complaints; /* unlinked files */
};

static int open_unlinked(const struct workplace *w, const char *name) {
    char path[96];
    (void)snprintf(path, sizeof path, "%s/%s", w->folder, name);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

static void workplace_end(struct workplace *w) {
    if (w->source >= 0)
        (void)close(w->source);
    if (w->complaints >= 0)
        (void)close(w->complaints);
    if (w->folder[0]) {
        (void)unlink(w->object);
        (void)rmdir(w->folder);
    }
}

static mldf_status workplace_begin(struct workplace *w, const void *source, size_t bytes, mldf_error *err) {
    *w = (struct workplace){.source = -1, .complaints = -1};
    mldf_status status = mldfi_private_folder(w->folder, err);
    if (status < 0) {
        w->folder[0] = 0;
        return status;
    }
    (void)snprintf(w->object, sizeof w->object, "%s/code.so", w->folder);
    w->source = open_unlinked(w, "source");
    w->complaints = open_unlinked(w, "complaints");
    if (w->source < 0 || w->complaints < 0)
        return mldfi_fail_errno(err, errno, "%s", w->folder);
    status = mldfi_fd_write_all(w->source, source, bytes, err);
    if (status == MLDF_OK && lseek(w->source, 0, SEEK_SET) != 0)
        status = mldfi_fail_errno(err, errno, "%s", w->folder);
    return status;
}

/* ---- The process ------------------------------------------------------------------------------------------------------------------ */

enum { MAX_ARGUMENTS = 48 };

static mldf_status start(const struct workplace *w, char *const *arguments, pid_t *pid, mldf_error *err) {
    static char path[] = "PATH=/usr/bin:/bin:/usr/local/bin", language[] = "LC_ALL=C";
    char *const environment[] = {path, language, NULL};
    const int streams[3] = {w->source, w->complaints, w->complaints};
    int reason = mldfi_spawn(pid, arguments, streams, environment);
    return reason ? mldfi_fail_errno(err, reason, "%s", arguments[0]) : MLDF_OK;
}

/* Asks again and again, rarely enough to cost nothing. A program that ignores SIGCHLD loses the exit status: then the object speaks. */
static mldf_status await(pid_t pid, unsigned limit_ms, const atomic_bool *cancel, const char *name, mldf_error *err) {
    double end = mldfi_time() + limit_ms / 1000.0;
    struct timespec pause = {0, 1000000};
    for (;;) {
        int how = 0;
        pid_t got = waitpid(pid, &how, WNOHANG);
        if (got == pid)
            return WIFEXITED(how) && WEXITSTATUS(how) == 0 ? MLDF_OK : MLDF_END;
        if (got < 0 && errno != EINTR)
            return MLDF_OK;
        bool cancelled = cancel && atomic_load(cancel);
        if (cancelled || mldfi_time() > end) {
            (void)kill(-pid, SIGKILL);
            (void)kill(pid, SIGKILL);
            while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
                ;
            return cancelled
                       ? mldfi_fail(err, MLDF_E_CANCELLED, "compiling was cancelled")
                       : mldfi_fail(err, MLDF_E_UNSUPPORTED, "%s did not end within %g s", name, limit_ms / 1000.0);
        }
        (void)nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < 16000000 ? pause.tv_nsec * 2 : pause.tv_nsec;
    }
}

/* The first line that says "error", or the first. */
static mldf_status complain(const struct workplace *w, const char *name, mldf_error *err) {
    char text[4096];
    ssize_t got = pread(w->complaints, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = 0;
    const char *line = strstr(text, "error: ");
    line = line ? line : text;
    int bytes = (int)strcspn(line, "\r\n");
    return mldfi_fail(err, MLDF_E_UNSUPPORTED, "%s failed%s%.*s", name, bytes ? ": " : "", bytes < 300 ? bytes : 300,
                      line);
}

static mldf_status read_object(const struct workplace *w, const char *name, mldf_buffer *object, mldf_error *err) {
    struct stat st;
    int fd = open(w->object, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "%s made no object", name);
    mldf_status status = MLDF_OK;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > OS_OBJECT_MAX)
        status = mldfi_fail(err, MLDF_E_UNSUPPORTED, "%s made an object of no sensible size", name);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(object, (size_t)st.st_size, err);
    struct os_file file = {fd, (char *)(uintptr_t)w->object, false};
    if (status == MLDF_OK)
        status = mldfi_file_read(&file, 0, object->data, object->size, err);
    (void)close(fd);
    return status;
}

mldf_status mldfi_compile(const struct os_compiler *compiler, const char *const *flags, const char *const *libraries,
                          const void *source, size_t bytes, unsigned limit_ms, const atomic_bool *cancel,
                          mldf_buffer *object, mldf_error *err) {
    const char *arguments[MAX_ARGUMENTS] = {compiler->path};
    size_t count = 1;
    struct workplace w;
    pid_t pid;
    for (; *flags && count < MAX_ARGUMENTS - 8; flags++)
        arguments[count++] = *flags;
    arguments[count++] = "-x";
    arguments[count++] = "c";
    arguments[count++] = "-";
    arguments[count++] = "-o";
    arguments[count++] = w.object;
    for (; libraries && *libraries && count < MAX_ARGUMENTS - 1; libraries++)
        arguments[count++] = *libraries;
    mldf_status status = workplace_begin(&w, source, bytes, err);
    if (status == MLDF_OK) /* posix_spawn writes to none of them */
        status = start(&w, (char *const *)(uintptr_t)arguments, &pid, err);
    if (status == MLDF_OK)
        status = await(pid, limit_ms, cancel, compiler->path, err);
    if (status == MLDF_END)
        status = complain(&w, compiler->path, err);
    if (status == MLDF_OK)
        status = read_object(&w, compiler->path, object, err);
    workplace_end(&w);
    return status;
}
