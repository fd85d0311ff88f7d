/* repair of samples whose rows are cut off: payloads that show themselves where they end.
 *
 *     data_ptr ──► payload of sample 0, field a · field b · payload of sample 1, field a ...
 *
 * The writer's rule (format/layout.c) says where a payload begins from the sizes before it, so one whose size can be told leads to the next: an image
 * by its own bytes, an array of fixed shape by its arguments, a compressed value by its zstd frame. Each sample that was found is placed again by
 * the rule, and must come out where it was found. What was stored in the rows alone (numbers, labels) is lost.
 *
 *     no row is left     the new file has the fields with payloads (rescue.rowless)
 *     some rows are left, or a former state opens    samples with rows first, then the others, whose other fields are null (rescue.rest) */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/image.h"
#include "codec/zstd.h"
#include "field/type.h"
#include "tool/copy_sample.h"
#include "tool/derive.h"
#include "tool/repair.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum {
    FIRST_LOOK = 1 << 18,
    MOST_LOOK = 1 << 30,
    ALIGN_VIEWABLE = 64,
    ALIGN_OTHER = 8,
    VIEWABLE_BYTES = 1024,
    APPEND_ALIGN = 64
};

struct carver {
    struct rescue *rescue;
    struct placement *places, *rule; /* one for each payload field: where it was found, and where the rule puts it */
    mldf_value *values;              /* a sample of the new file; slots: the field of it that a payload belongs to */
    size_t *slots, fields;
    mldf_buffer *stored, *raw;
    struct zstd_decompressor *zstd;
    uint64_t cursor, end; /* the byte that is looked at next; payloads end before `end` */
    uint64_t rows;        /* of a former state, which must say the same; 0: there are none */
    mldf_buffer row;
};

static bool is_fixed(const mldf_field *info) {
    for (uint32_t i = 0; i < info->ndim; i++)
        if (info->dims[i] < 0)
            return false;
    return info->type_id == MLDF_NDARRAY;
}

/* Can a value be made from its bytes alone, and its size be told? A null and an empty value have no payload: the next one would be taken for
 * theirs. A field alone in its file loses nothing by that but the number of the sample. */
static bool can_carve(const struct schema_field *field, bool alone) {
    const mldf_field *info = &field->info;
    bool image = field->type && field->type->self_describing == FAMILY_IMAGE;
    bool plain = info->type_id == MLDF_JSON || (alone && (info->type_id == MLDF_BYTES || info->type_id == MLDF_TEXT));
    if (info->flags & MLDF_FIELD_NULLABLE)
        return false;
    return image || is_fixed(info) || (plain && (info->flags & MLDF_FIELD_COMPRESSED));
}

static const struct schema_field *payload_field(const mldf_reader *reader, size_t payload) {
    for (size_t f = 0; f < reader->schema->field_count; f++)
        if (reader->schema->fields[f].payload_index == payload)
            return &reader->schema->fields[f];
    return NULL;
}

bool mldfi_repair_can_carve(const mldf_reader *reader, char *reason, size_t room) {
    const mldf_schema *schema = reader->schema;
    if (schema->payload_count == 0)
        (void)snprintf(reason, room, "all values were in the rows");
    for (size_t f = 0; f < schema->field_count; f++) {
        if (schema->fields[f].payload_index == SIZE_MAX || can_carve(&schema->fields[f], schema->payload_count == 1))
            continue;
        (void)snprintf(reason, room, "nothing shows where the values of field %s begin and end",
                       schema->fields[f].name);
        return false;
    }
    return schema->payload_count > 0;
}

/* ---- One payload ----------------------------------------------------------------------------------------------------------- */

