/* mldf cat: all samples, or the bytes of one field. The work is in samples.c. */
#include "cli.h"

static const struct option_spec options[] = {
    {'n', NULL, "COUNT", "at most COUNT samples"},
    {0, "range", "A:B", "samples A to B - 1; negative counts from the end, either may be left out"},
    {0, "samples", "I,J,...", "these samples, in this order"},
    {0, "keys", "K,L,...", "the samples with these keys"},
    {0, "fields", "NAME,...", "these fields alone; no other field's bytes are read"},
    {0, "raw", "FIELD", "write the bytes of this field and nothing else, one sample after the other"},
    {0, "full", NULL, "arrays and payloads of any size in full"},
    {0, NULL, NULL, NULL},
};

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
    options,
    "  mldf cat --json train.mldf > train.jsonl\n"
    "  mldf cat --samples 17 --raw image train.mldf > 17.jpg\n",
    1,
    1,
    run,
};
