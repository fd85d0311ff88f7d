/* coprocess.h: a program with three pipes, and one poll loop (`pump`) that every call goes through. */
#include "os/coprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/file.h"
#include "os/spawn.h"
#include "util/buffer.h"
#include "util/error.h"

enum { READ_ROOM = 1 << 16, WAKE_MS = 50 };

struct os_coprocess {
    pid_t pid; /* 0: it was waited for */
    int in, out, complaints;
    const uint8_t *pending; /* not yet written */
    size_t pending_bytes;
    uint8_t room[READ_ROOM]; /* what was read and not yet asked for */
    size_t room_begin, room_end;
    char tail[OS_COPROCESS_STDERR]; /* a ring */
    size_t tail_at;
    bool tail_full;
    bool refused; /* it closed its standard input */
};

/* ---- Starting --------------------------------------------------------------------------------------------------------------- */

/* Another thread's child must not inherit an end: the program would never see its input close. */
static bool make_pipe(int ends[2]) {
#if defined(__linux__)
    return pipe2(ends, O_CLOEXEC) == 0;
#else
    if (pipe(ends) != 0)
        return false;
    for (int i = 0; i < 2; i++)
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    return true;
#endif
}

static void close_pair(int ends[2]) {
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            (void)close(ends[i]);
}

