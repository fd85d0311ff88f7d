/* repair's ways into a damaged file:
 *
 *     as any file  >  by a footer that is still there, damaged sections left out  >  by descriptors and rows alone  >  by the payloads alone
 *
 * where more samples win over more sections. Each footer is a state that the file once had; when only a former one opens, what the
 * newest had beyond it is known to be lost. repair_sections.c comes next. */
#include <inttypes.h>
#include <stdlib.h>

#include "reader/foreign.h"
#include "tool/repair.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { SCAN_CHUNK = 1 << 20 };

/* Keeps the opening that shows more samples. *refused: where and why it did not open. */
static mldf_status try_way(struct rescue *rescue, const char *path, const mldf_reader_options *options,
                           const struct salvage *way, mldf_error *refused, mldf_error *err) {
    mldf_reader *reader = NULL;
    mldf_error why = {.status = MLDF_OK};
    mldf_status status = mldfi_reader_open_salvage(path, options, way, &reader, &why);
    if (status < 0 && !mldfi_is_damage(status)) {
        if (err)
            *err = why;
        return status;
    }
    if (status >= 0 && (!rescue->reader || reader->header.num_samples > rescue->reader->header.num_samples)) {
        mldf_reader_close(rescue->reader);
        rescue->reader = reader;
    } else {
        mldf_reader_close(reader);
    }
    if (refused)
        *refused = why;
    return MLDF_OK;
}

static void note_state(struct rescue *rescue, uint64_t samples, const mldf_error *why) {
    if (samples <= rescue->later_samples)
        return;
    rescue->later_samples = samples;
    rescue->why_later = *why;
}

/* Rows are worth nothing without the descriptors that say what they mean: where those are known to be damaged, another way in would
 * give wrong data. */
static mldf_status try_footer(struct rescue *rescue, const char *path, const mldf_reader_options *options,
                              const struct os_file *file, uint64_t size, uint64_t at, mldf_error *err) {
    const struct salvage whole = {at, false, false, false}, bare = {at, true, false, false};
    mldf_error refused;
    struct footer footer;
    struct header header;
    bool valid;
    mldf_status status = try_way(rescue, path, options, &whole, &refused, err);
    if (status >= 0)
        status = mldfi_repair_footer(file, size, at, &footer, &valid, err);
    if (status < 0)
        return status;
    if (valid) {
        mldfi_header_load(footer.header, &header);
        if (refused.status < 0)
            note_state(rescue, header.num_samples, &refused);
        if (refused.status == MLDF_E_CHECKSUM && refused.offset == header.field_desc_ptr) {
            rescue->descriptors_state = rescue->descriptors_damaged ? rescue->descriptors_state : at;
            rescue->descriptors_damaged = true;
            return MLDF_OK;
        }
    }
    return try_way(rescue, path, options, &bare, NULL, err);
}

/* Looking for a footer may take as long as reading the file does. */
static mldf_status report_scan(struct rescue *rescue, uint64_t done, uint64_t size, mldf_error *err) {
    double now = mldfi_time();
    mldf_progress progress = {"repair: looking for a footer", 0, MLDF_NONE, done, size, 0};
    if (!rescue->options->progress || now - rescue->last_report < 0.05)
        return MLDF_OK;
    rescue->last_report = now;
    if (rescue->options->progress(rescue->options->progress_user, &progress))
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_CANCELLED, "cancelled");
}

