/* Cells that name files: where such a path may lead, and the file's content as a value. */
#ifndef MLDF_TOOL_FILE_VALUE_H
#define MLDF_TOOL_FILE_VALUE_H

#include "field/field.h"

struct file_places {
    const char *given_root; /* NULL: the folder of the table */
    bool allow_outside;
    char *root;         /* of the table in hand; "" is the current folder */
    char *real_root;    /* the same, absolute and without links, or NULL */
    mldf_buffer path;   /* the path in hand, terminated */
    const char *target; /* a file that is going to be replaced and so cannot be read, or NULL */
    bool target_named;  /* and a cell named it */
    file_warning_fn warn;
    void *warn_user;
};

/* A table begins: its paths are taken from its folder, unless a root was given. "-": from the current folder. */
mldf_status mldfi_files_enter(struct file_places *places, const char *table, mldf_error *err);
void mldfi_files_free(struct file_places *places);

/* The content of the file that the text names. files: its bytes must be such a file; NULL: any. A path that leaves the root is refused, unless
 * that is allowed; one that names no file is MLDF_E_TYPE: the row is at fault. One that names the target is MLDF_E_ARGUMENT. */
mldf_status mldfi_files_read(struct file_places *places, const char *text, size_t bytes,
                             const struct field_files *files, uint64_t limit, mldf_buffer *out, mldf_error *err);

#endif
