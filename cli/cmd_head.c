/* mldf head: the first samples. The work is in samples.c. */
#include "cli.h"

static int run(struct invocation *invocation) {
    return cmd_samples(invocation, true);
}

const struct command command_head = {
    "head",
    "FILE",
    "the first samples",
    "Shows the first 10 samples, or those that the options name. Numbers, text and JSON are shown as\n"
    "themselves; other payloads as their size and SHA-256; arrays of at most 64 elements as lists, larger ones as dtype, shape\n"
    "and SHA-256. Checksums are verified on the way.\n"
    "\n"
    "With --json, a line for each sample: {index, key, fields}. Numbers that are not finite are the strings \"NaN\",\n"
    "\"Infinity\" and \"-Infinity\"; complex numbers are [re, im].",
    samples_options,
    "  mldf head -n 3 train.mldf\n"
    "  mldf head --range -5: --fields label,text train.mldf\n",
    1,
    1,
    run,
};
