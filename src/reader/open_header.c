/* Which header counts: the one in front, or its copy in a footer.
 *
 *     prefix ── O1-O5 ── front header = footer that it leads to? ──yes── O14 ...
 *                                 │ no
 *                        valid footer at the very end? ──yes── its copy of the header ── O14 ...
 *                                 │ no
 *                        unfinished, 1.0, cut or damaged: O8-O13
 *
 * open.c has the whole sequence; open_tables.c comes next. */
#include <inttypes.h>

#include "reader/open.h"
#include "util/bytes.h"
#include "util/error.h"

static bool all_zero(const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

mldf_status mldfi_open_prefix(struct opening *opening) {
    const mldf_reader *reader = opening->reader;
    uint64_t size = reader->physical_bytes;
    uint8_t prefix[FORMAT_PREFIX_BYTES];
    struct header front;
    mldf_error *err = opening->err;
    size_t have = size < sizeof prefix ? (size_t)size : sizeof prefix;
    size_t magic = have < FORMAT_MAGIC_BYTES ? have : (size_t)FORMAT_MAGIC_BYTES;
    TRY(mldfi_reader_copy(reader, 0, prefix, have, err));
    if (memcmp(prefix, mldfi_magic, magic) != 0)
        return mldfi_reader_fail(reader, err, MLDF_E_MAGIC, 0,
                                 "not an MLDF file: its first bytes are not the magic number");
    if (have < sizeof prefix)
        return mldfi_reader_fail(reader, err, MLDF_E_TRUNCATED, size,
                                 "the file ends after %" PRIu64
                                 " bytes, inside its %d-byte prefix; nothing in it can be saved",
                                 size, (int)FORMAT_PREFIX_BYTES);
    memcpy(opening->front, prefix + FORMAT_HEADER_OFFSET, FORMAT_HEADER_BYTES);
    opening->front_read = true;
    if (all_zero(opening->front, FORMAT_HEADER_BYTES))
        return MLDF_OK;
    mldfi_header_load(opening->front, &front);
    mldf_status status = mldfi_header_check_version(&front, FORMAT_HEADER_OFFSET, err);
    return status < 0 ? mldfi_reader_name_error(reader, err, status) : MLDF_OK;
}

struct pointers {
    bool all_zero, all_inside;
    uint64_t largest;
};

static struct pointers look_at_pointers(const struct header *header, uint64_t size) {
    const uint64_t list[5] = {header->field_desc_ptr, header->metadata_ptr, header->data_ptr, header->alloc_table_ptr,
                              header->directory_ptr};
    struct pointers seen = {true, true, 0};
    for (size_t i = 0; i < 5; i++) {
        seen.all_zero = seen.all_zero && list[i] == 0;
        seen.all_inside = seen.all_inside && list[i] < size;
        if (list[i] > seen.largest)
            seen.largest = list[i];
    }
    return seen;
}

/* Is there a valid footer at this byte? 1: yes, 0: no, < 0: the bytes could not be read. */
static int footer_at(struct opening *opening, uint64_t at, struct footer *footer) {
    uint8_t bytes[FORMAT_FOOTER_BYTES];
    if (at < FORMAT_PREFIX_BYTES || !mldfi_range_inside(at, FORMAT_FOOTER_BYTES, opening->reader->physical_bytes))
        return 0;
    TRY(mldfi_reader_copy(opening->reader, at, bytes, sizeof bytes, opening->err));
    return mldfi_footer_decode(bytes, footer) && footer->file_size == at + FORMAT_FOOTER_BYTES;
}

/* Where the footer stands that this header leads to. 0: nowhere, and nothing is wrong with reading. */
static mldf_status implied_footer(struct opening *opening, const struct header *header, uint64_t *at) {
    const mldf_reader *reader = opening->reader;
    uint8_t head[FORMAT_DIRECTORY_HEAD_BYTES];
    uint64_t directory = header->directory_ptr;
    *at = 0;
    if (header->version_minor < 1 || directory < FORMAT_PREFIX_BYTES || directory % 8 != 0 ||
        !mldfi_range_inside(directory, sizeof head, reader->physical_bytes))
        return MLDF_OK;
    TRY(mldfi_reader_copy(reader, directory, head, sizeof head, opening->err));
    mldf_error none;
    uint32_t count, crc;
    if (mldfi_directory_head_decode(head, directory, &count, &crc, &none) == MLDF_OK)
        *at = directory + sizeof head + (uint64_t)count * FORMAT_DIRECTORY_ENTRY_BYTES;
    return MLDF_OK;
}

static void use_header(struct opening *opening, const uint8_t bytes[FORMAT_HEADER_BYTES], uint64_t header_at,
                       uint64_t end, const struct footer *footer) {
    mldf_reader *reader = opening->reader;
    memcpy(opening->header_bytes, bytes, FORMAT_HEADER_BYTES);
    mldfi_header_load(bytes, &reader->header);
    opening->header_at = header_at;
    reader->end = end;
    if (footer) {
        reader->footer_ptr = end - FORMAT_FOOTER_BYTES;
        reader->generation = footer->generation;
    }
}

/* O11-O13: the front header leads nowhere; say why. */
static mldf_status explain_front(struct opening *opening, const struct header *front) {
    const mldf_reader *reader = opening->reader;
    mldf_error *err = opening->err;
    uint64_t size = reader->physical_bytes, directory = front->directory_ptr, at;
    uint8_t bytes[FORMAT_FOOTER_BYTES];
    struct footer footer;
    if (directory < FORMAT_PREFIX_BYTES || directory % 8 != 0)
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, FORMAT_HEADER_OFFSET + 56,
                                 "the header says that the directory is at byte %" PRIu64 ", which cannot be",
                                 directory);
    if (!mldfi_range_inside(directory, FORMAT_DIRECTORY_HEAD_BYTES, size))
        return mldfi_error_advise(err,
                                  mldfi_reader_fail(reader, err, MLDF_E_TRUNCATED, size,
                                                    "the file ends at byte %" PRIu64 ", inside its directory", size),
                                  "`mldf repair -o OUT` saves the samples that are whole");
    mldf_status status = mldfi_reader_copy(reader, directory, bytes, FORMAT_DIRECTORY_HEAD_BYTES, err);
    if (status < 0)
        return status;
    if (memcmp(bytes, mldfi_directory_magic, FORMAT_DIRECTORY_MAGIC_BYTES) != 0)
        return mldfi_error_advise(err,
                                  mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, directory,
                                                    "no directory at byte %" PRIu64 ", where the header says it is",
                                                    directory),
                                  "`mldf repair` may help");
    uint32_t count = mldfi_load_u32(bytes + 8);
    if (count > FORMAT_MAX_SECTIONS)
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, directory + 8, "a directory of %" PRIu32 " sections",
                                 count);
    at = directory + FORMAT_DIRECTORY_HEAD_BYTES + (uint64_t)count * FORMAT_DIRECTORY_ENTRY_BYTES;
    if (!mldfi_range_inside(at, FORMAT_FOOTER_BYTES, size))
        return mldfi_error_advise(err,
                                  mldfi_reader_fail(reader, err, MLDF_E_TRUNCATED, size,
                                                    "the file ends at byte %" PRIu64 ", before its footer does", size),
                                  "`mldf repair` puts the footer back if the directory is whole");
    if ((status = mldfi_reader_copy(reader, at, bytes, sizeof bytes, err)) < 0)
        return status;
    if (memcmp(bytes + 80, mldfi_magic, FORMAT_MAGIC_BYTES) != 0 || !all_zero(bytes + 89, 7))
        return mldfi_error_advise(err,
                                  mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, at + 80,
                                                    "no footer at byte %" PRIu64 ", after the directory", at),
                                  "`mldf repair` puts it back");
    if (!mldfi_footer_decode(bytes, &footer))
        return mldfi_error_advise(
            err,
            mldfi_reader_fail(reader, err, MLDF_E_CHECKSUM, at + 76, "the footer at byte %" PRIu64 " is damaged", at),
            "`mldf repair` puts it back");
    if (footer.file_size != at + FORMAT_FOOTER_BYTES)
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, at + 64,
                                 "the footer at byte %" PRIu64 " says that the file has %" PRIu64 " bytes", at,
                                 footer.file_size);
    size_t i = 0;
    while (i < FORMAT_HEADER_BYTES - 1 && footer.header[i] == opening->front[i])
        i++;
    return mldfi_error_advise(err,
                              mldfi_reader_fail(reader, err, MLDF_E_CORRUPT, FORMAT_HEADER_OFFSET + i,
                                                "the header differs from its copy in the footer at byte %" PRIu64 "",
                                                at),
                              "`mldf repair` puts it back");
}

