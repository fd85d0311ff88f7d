/* mldf head: the first samples. The work is in samples.c. */
#include "cli.h"

static int run(struct invocation *invocation) {
    return cmd_samples(invocation, true);
}

const struct command command_head = {
    "head",
    "FILE",
    "the first samples",
    "Shows the first 10 samples, or those that the options name. " SAMPLES_DESCRIPTION,
    samples_options,
    "  mldf head -n 3 train.mldf\n"
    "  mldf head --range -5: --fields label,text train.mldf\n",
    1,
    1,
    run,
};
