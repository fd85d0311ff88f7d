/* What the steps of opening share. open.c has their sequence, open_header.c chooses the header, open_tables.c reads directory, tables and descriptors,
 * open_sections.c checks the other sections and binds the schema, open_draft.c does the same for a 1.0 file. */
#ifndef MLDF_READER_OPEN_H
#define MLDF_READER_OPEN_H

#include "reader/reader.h"

struct opening {
    mldf_reader *reader;
    const mldf_secret *secret;
    bool without_key;
    bool any_descriptors;               /* repair: their checksums do not count */
    bool lenient;                       /* repair: a section that is damaged counts as missing */
    bool trust_descriptors, rowless;    /* repair: see struct salvage */
    uint8_t front[FORMAT_HEADER_BYTES]; /* bytes 9-72 as they were when opening began */
    bool front_read;
    uint64_t header_at;                        /* H of the specification */
    uint8_t header_bytes[FORMAT_HEADER_BYTES]; /* the header that is used */
    uint64_t tables_entry;                     /* directory entry of section 1 */
    struct descriptor *descriptors;
    size_t payload_count, nullable_count;
    size_t long_count; /* entries of section 10 */
    const struct section *long_arguments;
    mldf_buffer scratch;
    mldf_error *err;
};

enum { OPEN_LONG_HEAD = 8, OPEN_LONG_ENTRY = 24 };

/* View of a range with the scratch buffer emptied first: the former view is gone. */
mldf_status mldfi_open_view(struct opening *opening, uint64_t offset, uint64_t bytes, const uint8_t **out);
/* Byte of directory entry i. */
static inline uint64_t mldfi_entry_at(const mldf_reader *reader, size_t index) {
    return reader->header.directory_ptr + FORMAT_DIRECTORY_HEAD_BYTES + (uint64_t)index * FORMAT_DIRECTORY_ENTRY_BYTES;
}
/* Byte of descriptor i (1.1). */
static inline uint64_t mldfi_descriptor_at(const mldf_reader *reader, size_t index) {
    return reader->header.field_desc_ptr + (uint64_t)index * FORMAT_DESCRIPTOR_BYTES;
}

mldf_status
mldfi_open_envelope(struct opening *opening); /* S1-S5: a file with encrypted tables becomes a view of what is in it */
mldf_status mldfi_open_prefix(struct opening *opening);      /* O1-O5: the front header into opening->front */
mldf_status mldfi_open_choose(struct opening *opening);      /* O6-O13 */
mldf_status mldfi_open_check(struct opening *opening);       /* O14-O17 */
mldf_status mldfi_open_directory(struct opening *opening);   /* O18-O21 */
mldf_status mldfi_open_tables(struct opening *opening);      /* O22-O25 */
mldf_status mldfi_open_descriptors(struct opening *opening); /* O26-O33 */
mldf_status mldfi_open_sections(struct opening *opening);    /* O34-O35 */
mldf_status mldfi_open_arguments(struct opening *opening);   /* O36 */
mldf_status mldfi_open_encryption(struct opening *opening);  /* O37 */
mldf_status mldfi_open_draft(struct opening *opening);       /* Z1-Z7 */
/* repair's ways in, in place of choose: a footer that the search found, or the front header without a directory. */
mldf_status mldfi_open_salvage(struct opening *opening, const struct salvage *salvage);
mldf_status mldfi_open_bare(struct opening *opening); /* repair: descriptors and rows alone */

#endif