/* Bytes of the payload that `data` begins with; 0: not told by so many bytes. */
static uint64_t length_of(const struct schema_field *field, const uint8_t *data, size_t bytes) {
    if (!(field->info.flags & MLDF_FIELD_COMPRESSED)) {
        uint64_t dims[MLDF_MAX_DIMS], all = 0;
        if (!is_fixed(&field->info))
            return mldfi_image_length(data, bytes);
        for (uint32_t i = 0; i < field->info.ndim; i++)
            dims[i] = (uint64_t)field->info.dims[i];
        return mldfi_array_bytes(dims, field->info.ndim, field->info.dtype, &all) && all <= bytes ? all : 0;
    }
    uint64_t raw;
    uint8_t codec;
    if (bytes < MLDFI_PREFIX_BYTES)
        return 0;
    mldfi_prefix_decode(data, &raw, &codec);
    uint64_t left = bytes - MLDFI_PREFIX_BYTES;
    uint64_t body = codec == MLDFI_CODEC_STORED ? raw
                    : codec == MLDFI_CODEC_ZSTD ? mldfi_zstd_frame_bytes(data + MLDFI_PREFIX_BYTES, (size_t)left)
                                                : 0;
    return body > 0 && body <= left ? MLDFI_PREFIX_BYTES + body : 0;
}

/* The stored bytes as the value that they are. */
static mldf_status give_value(struct carver *c, size_t payload, const struct schema_field *field, const uint8_t *data,
                              uint64_t bytes, mldf_error *err) {
    mldf_value *value = &c->values[c->slots[payload]];
    *value = (mldf_value){.kind = MLDF_KIND_BYTES, .data = data, .bytes = bytes};
    if (field->info.flags & MLDF_FIELD_COMPRESSED) {
        uint64_t raw;
        uint8_t codec;
        mldfi_prefix_decode(data, &raw, &codec);
        value->data = data + MLDFI_PREFIX_BYTES;
        value->bytes = raw;
        if (codec == MLDFI_CODEC_ZSTD) {
            uint64_t most = mldfi_decoded_limit(c->rescue->reader->max_decoded, bytes);
            if (raw > most)
                return mldfi_fail(err, MLDF_E_LIMIT, "a value of %" PRIu64 " bytes passes the limit of %" PRIu64, raw,
                                  most);
            c->raw[payload].size = 0;
            mldf_status status = mldf_buffer_reserve(&c->raw[payload], (size_t)raw + 1, err);
            if (status >= 0)
                status =
                    mldfi_zstd_decompress(c->zstd, c->rescue->reader->dictionary, data + MLDFI_PREFIX_BYTES,
                                          (size_t)(bytes - MLDFI_PREFIX_BYTES), c->raw[payload].data, (size_t)raw, err);
            if (status < 0)
                return status;
            value->data = c->raw[payload].data;
        }
    }
    if (field->info.type_id == MLDF_JSON || field->info.type_id == MLDF_TEXT)
        value->kind = MLDF_KIND_TEXT;
    if (is_fixed(&field->info)) {
        value->kind = MLDF_KIND_ARRAY;
        value->dtype = field->info.dtype;
        value->ndim = field->info.ndim;
        for (uint32_t i = 0; i < value->ndim; i++)
            value->dims[i] = (uint64_t)field->info.dims[i];
    }
    return MLDF_OK;
}

/* The payload at places[payload].ptr. MLDF_END: none is told there. */
static mldf_status carve_payload(struct carver *c, size_t payload, const struct schema_field *field, mldf_error *err) {
    const mldf_reader *reader = c->rescue->reader;
    struct placement *place = &c->places[payload];
    uint64_t left = place->ptr < c->end ? c->end - place->ptr : 0;
    left = left < MOST_LOOK ? left : MOST_LOOK;
    if (left == 0)
        return MLDF_END;
    for (uint64_t look = FIRST_LOOK;; look = look > left / 4 ? left : look * 4) {
        uint64_t bytes = look < left ? look : left;
        const uint8_t *data;
        c->stored[payload].size = 0;
        mldf_status status = mldfi_reader_view(reader, place->ptr, bytes, &c->stored[payload], &data, err);
        if (status < 0)
            return status;
        place->bytes = length_of(field, data, (size_t)bytes);
        if (place->bytes) {
            mldf_error why;
            status = give_value(c, payload, field, data, place->bytes, &why);
            if (status == MLDF_E_MEMORY && err)
                *err = why;
            return status < 0 && status != MLDF_E_MEMORY ? MLDF_END : status;
        }
        /* Bytes that are no image do not become one by more of them. */
        if (bytes == left || (!(field->info.flags & MLDF_FIELD_COMPRESSED) && !is_fixed(&field->info) &&
                              !mldfi_image_detect(data, (size_t)bytes)))
            return MLDF_END;
    }
}

