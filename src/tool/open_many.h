/* Several files of any format as one row of samples: their fields matched by name, one schema for all. Used by convert_files.c. */
#ifndef MLDF_TOOL_OPEN_MANY_H
#define MLDF_TOOL_OPEN_MANY_H

#include "mldf/reader.h"
#include "os/file.h"
#include "tool/icc.h"
#include "tool/input.h"

struct source {
    char *path;          /* owned */
    const char *name;    /* for messages */
    mldf_reader *reader; /* NULL: closed again, to be opened when its turn comes */
};

struct sources {
    mldf_reader_options options;
    struct source *list;
    size_t count, capacity;
    struct os_file spool; /* what came from standard input */
    mldf_schema *schema;  /* of them all; a field that one lacks is nullable */
    uint64_t samples;
    bool keys;      /* every one has them */
    bool encrypted; /* one of them is */
    bool sealed;    /* one of them with its tables */
    mldf_buffer card;
    bool has_card;      /* of the first */
    struct icc_set icc; /* the colour profiles of all cards, where images have theirs there */
};

/* Expands patterns and keeps standard input in an unlinked file beside `out`. */
mldf_status mldfi_sources_open(struct sources *sources, const char *const *names, size_t count, const char *out,
                               const mldf_reader_options *options, struct input_watch *watch, mldf_error *err);
void mldfi_sources_close(struct sources *sources);
/* Field of a source for a field of the common schema, or SIZE_MAX. */
size_t mldfi_sources_field(const struct sources *sources, const mldf_reader *reader, size_t field);
/* Opens source i if it is closed. */
mldf_status mldfi_sources_reader(struct sources *sources, size_t i, mldf_reader **out, mldf_error *err);
/* No longer needed. */
void mldfi_sources_done(struct sources *sources, size_t i);

#endif
