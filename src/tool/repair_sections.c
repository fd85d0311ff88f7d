/* What the sections of a damaged file are still worth. Checksums that are damaged themselves are not asked; validity bits are believed
 * where the statistics agree with them; whatever cannot go along is counted as lost. repair_keys.c does the keys. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tool/repair.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

static mldf_status has_crc(const mldf_reader *reader, const struct section *s, bool *out, mldf_error *err) {
    uint32_t crc = 0;
    mldf_status status = mldfi_reader_crc(reader, s->ptr, s->size, &crc, err);
    *out = status >= 0 && crc == s->crc;
    return status;
}

/* Checksums that are damaged themselves speak against no sample: they are not asked, as in verify. */
static mldf_status look_at_checksums(struct rescue *rescue, mldf_error *err) {
    mldf_reader *reader = rescue->reader;
    bool good = true;
    mldf_status status = reader->checks ? has_crc(reader, reader->checks, &good, err) : MLDF_OK;
    if (status < 0)
        return status;
    if (!good)
        reader->checks = NULL;
    rescue->unchecked = rescue->unchecked || !good || (reader->unusable >> SECTION_CHECKS & 1);
    good = true;
    if (reader->tables_section && reader->verified_blocks)
        status = has_crc(reader, reader->tables_section, &good, err);
    if (!good) {
        free(reader->verified_blocks);
        reader->verified_blocks = NULL;
        rescue->unchecked = true;
    }
    rescue->damaged = rescue->damaged || rescue->unchecked;
    return status;
}

/* ---- Validity ---------------------------------------------------------------------------------------------------------- */

/* A field's bits are believed when there are as many nulls as the statistics say and no null has a record. */
static mldf_status bits_agree(struct rescue *rescue, size_t field, bool *out, mldf_error *err) {
    const mldf_reader *reader = rescue->reader;
    uint64_t nulls = 0;
    *out = false;
    if (!reader->stats)
        return MLDF_OK;
    for (uint64_t i = 0; i < reader->header.num_samples; i++) {
        bool valid, value = false;
        rescue->doubted[field] = false;
        mldf_status status = mldfi_reader_is_valid(reader, i, field, &valid, err);
        rescue->doubted[field] = true;
        if (status >= 0 && !valid)
            status = mldfi_reader_is_valid(reader, i, field, &value, err);
        if (status < 0)
            return status;
        if (value)
            return MLDF_OK;
        nulls += !valid;
    }
    *out = nulls == reader->stats[field].nulls;
    return MLDF_OK;
}

static mldf_status padding_is_zero(const mldf_reader *reader, bool *out, mldf_error *err) {
    uint64_t n = reader->header.num_samples, bitmap = 8 * (n / 64 + (n % 64 != 0));
    *out = true;
    for (uint64_t k = 0; k < reader->schema->nullable_count; k++)
        for (uint64_t at = n / 8; at < bitmap; at++) {
            uint8_t byte;
            TRY(mldfi_reader_copy(reader, reader->validity->ptr + k * bitmap + at, &byte, 1, err));
            *out = *out && !(byte >> (at == n / 8 ? n % 8 : 0));
        }
    return MLDF_OK;
}

/* Section 5 is damaged: which fields' bits? Something must explain the damage; if nothing does, none are believed. */
static mldf_status doubt_validity(struct rescue *rescue, mldf_error *err) {
    mldf_reader *reader = rescue->reader;
    bool explained, agree;
    atomic_fetch_or(reader->verified_sections, READER_GOOD_VALIDITY);
    mldf_status status = padding_is_zero(reader, &explained, err);
    explained = !explained;
    for (size_t f = 0; f < reader->schema->field_count && status >= 0; f++) {
        if (!(reader->schema->fields[f].info.flags & MLDF_FIELD_NULLABLE))
            continue;
        if ((status = bits_agree(rescue, f, &agree, err)) < 0)
            return status;
        rescue->doubted[f] = !agree;
        explained = explained || !agree;
    }
    for (size_t f = 0; f < reader->schema->field_count && !explained; f++)
        rescue->doubted[f] = (reader->schema->fields[f].info.flags & MLDF_FIELD_NULLABLE) != 0;
    return status;
}

static mldf_status look_at_validity(struct rescue *rescue, mldf_error *err) {
    mldf_reader *reader = rescue->reader;
    bool good = true;
    if (reader->schema->nullable_count == 0 || reader->draft)
        return MLDF_OK;
    rescue->doubted = mldfi_alloc_zero(reader->schema->field_count, sizeof *rescue->doubted, err);
    if (!rescue->doubted)
        return MLDF_E_MEMORY;
    reader->doubted = rescue->doubted;
    if (!reader->validity) {
        for (size_t f = 0; f < reader->schema->field_count; f++)
            rescue->doubted[f] = (reader->schema->fields[f].info.flags & MLDF_FIELD_NULLABLE) != 0;
        return MLDF_OK;
    }
    mldf_status status = has_crc(reader, reader->validity, &good, err);
    if (status < 0 || good)
        return status;
    rescue->damaged = true;
    return doubt_validity(rescue, err);
}

/* ---- The others --------------------------------------------------------------------------------------------------------- */

