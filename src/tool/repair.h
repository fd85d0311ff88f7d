/* repair from the inside.
 *
 *   repair.c          puts a file right in place, and says what it cannot put right
 *   repair_open.c     the best way into a damaged file
 *   repair_sections.c what its sections are still worth: checksums, validity, card; what is lost with them
 *   repair_keys.c     which of its keys are whole
 *   repair_carve.c    the values that show where they end, of samples whose rows are cut off
 *   repair_former.c   tables of former states among those values
 *   repair_salvage.c  the samples that are whole, written into a new file */
#ifndef MLDF_TOOL_REPAIR_H
#define MLDF_TOOL_REPAIR_H

#include "mldf/tool.h"
#include "reader/reader.h"

/* Samples whose rows are cut off, after those whose rows are left or that a former state has: repair_carve.c. */
struct repair_rest {
    uint64_t first, total; /* samples first .. total - 1; total 0: there are none, or none can be found */
    uint64_t from, end;    /* their payloads are in these bytes of the file */
    uint64_t rows;         /* the rows of a former state, which say where payloads are; 0: none are among these bytes */
};

struct rescue {
    const mldf_repair_options *options;
    mldf_repair_result *result;
    mldf_reader *reader;
    mldf_schema *schema; /* of the new file */
    mldf_writer *writer;
    bool damaged; /* the file did not open as it should */
    bool
        descriptors_damaged; /* ... since the descriptors do not have their checksum; in the state whose footer is here: */
    uint64_t descriptors_state; /* byte of the footer */
    uint64_t later_samples;     /* samples of the newest state that is known of; why_later: why it cannot be read */
    mldf_error why_later;
    bool rowless; /* all rows are cut off: repair_carve.c */
    struct repair_rest rest;
    bool unchecked;    /* checksums of the file are themselves damaged */
    bool keys;         /* keys go along */
    uint8_t *bad_keys; /* a bit for each sample; NULL: none is bad */
    bool *doubted;     /* a flag for each field; see mldf_reader */
    uint64_t *lost;    /* samples that were not submitted to the writer, ascending */
    size_t lost_count, lost_capacity;
    double last_report;
};

static inline bool mldfi_is_damage(mldf_status status) {
    return status <= MLDF_E_MAGIC || status == MLDF_E_LIMIT;
}

/* The footer that the header in these 64 bytes leads to through its directory: 0 when there is no directory there. */
mldf_status mldfi_repair_implied_footer(const struct os_file *file, uint64_t size,
                                        const uint8_t header[FORMAT_HEADER_BYTES], uint64_t *at, mldf_error *err);
/* Is there a valid footer at this byte? */
mldf_status mldfi_repair_footer(const struct os_file *file, uint64_t size, uint64_t at, struct footer *footer,
                                bool *valid, mldf_error *err);
/* Options for opening a file that may change under a failing disk: positional reads, structure alone without a key. */
mldf_reader_options mldfi_repair_reader_options(const mldf_repair_options *options);
/* repair_descriptors.c: opens a file whose descriptors have the checksum of another spelling; *table is that spelling. *out is NULL, without
 * an error, for any other file. */
mldf_status mldfi_repair_open_respelled(const char *path, const mldf_reader_options *options, mldf_reader **out,
                                        mldf_buffer *table, mldf_error *err);
/* Writes the descriptors of such a file in that spelling. *done: now it opens. */
mldf_status mldfi_repair_descriptors(const char *path, const struct os_file *file, const mldf_reader_options *options,
                                     bool *done, mldf_error *err);

/* rescue->reader, in the best way there is. */
mldf_status mldfi_repair_open(struct rescue *rescue, const char *path, mldf_error *err);
/* Looks at the sections that the reader has found: sets keys, doubted, unchecked and the losses in the result. */
mldf_status mldfi_repair_sections(struct rescue *rescue, mldf_error *err);
/* Sets keys and bad_keys. whole: section 6 has its CRC. */
mldf_status mldfi_repair_keys(struct rescue *rescue, bool whole, mldf_error *err);
/* Does every payload of a file without rows show where it ends? Otherwise the reason, in words. */
bool mldfi_repair_can_carve(const mldf_reader *reader, char *reason, size_t room);
/* The schema of the new file, with rowless or rest.total. */
mldf_status mldfi_repair_carved_schema(struct rescue *rescue, mldf_error *err);
/* Appends every sample that is found to the writer, and reports the others. */
mldf_status mldfi_repair_carve(struct rescue *rescue, mldf_error *err);
/* Given rest.total and rest.end: can samples be found after those that have rows? Sets rest; total becomes 0 where not one is found. */
mldf_status mldfi_repair_plan_rest(struct rescue *rescue, mldf_error *err);
mldf_status mldfi_repair_carve_rest(struct rescue *rescue, mldf_error *err);
/* The first rows of a former state in bytes from .. end - 1 of the file: those of a state whose sample 0 has these payloads. *rows is 0 where there
 * are none; *hidden: there is a table before them, and its rows cannot be told from payloads. */
mldf_status mldfi_repair_find_former(const mldf_reader *reader, const struct placement *first, uint64_t from,
                                     uint64_t end, uint64_t *rows, bool *hidden, mldf_error *err);
/* Does this row say that the sample's payloads are at these places? */
bool mldfi_repair_row_says(const mldf_reader *reader, const uint8_t *row, const struct placement *places);
/* Progress; MLDF_E_CANCELLED. */
mldf_status mldfi_repair_tick(struct rescue *rescue, uint64_t done, mldf_error *err);
/* Samples from .. to - 1 are lost, for one reason: one report. */
void mldfi_repair_lost_range(struct rescue *rescue, uint64_t from, uint64_t to, mldf_error *why);
/* What was done and what was lost, in words, and whether anything was. */
void mldfi_repair_describe(const struct rescue *rescue);
mldf_status mldfi_repair_into(const char *path, const char *out, const mldf_repair_options *options,
                              mldf_repair_result *result, mldf_error *err);

#endif