mldf_status mldfi_coprocess_start(struct os_coprocess **out, char *const *words, mldf_error *err) {
    int in[2] = {-1, -1}, answers[2] = {-1, -1}, complaints[2] = {-1, -1};
    *out = NULL;
    struct os_coprocess *p = mldfi_alloc_zero(1, sizeof *p, err);
    if (!p)
        return MLDF_E_MEMORY;
    int reason = make_pipe(in) && make_pipe(answers) && make_pipe(complaints) ? 0 : errno;
    /* A pipe's end with the number 0, 1 or 2 (a program without standard streams) would be lost in the child. */
    for (int i = 0; !reason && i < 2; i++)
        if (in[i] <= 2 || answers[i] <= 2 || complaints[i] <= 2)
            reason = EBADF;
    reason = reason ? reason : mldfi_spawn(&p->pid, words, (const int[3]){in[0], answers[1], complaints[1]}, NULL);
    if (reason) {
        close_pair(in);
        close_pair(answers);
        close_pair(complaints);
        free(p);
        return mldfi_fail_errno(err, reason, "cannot start %.200s", words[0]);
    }
    (void)close(in[0]);
    (void)close(answers[1]);
    (void)close(complaints[1]);
    p->in = in[1];
    p->out = answers[0];
    p->complaints = complaints[0];
    for (int i = 0; i < 3; i++) {
        int fd = i == 0 ? p->in : i == 1 ? p->out : p->complaints;
        (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
    *out = p;
    return MLDF_OK;
}

/* ---- What it said and how it ended -------------------------------------------------------------------------------------------- */

static void drain_complaints(struct os_coprocess *p) {
    enum { TURNS = 16 }; /* a program that never stops complaining must not keep anybody here */
    char text[4096];
    ssize_t got = -1;
    for (int turn = 0; turn < TURNS && p->complaints >= 0; turn++) {
        got = read(p->complaints, text, sizeof text);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        for (ssize_t i = 0; i < got; i++) {
            p->tail[p->tail_at++] = text[i];
            p->tail_full = p->tail_full || p->tail_at == sizeof p->tail;
            p->tail_at %= sizeof p->tail;
        }
    }
    if (got != 0)
        return; /* there is more, or may be later */
    if (p->complaints >= 0)
        (void)close(p->complaints);
    p->complaints = -1;
}

/* The last lines of stderr in one line of `room` bytes, the newest kept. */
static void tail_text(const struct os_coprocess *p, char *out, size_t room) {
    size_t bytes = p->tail_full ? sizeof p->tail : p->tail_at, used = 0;
    size_t skip = bytes > room - 1 ? bytes - (room - 1) : 0;
    for (size_t i = skip; i < bytes; i++) {
        size_t at = p->tail_full ? (p->tail_at + i) % sizeof p->tail : i;
        unsigned char c = (unsigned char)p->tail[at];
        if (c < 0x20 || c == 0x7f)
            c = ' ';
        if (c == ' ' && (used == 0 || out[used - 1] == ' '))
            continue;
        out[used++] = (char)c;
    }
    while (used && out[used - 1] == ' ')
        used--;
    out[used] = 0;
}

mldf_status mldfi_coprocess_fail(struct os_coprocess *p, mldf_error *err, const char *format, ...) {
    char message[MLDF_MESSAGE_MAX / 2 + 1], tail[MLDF_MESSAGE_MAX / 2];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    drain_complaints(p);
    tail_text(p, tail, sizeof tail);
    return mldfi_fail(err, MLDF_E_IO, "%s%s%s", message, tail[0] ? "; its stderr ends: " : "", tail);
}

/* Waits for its end until the deadline; true: *how is set. A program that ignores SIGCHLD loses the status: then it is 0. */
static bool wait_for(struct os_coprocess *p, double deadline, int *how) {
    struct timespec pause = {0, 1000000};
    *how = 0;
    for (;;) {
        pid_t got = waitpid(p->pid, how, WNOHANG);
        if (got == p->pid || (got < 0 && errno != EINTR)) {
            p->pid = 0;
            return true;
        }
        drain_complaints(p);
        if (mldfi_time() > deadline)
            return false;
        (void)nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < 16000000 ? pause.tv_nsec * 2 : pause.tv_nsec;
    }
}

static mldf_status fail_ended(struct os_coprocess *p, mldf_error *err) {
    int how;
    if (!wait_for(p, mldfi_time() + 1, &how))
        return mldfi_coprocess_fail(p, err, "it closed its standard output before its answer was complete");
    if (WIFSIGNALED(how))
        return mldfi_coprocess_fail(p, err, "it was killed by signal %d before its answer was complete", WTERMSIG(how));
    return mldfi_coprocess_fail(p, err, "it ended with exit status %d before its answer was complete",
                                WEXITSTATUS(how));
}

static void kill_group(struct os_coprocess *p) {
    int how;
    if (!p->pid)
        return;
    (void)kill(-p->pid, SIGKILL);
    (void)kill(p->pid, SIGKILL);
    while (waitpid(p->pid, &how, 0) < 0 && errno == EINTR)
        ;
    p->pid = 0;
}

static mldf_status fail_late(struct os_coprocess *p, mldf_error *err) {
    mldf_status status = mldfi_coprocess_fail(p, err, "no answer within the time limit");
    if (err)
        err->sys_errno = ETIMEDOUT;
    return status;
}

/* ---- The loop ----------------------------------------------------------------------------------------------------------------- */

/* write without SIGPIPE, which would end a program that has no handler for it. */
static ssize_t quiet_write(int fd, const void *data, size_t bytes) {
    sigset_t pipe_only, before, pending;
    int caught, reason;
    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    (void)sigpending(&pending);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    ssize_t done = write(fd, data, bytes);
    reason = errno;
    if (done < 0 && reason == EPIPE && !sigismember(&pending, SIGPIPE)) {
        (void)sigpending(&pending);
        if (sigismember(&pending, SIGPIPE))
            (void)sigwait(&pipe_only, &caught);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return done;
}

static void write_some(struct os_coprocess *p) {
    ssize_t done = quiet_write(p->in, p->pending, p->pending_bytes);
    if (done > 0) {
        p->pending += done;
        p->pending_bytes -= (size_t)done;
    } else if (done < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        p->refused = true; /* its end, or the answer that it gives without having read everything, says more */
        p->pending_bytes = 0;
    }
}

/* Moves bytes until there is something in the room: MLDF_OK, or MLDF_END when its standard output has ended. */
static mldf_status pump(struct os_coprocess *p, double deadline, bool (*cancelled)(void *), void *user,
                        mldf_error *err) {
    p->room_begin = p->room_end = 0;
    for (;;) {
        if (cancelled && cancelled(user))
            return mldfi_fail(err, MLDF_E_CANCELLED, "cancelled");
        struct pollfd fds[3] = {{p->out, POLLIN, 0}, {p->complaints, POLLIN, 0}, {p->in, POLLOUT, 0}};
        if (p->pending_bytes == 0)
            fds[2].fd = -1;
        int ready = poll(fds, 3, WAKE_MS);
        if (ready < 0 && errno != EINTR && errno != EAGAIN)
            return mldfi_fail_errno(err, errno, "poll");
        if (ready > 0 && fds[1].revents)
            drain_complaints(p);
        if (ready > 0 && fds[2].revents)
            write_some(p);
        if (ready > 0 && fds[0].revents) {
            ssize_t got = read(p->out, p->room, sizeof p->room);
            if (got > 0) {
                p->room_end = (size_t)got;
                return MLDF_OK;
            }
            if (got == 0)
                return MLDF_END;
            if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
                return mldfi_fail_errno(err, errno, "reading from the program");
        }
        if (mldfi_time() > deadline)
            return fail_late(p, err);
    }
}

void mldfi_coprocess_send(struct os_coprocess *p, const void *data, size_t bytes) {
    p->pending = data;
    p->pending_bytes = p->refused ? 0 : bytes;
}

bool mldfi_coprocess_sent(const struct os_coprocess *p) {
    return p->pending_bytes == 0 && !p->refused;
}

mldf_status mldfi_coprocess_read(struct os_coprocess *p, void *dst, size_t bytes, double deadline,
                                 bool (*cancelled)(void *), void *user, mldf_error *err) {
    uint8_t *to = dst;
    while (bytes) {
        size_t have = p->room_end - p->room_begin, part = have < bytes ? have : bytes;
        if (part) {
            memcpy(to, p->room + p->room_begin, part);
            p->room_begin += part;
            to += part;
            bytes -= part;
            continue;
        }
        mldf_status status = pump(p, deadline, cancelled, user, err);
        if (status == MLDF_END)
            return fail_ended(p, err);
        if (status < 0)
            return status;
    }
    return MLDF_OK;
}

mldf_status mldfi_coprocess_line(struct os_coprocess *p, mldf_buffer *line, size_t most, double deadline,
                                 bool (*cancelled)(void *), void *user, mldf_error *err) {
    line->size = 0;
    for (;;) {
        uint8_t c;
        mldf_status status = mldfi_coprocess_read(p, &c, 1, deadline, cancelled, user, err);
        if (status < 0 || c == '\n')
            return status;
        if (line->size == most)
            return mldfi_coprocess_fail(p, err, "its first line has more than %zu bytes", most);
        if ((status = mldf_buffer_append(line, &c, 1, err)) < 0)
            return status;
    }
}

/* ---- The end ------------------------------------------------------------------------------------------------------------------ */

mldf_status mldfi_coprocess_finish(struct os_coprocess *p, double deadline, mldf_error *err) {
    int how;
    bool more = p->room_end > p->room_begin;
    if (p->in >= 0)
        (void)close(p->in);
    p->in = -1;
    p->pending_bytes = 0;
    mldf_status status = more ? MLDF_OK : pump(p, deadline, NULL, NULL, err);
    if (status == MLDF_OK)
        status = mldfi_coprocess_fail(p, err, "it answered more than it was asked");
    else if (status == MLDF_E_IO)
        status = mldfi_coprocess_fail(p, err, "it did not end after its input was closed");
    else if (status == MLDF_END && !wait_for(p, deadline, &how))
        status = mldfi_coprocess_fail(p, err, "it did not end after its input was closed");
    else if (status == MLDF_END && WIFSIGNALED(how))
        status = mldfi_coprocess_fail(p, err, "it was killed by signal %d at its end", WTERMSIG(how));
    else if (status == MLDF_END && WEXITSTATUS(how) != 0)
        status = mldfi_coprocess_fail(p, err, "it ended with exit status %d", WEXITSTATUS(how));
    kill_group(p);
    return status == MLDF_END ? MLDF_OK : status;
}

void mldfi_coprocess_free(struct os_coprocess *p) {
    if (!p)
        return;
    kill_group(p);
    if (p->in >= 0)
        (void)close(p->in);
    if (p->out >= 0)
        (void)close(p->out);
    if (p->complaints >= 0)
        (void)close(p->complaints);
    free(p);
}

mldf_status mldfi_program_beside(const char *name, mldf_buffer *out, mldf_error *err) {
    char path[4096];
    ssize_t bytes =
        readlink("/proc/self/exe", path, sizeof path - 1); /* Linux; elsewhere it fails, and the name alone is used */
    path[bytes > 0 ? bytes : 0] = 0;
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    mldf_status status = mldf_buffer_append(out, path, folder, err);
    if (status == MLDF_OK)
        status = mldf_buffer_append(out, name, strlen(name) + 1, err);
    if (status == MLDF_OK && (folder == 0 || access((const char *)out->data, X_OK) != 0)) {
        out->size = 0;
        status = mldf_buffer_append(out, name, strlen(name) + 1, err);
    }
    return status;
}
