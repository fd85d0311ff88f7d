/* Splitting from the inside: split_plan.c decides which sample goes where, split.c writes the parts. */
#ifndef MLDF_TOOL_SPLIT_H
#define MLDF_TOOL_SPLIT_H

#include "mldf/tool.h"
#include "tool/input.h"
#include "writer/spill.h"

enum { SPLIT_MAX_PARTS = 100000, SPLIT_MAX_CLASSES = 1000000, SPLIT_MAX_CELLS = 1 << 24 };

struct split_plan {
    size_t parts;
    uint64_t *sizes; /* of the parts when they are consecutive samples */
    bool scattered;  /* the part of each sample is in `assigned`, a u32 each */
    struct spill spill;
    struct spill_stream assigned;
};

/* For --count and --fractions. */
mldf_status mldfi_split_plan(struct split_plan *plan, const mldf_reader *reader, const char *target,
                             const mldf_split_options *options, struct input_watch *watch, mldf_error *err);
void mldfi_split_plan_free(struct split_plan *plan);
/* The part of each sample from `first` on, `count` of them. */
mldf_status mldfi_split_assigned(const struct split_plan *plan, uint64_t first, uint32_t *out, size_t count,
                                 mldf_error *err);
/* The file of a part. MLDF_E_ARGUMENT when the pattern has not exactly one placeholder. */
mldf_status mldfi_split_name(const char *pattern, size_t part, const char *name, mldf_buffer *out, mldf_error *err);

#endif