/* Footers that appends left behind, the last one first: each is a state that the file once had. Stops at the first that opens. */
static mldf_status scan_footers(struct rescue *rescue, const char *path, const mldf_reader_options *options,
                                const struct os_file *file, uint64_t size, mldf_error *err) {
    uint8_t *chunk = mldfi_alloc(SCAN_CHUNK + FORMAT_FOOTER_BYTES, err);
    mldf_status status = chunk ? MLDF_OK : MLDF_E_MEMORY;
    uint64_t begin = size / SCAN_CHUNK * SCAN_CHUNK;
    for (; status >= 0 && !rescue->reader; begin -= SCAN_CHUNK) {
        uint64_t left = size - begin;
        size_t bytes =
            left < SCAN_CHUNK + FORMAT_FOOTER_BYTES ? (size_t)left : (size_t)(SCAN_CHUNK + FORMAT_FOOTER_BYTES);
        if ((status = mldfi_file_read(file, begin, chunk, bytes, err)) < 0)
            break;
        size_t at = bytes >= FORMAT_FOOTER_BYTES ? (bytes - FORMAT_FOOTER_BYTES) / 8 * 8 + 8 : 0;
        while (at >= 8 && status >= 0 && !rescue->reader) {
            struct footer footer;
            at -= 8;
            if (begin + at < FORMAT_PREFIX_BYTES || memcmp(chunk + at + 80, mldfi_magic, FORMAT_MAGIC_BYTES) != 0 ||
                !mldfi_footer_decode(chunk + at, &footer) || footer.file_size != begin + at + FORMAT_FOOTER_BYTES)
                continue;
            status = try_footer(rescue, path, options, file, size, begin + at, err);
        }
        if (status >= 0)
            status = report_scan(rescue, size - begin, size, err);
        if (begin == 0)
            break;
    }
    free(chunk);
    return status;
}

/* The newest state calls its descriptors damaged, and a former state has the same ones, at the same byte, and finds them whole: then it
 * is the newest state's checksum that is wrong. */
static mldf_status try_former_descriptors(struct rescue *rescue, const char *path, const mldf_reader_options *options,
                                          const struct os_file *file, uint64_t size, mldf_error *err) {
    const struct salvage trusting = {rescue->descriptors_state, false, true, false};
    const mldf_reader *former = rescue->reader;
    struct footer footer;
    struct header header;
    bool valid;
    if (!rescue->descriptors_damaged || !former || former->salvage || !(former->header.flags & FORMAT_FLAG_CHECKSUMMED))
        return MLDF_OK;
    mldf_status status = mldfi_repair_footer(file, size, rescue->descriptors_state, &footer, &valid, err);
    if (status < 0 || !valid)
        return status;
    mldfi_header_load(footer.header, &header);
    if (header.field_desc_ptr != former->header.field_desc_ptr || header.num_fields != former->header.num_fields)
        return MLDF_OK;
    return try_way(rescue, path, options, &trusting, NULL, err);
}

/* A front header that points behind the state that was opened is that of a later one. */
static void note_front(struct rescue *rescue, const uint8_t bytes[FORMAT_HEADER_BYTES]) {
    struct header front;
    mldf_error why;
    mldfi_header_load(bytes, &front);
    if (!rescue->reader || front.version_major != 1 || front.version_minor == 0 ||
        front.directory_ptr < rescue->reader->end || front.metadata_ptr < rescue->reader->end)
        return;
    mldfi_fail_at(&why, MLDF_E_TRUNCATED, FORMAT_HEADER_OFFSET + 8, "what the front header points to cannot be read");
    note_state(rescue, front.num_samples, &why);
}

/* Samples that the front header counts beyond those that were opened: of the same fields, their payloads may be there. */
static void note_rest(struct rescue *rescue, const uint8_t bytes[FORMAT_HEADER_BYTES]) {
    const mldf_reader *reader = rescue->reader;
    struct header front;
    mldfi_header_load(bytes, &front);
    if (!reader || front.version_major != 1 || front.version_minor == 0 ||
        front.num_fields != reader->header.num_fields || front.field_desc_ptr != reader->header.field_desc_ptr ||
        front.data_ptr != reader->header.data_ptr || front.page_size != reader->header.page_size ||
        front.metadata_ptr < front.data_ptr || (!reader->salvage && front.metadata_ptr < reader->end))
        return;
    rescue->rest.total = front.num_samples;
    rescue->rest.end = front.metadata_ptr < reader->physical_bytes ? front.metadata_ptr : reader->physical_bytes;
}

/* The front header with the directory that it points to: with a damaged footer they are still the file's last state. */
static mldf_status try_front(struct rescue *rescue, const char *path, const mldf_reader_options *options,
                             const uint8_t bytes[FORMAT_HEADER_BYTES], mldf_error *err) {
    const struct salvage front = {0, false, false, false};
    mldf_error refused;
    struct header header;
    mldfi_header_load(bytes, &header);
    mldf_status status = try_way(rescue, path, options, &front, &refused, err);
    if (status >= 0 && refused.status == MLDF_E_CHECKSUM && refused.offset == header.field_desc_ptr)
        rescue->descriptors_damaged = true;
    return status;
}

