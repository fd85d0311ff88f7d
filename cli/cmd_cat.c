/* mldf cat: all samples, or the bytes of one field. The work is in samples.c. */
#include "cli.h"

static int run(struct invocation *invocation) {
    return cmd_samples(invocation, false);
}

const struct command command_cat = {
    "cat",
    "FILE",
    "all samples, or the bytes of one field",
    "Shows all samples, or those that the options name. " SAMPLES_DESCRIPTION,
    samples_options,
    "  mldf cat --json train.mldf > train.jsonl\n"
    "  mldf cat --samples 17 --raw image train.mldf > 17.jpg\n",
    1,
    1,
    run,
};