mldf_status mldfi_open_choose(struct opening *opening) {
    mldf_reader *reader = opening->reader;
    uint64_t size = reader->physical_bytes, at;
    struct header front;
    struct footer footer;
    mldfi_header_load(opening->front, &front);
    TRY(implied_footer(opening, &front, &at));
    int found = at ? footer_at(opening, at, &footer) : 0;
    if (found < 0)
        return (mldf_status)found;
    if (found && memcmp(footer.header, opening->front, FORMAT_HEADER_BYTES) == 0) {
        use_header(opening, opening->front, FORMAT_HEADER_OFFSET, at + FORMAT_FOOTER_BYTES, &footer);
        return MLDF_OK;
    }
    struct pointers seen = look_at_pointers(&front, size);
    at = size >= FORMAT_FOOTER_BYTES ? size - FORMAT_FOOTER_BYTES : 0;
    if ((found = footer_at(opening, at, &footer)) < 0)
        return (mldf_status)found;
    if (found && (seen.all_zero || seen.all_inside)) {
        use_header(opening, footer.header, at, size, &footer);
        reader->header_recovered = true;
        reader->streamed = seen.all_zero;
        return MLDF_OK;
    }
    if (seen.all_zero)
        return mldfi_reader_fail(
            reader, opening->err, MLDF_E_UNFINISHED, FORMAT_HEADER_OFFSET + 24,
            "writing this file was never finished: its header points nowhere and no footer ends it; "
            "write it again");
    if (front.version_minor == 0 && front.directory_ptr == 0 && !found) {
        use_header(opening, opening->front, FORMAT_HEADER_OFFSET, size, NULL);
        reader->draft = true;
        return MLDF_OK;
    }
    if (!seen.all_inside && front.num_samples && front.metadata_ptr >= size)
        return mldfi_error_advise(opening->err,
                                  mldfi_reader_fail(reader, opening->err, MLDF_E_TRUNCATED, size,
                                                    "the file has %" PRIu64
                                                    " bytes: it was cut before its rows, which began at byte %" PRIu64
                                                    " and say where each sample is",
                                                    size, front.metadata_ptr),
                                  "`mldf repair -o OUT` saves an older state, or values that show where they end");
    if (!seen.all_inside)
        return mldfi_error_advise(opening->err,
                                  mldfi_reader_fail(reader, opening->err, MLDF_E_TRUNCATED, size,
                                                    "the file has %" PRIu64
                                                    " bytes, but its header points to byte %" PRIu64 ": it was cut",
                                                    size, seen.largest),
                                  "`mldf repair -o OUT` saves the samples that are whole");
    return explain_front(opening, &front);
}

