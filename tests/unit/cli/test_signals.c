/* Ctrl-C: the first one is a wish that the work hears of; one that comes later ends a command that does not listen. */
#include "../../../cli/signals.c"

#include <poll.h>
#include <sys/wait.h>

#include "check.h"

/* A command that hangs: it tells what it hears, and goes on all the same. */
static void hang(int tell) {
    signal(SIGINT, SIG_DFL); /* a job in the background may have begun without it */
    signals_install();
    if (write(tell, "r", 1) != 1)
        _exit(1);
    while (!interrupted())
        pause();
    if (write(tell, "i", 1) != 1)
        _exit(2);
    for (int i = 0; i < 1200; i++)
        pause(); /* the alarm wakes it every 50 ms, and it does not care */
    _exit(3);
}

static void a_later_one_ends_a_command_that_hangs(void) {
    int ends[2], status = 0;
    char said = 0;
    REQUIRE_EQ_INT(0, pipe(ends));
    pid_t child = fork();
    if (child == 0)
        hang(ends[1]);
    REQUIRE(child > 0);
    close(ends[1]);
    CHECK_EQ_INT(1, read(ends[0], &said, 1));
    CHECK_EQ_INT('r', said);
    kill(child, SIGINT);
    CHECK_EQ_INT(1, read(ends[0], &said, 1));
    CHECK_EQ_INT('i', said);
    CHECK_EQ_INT(0, poll(NULL, 0, ECHO_MS + 10)); /* it is no echo of the first any more */
    CHECK_EQ_INT(0, waitpid(child, &status, WNOHANG));
    kill(child, SIGINT);
    CHECK_EQ_INT(child, waitpid(child, &status, 0));
    CHECK(WIFEXITED(status));
    CHECK_EQ_INT(EXIT_INTERRUPTED, WEXITSTATUS(status));
    close(ends[0]);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_later_one_ends_a_command_that_hangs);
    return check_end();
}
