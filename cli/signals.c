/* What the program finds around it: signals, and the standard streams. Ctrl-C and its kin: the first one sets a flag that the progress hook and the loops look at, so that work is undone in order; a second
 * wish ends the program at once. SIGPIPE and SIGXFSZ (ulimit -f) are ignored: a failed write is an error like any other, after which temporary files are removed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

/* Signals may come on two threads at a time. */
static atomic_uint count, at_once, first_ms; /* first_ms: when the first came; 0: not known yet */

enum { ECHO_MS = 1000 };

/* A call that waits for a pipe ends with EINTR when a signal comes while it waits, but not when the signal came the moment before: so
 * after the first one an alarm goes off every 50 ms. (setitimer is a bare system call, and as safe in a handler as write is.) */
static void call_again(void) {
    static const struct itimerval soon = {{0, 50000}, {0, 50000}};
    (void)setitimer(ITIMER_REAL, &soon, NULL);
}

static void on_alarm(int number) {
    (void)number;
}

/* Never 0. (clock_gettime is safe in a handler too.) */
static unsigned milliseconds(void) {
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return ((unsigned)now.tv_sec * 1000u + (unsigned)(now.tv_nsec / 1000000)) | 1u;
}

static void end_with(const char *text, size_t bytes) {
    ssize_t written = write(STDERR_FILENO, text, bytes);
    (void)written; /* there is nobody left to tell */
    _exit(EXIT_INTERRUPTED);
}

/* timeout, and others that end a whole group, send their signal twice in a row: what comes so soon after the first is no second wish. */
static void on_signal(int number) {
    static const char text[] = "mldf: interrupted\n";
    int kept = errno;
    unsigned now = milliseconds(), first = atomic_load(&first_ms);
    (void)number;
    if (atomic_fetch_add(&count, 1u) == 0) {
        atomic_store(&first_ms, now);
        if (atomic_load(&at_once))
            end_with(text, sizeof text - 1);
        call_again();
    } else if (first && now - first >= ECHO_MS) {
        _exit(EXIT_INTERRUPTED);
    }
    errno = kept;
}

void signals_end_at_once(void) {
    atomic_store(&at_once, 1u);
}

void signals_install(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal; /* no SA_RESTART: a read that waits for input must end */
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction old;
        /* nohup and background jobs of old shells start with signals ignored, and mean it. */
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}

/* A program that is started without one of the three standard streams gets its number for the next file it opens: messages would then go
 * into a dataset. What fills the gap refuses what the stream is for, so that a closed stdout is still an error. */
void streams_open(void) {
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

bool interrupted(void) {
    return atomic_load(&count) > 0;
}