static mldf_status find_way_in(struct rescue *rescue, const char *path, const mldf_reader_options *options,
                               mldf_error *err) {
    const struct salvage bare = {0, true, false, false};
    struct os_file file = OS_FILE_NONE;
    uint64_t size = 0, at = 0;
    uint8_t header[FORMAT_HEADER_BYTES];
    mldf_status status = mldfi_file_open(&file, path, OS_OPEN_READ, err);
    if (status >= 0)
        status = mldfi_file_size(&file, &size, err);
    if (status >= 0 && size >= FORMAT_PREFIX_BYTES) {
        status = mldfi_file_read(&file, FORMAT_HEADER_OFFSET, header, sizeof header, err);
        if (status >= 0)
            status = mldfi_repair_implied_footer(&file, size, header, &at, err);
        if (status >= 0 && at)
            status = try_footer(rescue, path, options, &file, size, at, err);
        if (status >= 0 && !rescue->reader)
            status = try_front(rescue, path, options, header, err);
        if (status >= 0 && !rescue->reader)
            status = scan_footers(rescue, path, options, &file, size, err);
        if (status >= 0)
            status = try_former_descriptors(rescue, path, options, &file, size, err);
        if (status >= 0 && !rescue->descriptors_damaged)
            status = try_way(rescue, path, options, &bare, NULL, err);
        if (status >= 0) {
            note_front(rescue, header);
            note_rest(rescue, header);
        }
    }
    mldfi_file_close(&file);
    return status;
}

/* The rows are cut off. Where every payload shows where it ends, samples can be found by those. */
static mldf_status try_payloads(struct rescue *rescue, const char *path, const mldf_reader_options *options,
                                char *reason, size_t room, mldf_error *err) {
    const struct salvage way = {0, true, false, true};
    mldf_status status = try_way(rescue, path, options, &way, NULL, err);
    if (status < 0 || !rescue->reader)
        return status;
    rescue->rowless = true;
    if (mldfi_repair_can_carve(rescue->reader, reason, room))
        return MLDF_OK;
    mldf_reader_close(rescue->reader);
    rescue->reader = NULL;
    return MLDF_OK;
}

mldf_status mldfi_repair_open(struct rescue *rescue, const char *path, mldf_error *err) {
    mldf_reader_options options = mldfi_repair_reader_options(rescue->options);
    mldf_error why;
    char reason[MLDF_ADVICE_MAX + 1] =
        ""; /* why payloads alone do not help; the command that the advice named has just failed */
    options.context = rescue->options->context;
    options.verify = true;
    options.without_key = false; /* payloads are needed */
    mldf_status first = mldfi_reader_open_native(path, &options, &rescue->reader, &why);
    if (first >= 0)
        return MLDF_OK;
    rescue->damaged = true;
    mldf_buffer table = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    if (first == MLDF_E_CHECKSUM)
        status = mldfi_repair_open_respelled(path, &options, &rescue->reader, &table, err);
    mldf_buffer_free(&table);
    if (status < 0 || rescue->reader)
        return status;
    if (mldfi_is_damage(first) && first != MLDF_E_TAMPERED)
        status = find_way_in(rescue, path, &options, err);
    if (rescue->reader && rescue->reader->salvage && rescue->reader->header.num_samples == 0) {
        mldf_reader_close(rescue->reader); /* descriptors without one row */
        rescue->reader = NULL;
    }
    if (!rescue->reader)
        rescue->rest.total = 0;
    else if (status >= 0)
        status = mldfi_repair_plan_rest(rescue, err);
    if (status >= 0 && !rescue->reader && first == MLDF_E_TRUNCATED)
        status = try_payloads(rescue, path, &options, reason, sizeof reason, err);
    if (status >= 0 && !rescue->reader) {
        if (err)
            *err = why;
        if (mldfi_is_damage(first)) {
            if (err)
                memcpy(err->advice, reason, sizeof reason);
            mldfi_error_prefix(err, "nothing can be saved");
        }
        status = first;
    }
    return status;
}