mldf_status mldfi_open_check(struct opening *opening) {
    const mldf_reader *reader = opening->reader;
    const struct header *header = &reader->header;
    mldf_status status = mldfi_header_check(header, opening->header_at, opening->err);
    if (status < 0)
        return mldfi_reader_name_error(reader, opening->err, status);
    if (header->data_ptr < FORMAT_PREFIX_BYTES || header->data_ptr > reader->end)
        return mldfi_reader_fail(reader, opening->err, MLDF_E_CORRUPT, opening->header_at + 40,
                                 "the data region begins at byte %" PRIu64 " of a file of %" PRIu64 " bytes",
                                 header->data_ptr, reader->end);
    return MLDF_OK;
}

/* Where the footer belongs, whatever stands there now: behind the directory. */
static mldf_status place_footer(struct opening *opening) {
    mldf_reader *reader = opening->reader;
    uint8_t head[FORMAT_DIRECTORY_HEAD_BYTES];
    uint64_t at = reader->header.directory_ptr, end = reader->physical_bytes;
    if (!mldfi_range_inside(at, sizeof head, end))
        return mldfi_reader_fail(reader, opening->err, MLDF_E_TRUNCATED, FORMAT_HEADER_OFFSET + 56,
                                 "the directory at byte %" PRIu64 " passes the end of the file at %" PRIu64, at, end);
    TRY(mldfi_reader_copy(reader, at, head, sizeof head, opening->err));
    uint64_t bytes = sizeof head + (uint64_t)FORMAT_DIRECTORY_ENTRY_BYTES * mldfi_load_u32(head + 8);
    if (!mldfi_range_inside(at, bytes, end))
        return mldfi_reader_fail(reader, opening->err, MLDF_E_TRUNCATED, at,
                                 "the directory's entries pass the end of the file at %" PRIu64, end);
    reader->footer_ptr = mldfi_align_up(at + bytes, 8);
    return MLDF_OK;
}

mldf_status mldfi_open_salvage(struct opening *opening, const struct salvage *salvage) {
    mldf_reader *reader = opening->reader;
    struct footer footer;
    uint8_t front[FORMAT_PREFIX_BYTES];
    mldf_status status;
    if (salvage->footer_at) {
        int found = footer_at(opening, salvage->footer_at, &footer);
        if (found < 0)
            return (mldf_status)found;
        if (!found)
            return mldfi_reader_fail(reader, opening->err, MLDF_E_CORRUPT, salvage->footer_at,
                                     "no valid footer at byte %" PRIu64, salvage->footer_at);
        use_header(opening, footer.header, salvage->footer_at, salvage->footer_at + FORMAT_FOOTER_BYTES, &footer);
        reader->header_recovered = true;
        return MLDF_OK;
    }
    if ((status = mldfi_reader_copy(reader, 0, front, sizeof front, opening->err)) < 0)
        return status;
    use_header(opening, front + FORMAT_HEADER_OFFSET, FORMAT_HEADER_OFFSET, reader->physical_bytes, NULL);
    return salvage->bare ? MLDF_OK : place_footer(opening);
}