/* ---- One sample ------------------------------------------------------------------------------------------------------------ */

/* Where the rule puts a payload of this field, depending on whether its value will be viewed in place. */
static void align_payload(struct placement *place, const struct schema_field *field, const mldf_value *value) {
    bool array = is_fixed(&field->info), compressed = (field->info.flags & MLDF_FIELD_COMPRESSED) != 0;
    bool stored = !compressed || place->bytes == value->bytes + MLDFI_PREFIX_BYTES;
    bool viewable = array && stored && value->bytes >= VIEWABLE_BYTES;
    place->align = viewable ? ALIGN_VIEWABLE : ALIGN_OTHER;
    place->lead = viewable && compressed ? MLDFI_PREFIX_BYTES : 0;
}

/* The sample whose payloads begin at `from`. MLDF_END: none is there, or not where the rule would have put it. */
static mldf_status carve_at(struct carver *c, uint64_t from, mldf_error *err) {
    const mldf_reader *reader = c->rescue->reader;
    size_t count = reader->schema->payload_count;
    uint64_t cursor = from;
    for (size_t p = 0; p < count; p++) {
        const struct schema_field *field = payload_field(reader, p);
        const bool array = is_fixed(&field->info), compressed = (field->info.flags & MLDF_FIELD_COMPRESSED) != 0;
        mldf_status status = MLDF_END;
        /* An array that is viewed in place is aligned to more; whether it is, its size says, which is known when it was found. */
        for (int viewable = array; viewable >= 0 && status == MLDF_END; viewable--) {
            uint32_t lead = viewable && compressed ? MLDFI_PREFIX_BYTES : 0;
            c->places[p].ptr = mldfi_align_up(cursor + lead, viewable ? ALIGN_VIEWABLE : ALIGN_OTHER) - lead;
            status = carve_payload(c, p, field, err);
            if (status != MLDF_OK)
                continue;
            align_payload(&c->places[p], field, &c->values[c->slots[p]]);
            if ((c->places[p].align == ALIGN_VIEWABLE) != (viewable != 0))
                status = MLDF_END;
        }
        if (status != MLDF_OK)
            return status;
        cursor = c->places[p].ptr + c->places[p].bytes;
        c->rule[p] = c->places[p];
    }
    uint64_t end = c->cursor;
    if (!mldfi_place_sample(c->rule, count, reader->header.page_size, &end))
        return MLDF_END;
    for (size_t p = 0; p < count; p++)
        if (c->rule[p].ptr != c->places[p].ptr)
            return MLDF_END;
    c->cursor = end;
    return MLDF_OK;
}

/* The sample that follows: on the same page, or at the beginning of the next one. */
static mldf_status carve_next(struct carver *c, mldf_error *err) {
    mldf_status status = carve_at(c, c->cursor, err);
    if (status == MLDF_END)
        status = carve_at(c, mldfi_align_up(c->cursor, c->rescue->reader->header.page_size), err);
    return status;
}

static void close_carver(struct carver *c) {
    size_t count = c->rescue->reader->schema->payload_count;
    for (size_t p = 0; p < count; p++) {
        if (c->stored)
            mldf_buffer_free(&c->stored[p]);
        if (c->raw)
            mldf_buffer_free(&c->raw[p]);
    }
    mldfi_zstd_decompressor_free(c->zstd);
    mldf_buffer_free(&c->row);
    free(c->places);
    free(c->rule);
    free(c->values);
    free(c->slots);
    free(c->stored);
    free(c->raw);
}

