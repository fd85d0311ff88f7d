/* What the program finds around it: signals, and the standard streams. Ctrl-C and its kin: the first one sets a flag that the progress hook and the loops look at, so that work is undone in order; the second
 * ends the program at once. SIGPIPE and SIGXFSZ (ulimit -f) are ignored: a failed write is an error like any other, after which temporary files are removed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli.h"

static volatile sig_atomic_t count, at_once;

/* A call that waits for a pipe ends with EINTR when a signal comes while it waits, but not when the signal came the moment before: so
 * after the first one an alarm goes off every 50 ms. (setitimer is a bare system call, and as safe in a handler as write is.) */
static void call_again(void) {
    static const struct itimerval soon = {{0, 50000}, {0, 50000}};
    (void)setitimer(ITIMER_REAL, &soon, NULL);
}

static void on_alarm(int number) {
    (void)number;
}

static void on_signal(int number) {
    static const char text[] = "mldf: interrupted\n";
    (void)number;
    if (at_once && count == 0 && write(STDERR_FILENO, text, sizeof text - 1) < 0)
        count++;
    if (++count > 1 || at_once)
        _exit(EXIT_INTERRUPTED);
    call_again();
}

void signals_end_at_once(void) {
    at_once = 1;
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
    return count > 0;
}
