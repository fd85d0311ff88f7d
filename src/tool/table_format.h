/* Of which format a table is: CSV and its delimiter, JSON lines, a JSON array of objects; and files that are no table at all, told by their first
 * bytes. Next: rows.h, which reads the table. */
#ifndef MLDF_TOOL_TABLE_FORMAT_H
#define MLDF_TOOL_TABLE_FORMAT_H

#include "mldf/tool.h"
#include "tool/input.h"

struct table_format {
    mldf_source_format format; /* CSV, TSV or JSONL */
    char delimiter;            /* CSV, TSV */
    bool array;                /* JSONL: the file is one array of objects */
};

/* Looks at the first bytes of the window, which it may fill, and at the name. What `given` says stays (AUTO and 0: nothing). Files of another kind are
 * MLDF_E_ARGUMENT or MLDF_E_UNSUPPORTED with what to do about them. */
mldf_status mldfi_table_format(struct input *input, const struct table_format *given, struct table_format *out,
                               mldf_error *err);

#endif