/* Closed by close_carver, whether it was opened or not. */
static mldf_status open_carver(struct carver *c, struct rescue *rescue, uint64_t from, uint64_t end, mldf_error *err) {
    const mldf_schema *schema = rescue->reader->schema;
    size_t count = schema->payload_count, fields = rescue->rowless ? count : schema->field_count, payload = 0;
    *c = (struct carver){.rescue = rescue,
                         .places = mldfi_alloc_zero(count, sizeof *c->places, err),
                         .rule = mldfi_alloc_zero(count, sizeof *c->rule, err),
                         .values = mldfi_alloc_zero(fields, sizeof *c->values, err),
                         .slots = mldfi_alloc_zero(count, sizeof *c->slots, err),
                         .fields = fields,
                         .stored = mldfi_alloc_zero(count, sizeof *c->stored, err),
                         .raw = mldfi_alloc_zero(count, sizeof *c->raw, err),
                         .cursor = from,
                         .end = end};
    if (!c->places || !c->rule || !c->values || !c->slots || !c->stored || !c->raw)
        return MLDF_E_MEMORY;
    for (size_t f = 0; f < fields; f++)
        c->values[f].kind = MLDF_KIND_NULL;
    for (size_t f = 0; f < schema->field_count; f++)
        if (schema->fields[f].payload_index != SIZE_MAX) {
            c->slots[schema->fields[f].payload_index] = rescue->rowless ? payload : f;
            payload++;
        }
    return mldfi_zstd_decompressor_new(&c->zstd, err);
}

/* ---- Former states --------------------------------------------------------------------------------------------------------- */

/* Would any bytes do for a sample? */
static bool shows_nothing(const mldf_reader *reader) {
    for (size_t f = 0; f < reader->schema->field_count; f++) {
        const struct schema_field *field = &reader->schema->fields[f];
        if (field->payload_index != SIZE_MAX &&
            (!is_fixed(&field->info) || (field->info.flags & MLDF_FIELD_COMPRESSED)))
            return false;
    }
    return true;
}

/* The payloads of sample 0, by its row or by the bytes where payloads begin. MLDF_END: they are not known. */
static mldf_status find_first(struct carver *c, mldf_error *err) {
    const mldf_reader *reader = c->rescue->reader;
    const uint8_t *row;
    if (c->rescue->rowless)
        return carve_next(c, err);
    c->row.size = 0;
    if (mldfi_reader_row(reader, 0, &c->row, &row, NULL) < 0)
        return MLDF_END;
    for (size_t p = 0; p < reader->schema->payload_count; p++) {
        const struct schema_field *field = payload_field(reader, p);
        mldfi_record_payload(field, row + field->info.row_offset, &c->places[p].ptr, &c->places[p].bytes);
    }
    return MLDF_OK;
}

/* Where tables of a former state are among the payloads, those end before its rows. MLDF_END: its rows were not found. */
static mldf_status stop_at_former(struct rescue *rescue, uint64_t from, uint64_t *end, uint64_t *rows,
                                  mldf_error *err) {
    struct carver c;
    bool hidden = false;
    *rows = 0;
    if (!shows_nothing(rescue->reader) || from >= *end)
        return MLDF_OK;
    mldf_status status = open_carver(&c, rescue, from, *end, err);
    if (status >= 0)
        status = find_first(&c, err);
    if (status == MLDF_OK)
        status = mldfi_repair_find_former(rescue->reader, c.places, from, *end, rows, &hidden, err);
    close_carver(&c);
    if (status == MLDF_END && rescue->rowless)
        return MLDF_OK; /* there is no sample 0: carve_range says so */
    *end = *rows ? *rows : *end;
    return status == MLDF_OK && hidden ? MLDF_END : status;
}

