/* Lists of samples in a pipeline's text, `indices=[3, 17, 4096]`: a sorted copy, asked once for each sample. */
#ifndef MLDF_PIPELINE_OP_SAMPLES_H
#define MLDF_PIPELINE_OP_SAMPLES_H

#include "pipeline/op.h"

/* The parameter `indices`: numbers of samples in the whole dataset, as the output `index` has them, in any order. */
#define OP_INDICES_PARAM(FALLBACK, HELP) \
    { "indices", PARAM_INTS, FALLBACK, 0, 0x1p53, NULL, 1, OP_MAX_LIST, HELP }

struct sample_set {
    size_t count;
    uint64_t samples[]; /* ascending */
};
/* NULL without memory; free() it. */
struct sample_set *mldfi_samples_new(const struct arg *indices, mldf_error *err);
bool mldfi_samples_has(const struct sample_set *set, uint64_t sample);

#endif
