/* mldf head: the first samples. The work is in samples.c. */
#include "cli.h"

static const struct option_spec options[] = {
    {'n', NULL, "COUNT", "at most COUNT samples (10 unless samples are named)"},
    {0, "range", "A:B", "samples A to B - 1; negative counts from the end, either may be left out"},
    {0, "samples", "I,J,...", "these samples, in this order"},
    {0, "keys", "K,L,...", "the samples with these keys"},
    {0, "fields", "NAME,...", "these fields alone; no other field's bytes are read"},
    {0, "raw", "FIELD", "write the bytes of this field and nothing else, one sample after the other"},
    {0, "full", NULL, "arrays and payloads of any size in full"},
    {0, NULL, NULL, NULL},
};

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
    options,
    "  mldf head -n 3 train.mldf\n"
    "  mldf head --range -5: --fields label,text train.mldf\n",
    1,
    1,
    run,
};
