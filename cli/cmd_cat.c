/* mldf cat: all samples, or the bytes of one field. The work is in samples.c. */
#include "cli.h"

static int run(struct invocation *invocation) {
    return cmd_samples(invocation, false);
}

const struct command command_cat = {
    "cat",
    "FILE",
    "all samples, or the bytes of one field",
    "Shows all samples, or those that the options name. Numbers, text and JSON are shown as\n"
    "themselves; other payloads as their size and SHA-256; arrays of at most 64 elements as lists, larger ones as dtype, shape\n"
    "and SHA-256. Checksums are verified on the way.\n"
    "\n"
    "With --json, a line for each sample: {index, key, fields}. Numbers that are not finite are the strings \"NaN\",\n"
    "\"Infinity\" and \"-Infinity\"; complex numbers are [re, im].",
    samples_options,
    "  mldf cat --json train.mldf > train.jsonl\n"
    "  mldf cat --samples 17 --raw image train.mldf > 17.jpg\n",
    1,
    1,
    run,
};
