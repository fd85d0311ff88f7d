/* JSON lines: one object for each line, blank lines skipped; or one array of objects (jsonl_array.c). The object comes as a tree (util/json.h) over its
 * text in the input's window. Next: rows.h, which makes cells of it. */
#ifndef MLDF_TOOL_JSONL_H
#define MLDF_TOOL_JSONL_H

#include "tool/input.h"
#include "util/json.h"

struct jsonl {
    struct input *input;
    struct json tree; /* of the line; root is an object */
    uint64_t line;    /* number of that line, from 1; of an array, the line that the element begins in */
    size_t pending;
    bool started;
    bool array;
    uint64_t column;                 /* bytes before the object in its line */
    uint64_t next_line, next_column; /* of an array: line and column, from 0, of what follows */
    /* Of the last call of mldfi_jsonl_place: which offset, in which line, and where that line began. */
    size_t place_offset;
    uint64_t place_line, place_column;
};

void mldfi_jsonl_begin(struct jsonl *jsonl, struct input *input, bool array);
void mldfi_jsonl_free(struct jsonl *jsonl);
/* The next object; MLDF_END after the last. MLDF_E_SYNTAX is an error in this line or element alone: the next call goes on after it. MLDF_E_CORRUPT: the
 * array itself is broken, nothing after that place can be read. */
mldf_status mldfi_jsonl_next(struct jsonl *jsonl, mldf_error *err);
/* Line and column, both from 1, of a byte of the object. Cheap when offsets grow from call to call. */
void mldfi_jsonl_place(struct jsonl *jsonl, size_t offset, uint64_t *line, uint64_t *column);

/* Between jsonl.c and jsonl_array.c. */
mldf_status mldfi_jsonl_parse(struct jsonl *jsonl, const char *text, size_t bytes, mldf_error *err);
mldf_status mldfi_jsonl_array_next(struct jsonl *jsonl, mldf_error *err);

#endif
