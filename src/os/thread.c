/* Starting threads that no signal is delivered to, and waiting with a time limit that a changed clock cannot stretch. */
#include "os/thread.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "util/error.h"

mldf_status mldfi_thread_start(pthread_t *thread, void *(*run)(void *), void *argument, mldf_error *err) {
    sigset_t all, before;
    (void)sigfillset(&all);
    /* A new thread inherits the mask of the one that starts it. */
    int reason = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (reason == 0) {
        errno = 0;
        reason = pthread_create(thread, NULL, run, argument);
        if (reason == EAGAIN && errno == ENOMEM)
            reason = ENOMEM; /* glibc has one word for no memory and for too many threads */
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (reason == EAGAIN) {
        mldf_status status = mldfi_fail(err, MLDF_E_LIMIT, "no thread can be started: the limit of threads is reached");
        if (err)
            err->sys_errno = EAGAIN;
        return status;
    }
    return reason == 0 ? MLDF_OK : mldfi_fail_errno(err, reason, "no thread can be started");
}

#if defined(__APPLE__)
void mldfi_cond_init(pthread_cond_t *cond) {
    (void)pthread_cond_init(cond, NULL);
}

bool mldfi_cond_wait_ms(pthread_cond_t *cond, pthread_mutex_t *mutex, unsigned milliseconds) {
    struct timespec span = {.tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    return pthread_cond_timedwait_relative_np(cond, mutex, &span) != ETIMEDOUT;
}
#else
void mldfi_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

bool mldfi_cond_wait_ms(pthread_cond_t *cond, pthread_mutex_t *mutex, unsigned milliseconds) {
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(milliseconds / 1000);
    until.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    return pthread_cond_timedwait(cond, mutex, &until) != ETIMEDOUT;
}
#endif