static mldf_status look_at_keys(struct rescue *rescue, mldf_error *err) {
    bool good;
    if (!rescue->reader->keys)
        return MLDF_OK;
    TRY(has_crc(rescue->reader, rescue->reader->keys, &good, err));
    rescue->damaged = rescue->damaged || !good;
    if (!good)
        atomic_fetch_or(rescue->reader->verified_sections, READER_GOOD_KEYS);
    return mldfi_repair_keys(rescue, good, err);
}

/* Sections that a new file is not given: unknown and private ones. Statistics, checksums, page map and dictionary are made anew, and a
 * new file begins a history of its own. */
static mldf_status look_at_others(struct rescue *rescue, mldf_error *err) {
    const mldf_reader *reader = rescue->reader;
    mldf_repair_lost *lost = &rescue->result->lost;
    mldf_buffer card = MLDF_BUFFER_INIT;
    bool good;
    lost->sections = reader->nameless;
    for (size_t i = 0; i < reader->section_count; i++) {
        const struct section *s = &reader->sections[i];
        lost->sections += !mldfi_section_known(s->kind);
        TRY(has_crc(reader, s, &good, err));
        rescue->damaged = rescue->damaged || !good;
        lost->history = lost->history || (!good && s->kind == SECTION_HISTORY);
    }
    lost->history = lost->history || (reader->unusable >> SECTION_HISTORY & 1);
    lost->dictionary = (reader->unusable >> SECTION_DICTIONARY & 1) != 0;
    lost->card = (reader->unusable >> SECTION_CARD & 1) || mldf_reader_card(reader, &card, NULL) < 0;
    lost->directory = reader->salvage;
    mldf_buffer_free(&card);
    rescue->damaged = rescue->damaged || lost->card;
    return MLDF_OK;
}

mldf_status mldfi_repair_sections(struct rescue *rescue, mldf_error *err) {
    mldf_status status = look_at_checksums(rescue, err);
    if (status >= 0)
        status = look_at_validity(rescue, err);
    if (status >= 0)
        status = look_at_keys(rescue, err);
    if (status >= 0)
        status = look_at_others(rescue, err);
    return status;
}

/* ---- In words ------------------------------------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void add(mldf_repair_result *result, const char *format, ...) {
    size_t used = strlen(result->action);
    va_list args;
    va_start(args, format);
    vsnprintf(result->action + used, sizeof result->action - used, format, args);
    va_end(args);
}

static void add_count(mldf_repair_result *result, uint64_t count, const char *what, const char **before) {
    if (!count)
        return;
    add(result, "%s%" PRIu64 " %s%s", *before, count, what, count == 1 ? "" : "s");
    *before = ", ";
}

static void add_thing(mldf_repair_result *result, bool is_lost, const char *what, const char **before) {
    if (!is_lost)
        return;
    add(result, "%s%s", *before, what);
    *before = ", ";
}

/* The fields that were stored in rows, by name. */
static void add_row_fields(const struct rescue *rescue, const char *before) {
    const mldf_schema *schema = rescue->reader->schema;
    size_t left = schema->field_count - schema->payload_count;
    if (left == 0)
        return;
    add(rescue->result, "%s%s", before, left == 1 ? "" : "s");
    for (size_t f = 0, named = 0; f < schema->field_count; f++)
        if (schema->fields[f].payload_index == SIZE_MAX && named++ < 8)
            add(rescue->result, "%s %s", named > 1 ? "," : "", schema->fields[f].name);
    add(rescue->result, "%s)", left > 8 ? ", ..." : "");
}

void mldfi_repair_describe(const struct rescue *rescue) {
    mldf_repair_result *result = rescue->result;
    mldf_repair_lost *lost = &result->lost;
    const char *before = "; lost: ";
    bool had_keys = rescue->reader->keys || (rescue->reader->unusable >> SECTION_KEYS & 1);
    lost->samples = result->samples_lost;
    lost->keys = had_keys && !rescue->keys ? result->samples_saved : 0;
    lost->any = lost->samples || lost->keys || lost->values || lost->sections || lost->directory || lost->card ||
                lost->dictionary || lost->history;
    result->changed = rescue->damaged || lost->any;
    result->unchecked = rescue->reader->salvage || rescue->unchecked || rescue->rest.total > 0; /* found by no row */
    result->action[0] = 0;
    add(result, "%s",
        !result->changed   ? "nothing was wrong; copied every sample"
        : !rescue->damaged ? "copied the samples that are whole"
        : rescue->rowless  ? "saved the values that show where they end, since the rows are cut off"
        : rescue->rest.total
            ? "saved samples by rows, and where those are cut off the values that show where they end, unchecked"
        : rescue->reader->salvage ? "saved samples by rows alone"
        : rescue->unchecked       ? "saved samples past damaged checksums: what those covered is unchecked"
                                  : "saved samples past damaged sections");
    add_count(result, lost->samples, "sample", &before);
    add_count(result, lost->keys, "key", &before);
    add_count(result, lost->values, "value", &before);
    if (lost->values)
        add(result, rescue->rowless || rescue->rest.total ? "" : " (null or zero: now null)");
    if (lost->values && (rescue->rowless || rescue->rest.total))
        add_row_fields(rescue, " of the rows (field");
    add_count(result, lost->sections, "unknown section", &before);
    add_thing(result, lost->directory, "the directory, with keys and card if there were any", &before);
    add_thing(result, lost->card, "the card", &before);
    add_thing(result, lost->dictionary, "the dictionary", &before);
    add_thing(result, lost->history, "the history of appends", &before);
}