/* Do the rows of the former state say what was found? */
static mldf_status check_former(struct carver *c, uint64_t sample, mldf_error *err) {
    const mldf_reader *reader = c->rescue->reader;
    const uint8_t *row;
    if (!c->rows)
        return MLDF_OK;
    if (sample >= (reader->end - c->rows) / reader->row_bytes)
        return MLDF_END;
    c->row.size = 0;
    TRY(mldfi_reader_view(reader, c->rows + sample * reader->row_bytes, reader->row_bytes, &c->row, &row, err));
    return mldfi_repair_row_says(reader, row, c->places) ? MLDF_OK : MLDF_END;
}

/* ---- All of them ----------------------------------------------------------------------------------------------------------- */

/* Samples first .. total - 1, as far as they are found: *found is the first that is not. */
static mldf_status carve_samples(struct carver *c, uint64_t first, uint64_t total, uint64_t *found, mldf_error *err) {
    struct rescue *rescue = c->rescue;
    mldf_status status = MLDF_OK;
    for (*found = first; *found < total; (*found)++) {
        status = carve_next(c, err);
        if (status == MLDF_OK)
            status = check_former(c, *found, err);
        if (status != MLDF_OK)
            break;
        status = mldf_writer_append(rescue->writer, c->values, c->fields, NULL, 0, err);
        if (status >= 0)
            status = mldfi_repair_tick(rescue, *found, err);
        if (status < 0)
            break;
    }
    return status < 0 ? status : MLDF_OK;
}

static mldf_status carve_range(struct rescue *rescue, uint64_t from, uint64_t end, uint64_t rows, uint64_t first,
                               uint64_t total, mldf_error *err) {
    const mldf_reader *reader = rescue->reader;
    uint64_t found = first;
    mldf_error why;
    struct carver c;
    mldf_status status = open_carver(&c, rescue, from, end, err);
    c.rows = rows;
    if (status >= 0)
        status = carve_samples(&c, first, total, &found, err);
    if (status >= 0 && found == 0 && total > 0)
        status = mldfi_reader_fail(
            reader, err, MLDF_E_TRUNCATED, c.cursor,
            "nothing can be saved: the rows are cut off, and no whole value begins at byte %" PRIu64, c.cursor);
    if (status >= 0 && found < total) {
        mldfi_reader_fail(reader, &why, MLDF_E_TRUNCATED, c.cursor,
                          "samples %" PRIu64 " to %" PRIu64 ": no whole values follow byte %" PRIu64 " of the %" PRIu64
                          " that are left",
                          found, total - 1, c.cursor, reader->physical_bytes);
        mldfi_repair_lost_range(rescue, found, total, &why);
    }
    rescue->result->lost.values += (found - first) * (reader->schema->field_count - reader->schema->payload_count);
    close_carver(&c);
    return status;
}

mldf_status mldfi_repair_carve(struct rescue *rescue, mldf_error *err) {
    const mldf_reader *reader = rescue->reader;
    uint64_t from = reader->header.data_ptr, end = reader->end, rows;
    mldf_status status = stop_at_former(rescue, from, &end, &rows, err);
    if (status == MLDF_END && end > from)
        return mldfi_reader_fail(reader, err, MLDF_E_TRUNCATED, from,
                                 "nothing can be saved: the rows are cut off, and the values after byte %" PRIu64
                                 " cannot be told from tables of a former state of the file",
                                 from);
    return status < 0 ? status : carve_range(rescue, from, end, rows, 0, reader->promised_samples, err);
}

/* ---- After the rows that are left ------------------------------------------------------------------------------------------ */

/* Where the payloads of the last row end; 0: it does not say. */
static uint64_t end_of_last_row(const mldf_reader *reader) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    const uint8_t *row;
    uint64_t end = 0;
    bool whole = mldfi_reader_row(reader, reader->header.num_samples - 1, &scratch, &row, NULL) >= 0;
    for (size_t f = 0; whole && f < reader->schema->field_count; f++) {
        const struct schema_field *field = &reader->schema->fields[f];
        uint64_t ptr, bytes;
        if (field->payload_index == SIZE_MAX)
            continue;
        mldfi_record_payload(field, row + field->info.row_offset, &ptr, &bytes);
        whole = ptr >= reader->header.data_ptr && mldfi_range_inside(ptr, bytes, reader->end);
        end = whole && ptr + bytes > end ? ptr + bytes : end;
    }
    mldf_buffer_free(&scratch);
    return whole ? end : 0;
}

