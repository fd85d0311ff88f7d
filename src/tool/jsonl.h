/* JSON lines: one object for each line, blank lines skipped. The object comes as a tree (util/json.h) over the line in the input's
 * window. Next: rows.h, which makes cells of it. */
#ifndef MLDF_TOOL_JSONL_H
#define MLDF_TOOL_JSONL_H

#include "tool/input.h"
#include "util/json.h"

struct jsonl {
    struct input *input;
    struct json tree; /* of the line; root is an object */
    uint64_t line;    /* number of that line, from 1 */
    size_t pending;
    bool started;
};

void mldfi_jsonl_begin(struct jsonl *jsonl, struct input *input);
void mldfi_jsonl_free(struct jsonl *jsonl);
/* The next object; MLDF_END after the last. MLDF_E_SYNTAX is an error in this line alone: the next call goes on after it. */
mldf_status mldfi_jsonl_next(struct jsonl *jsonl, mldf_error *err);

#endif
