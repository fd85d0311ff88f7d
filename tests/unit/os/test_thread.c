/* Threads: signals stay with the caller, waiting ends in time. */
#include <signal.h>

#include "check.h"
#include "os/file.h"
#include "os/thread.h"

static void *count_open_signals(void *argument) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE, SIGALRM, SIGCHLD};
    sigset_t mask;
    int *open = argument;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        *open += !sigismember(&mask, numbers[i]);
    return NULL;
}

static void a_thread_starts_with_all_signals_blocked(void) {
    pthread_t thread;
    mldf_error err;
    int open = 0, own = 0;
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    REQUIRE_OK(mldfi_thread_start(&thread, count_open_signals, &open, &err), &err);
    pthread_join(thread, NULL);
    CHECK_EQ_INT(0, open);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int number = 1; number < 32; number++)
        CHECK_EQ_INT(sigismember(&before, number), sigismember(&after, number));
    count_open_signals(&own);
    CHECK(own > 0);
}

struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool ready; /* under mutex */
};

static void *make_ready(void *argument) {
    struct shared *shared = argument;
    pthread_mutex_lock(&shared->mutex);
    shared->ready = true;
    pthread_cond_signal(&shared->cond);
    pthread_mutex_unlock(&shared->mutex);
    return NULL;
}

static void waiting_ends_with_the_signal_or_the_time(void) {
    struct shared shared;
    pthread_t thread;
    mldf_error err;
    pthread_mutex_init(&shared.mutex, NULL);
    mldfi_cond_init(&shared.cond);
    shared.ready = false;
    pthread_mutex_lock(&shared.mutex);
    double start = mldfi_time();
    while (mldfi_cond_wait_ms(&shared.cond, &shared.mutex, 30)) { /* spurious wake-ups return true */
    }
    CHECK(mldfi_time() - start >= 0.029);
    REQUIRE_OK(mldfi_thread_start(&thread, make_ready, &shared, &err), &err);
    while (!shared.ready)
        CHECK(mldfi_cond_wait_ms(&shared.cond, &shared.mutex, 60999));
    pthread_mutex_unlock(&shared.mutex);
    pthread_join(thread, NULL);
    pthread_cond_destroy(&shared.cond);
    pthread_mutex_destroy(&shared.mutex);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_thread_starts_with_all_signals_blocked);
    RUN(waiting_ends_with_the_signal_or_the_time);
    return check_end();
}