/* The first sample of the rest. MLDF_END: it is not found. */
static mldf_status look_for_one(struct rescue *rescue, mldf_error *err) {
    const struct repair_rest *rest = &rescue->rest;
    struct carver c;
    mldf_status status = open_carver(&c, rescue, rest->from, rest->end, err);
    c.rows = rest->rows;
    if (status >= 0)
        status = carve_next(&c, err);
    if (status == MLDF_OK)
        status = check_former(&c, rest->first, err);
    close_carver(&c);
    return status;
}

mldf_status mldfi_repair_plan_rest(struct rescue *rescue, mldf_error *err) {
    mldf_reader *reader = rescue->reader;
    struct repair_rest *rest = &rescue->rest;
    char reason[MLDF_ADVICE_MAX + 1];
    rest->first = reader->header.num_samples;
    if (rest->total <= rest->first || rest->first == 0 || reader->draft || reader->encrypted || reader->foreign.ops ||
        (reader->keys && !reader->salvage) || !mldfi_repair_can_carve(reader, reason, sizeof reason)) {
        rest->total = 0;
        return MLDF_OK;
    }
    rest->from = reader->salvage ? end_of_last_row(reader) : mldfi_align_up(reader->end, APPEND_ALIGN);
    uint64_t end = reader->end;
    reader->end = reader->physical_bytes; /* a former state ends before what was appended to it */
    mldf_status status = rest->from ? stop_at_former(rescue, rest->from, &rest->end, &rest->rows, err) : MLDF_END;
    if (status == MLDF_OK)
        status = look_for_one(rescue, err);
    reader->end = end;
    if (status != MLDF_OK)
        rest->total = 0;
    return status < 0 ? status : MLDF_OK;
}

mldf_status mldfi_repair_carve_rest(struct rescue *rescue, mldf_error *err) {
    const struct repair_rest *rest = &rescue->rest;
    uint64_t end = rescue->reader->end;
    rescue->reader->end = rescue->reader->physical_bytes;
    mldf_status status = carve_range(rescue, rest->from, rest->end, rest->rows, rest->first, rest->total, err);
    rescue->reader->end = end;
    return status;
}

/* ---- The schema ------------------------------------------------------------------------------------------------------------ */

/* All fields, where those without payloads may be null. */
static mldf_status rest_schema(struct rescue *rescue, mldf_error *err) {
    const mldf_reader *reader = rescue->reader;
    mldf_status status = mldf_schema_new(rescue->options->context, &rescue->schema, err);
    for (size_t f = 0; f < reader->schema->field_count && status >= 0; f++) {
        bool in_row = reader->schema->fields[f].payload_index == SIZE_MAX;
        status = mldfi_copy_field(reader, f, in_row ? MLDF_FIELD_NULLABLE : 0, rescue->schema, err);
    }
    return status;
}

/* Without rows, the new file has the fields with payloads. */
mldf_status mldfi_repair_carved_schema(struct rescue *rescue, mldf_error *err) {
    const mldf_reader *reader = rescue->reader;
    if (!rescue->rowless)
        return rest_schema(rescue, err);
    size_t count = 0, *fields = mldfi_alloc_zero(reader->schema->payload_count, sizeof *fields, err);
    if (!fields)
        return MLDF_E_MEMORY;
    for (size_t f = 0; f < reader->schema->field_count; f++)
        if (reader->schema->fields[f].payload_index != SIZE_MAX)
            fields[count++] = f;
    mldf_status status = mldfi_derive_schema(reader, rescue->options->context, fields, count, &rescue->schema, err);
    free(fields);
    return status;
}
