/* The table of a multimodal sample's parts: an entry is read and checked when it is used, a deep check reads all of them. And mldf/multimodal.h's reading
 * functions. A file may say anything: every count, kind and range is held against the payload before it is used. */
#include <inttypes.h>
#include <string.h>

#include "field/audio_type.h"
#include "field/image_type.h"
#include "field/multimodal.h"
#include "field/tokens.h"
#include "field/video_frames.h"
#include "field/video_type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/utf8.h"

/* ---- Records and entries --------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_parts_check_record(const struct multimodal_state *s, const uint8_t *record, uint64_t payload_bytes,
                                     mldf_error *err) {
    uint64_t parts = mldfi_load_u32(record + PARTS_COUNT);
    uint32_t mask = mldfi_load_u32(record + PARTS_MASK), images = mldfi_load_u32(record + PARTS_IMAGES);
    if (parts * s->entry_bytes > payload_bytes)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, PARTS_COUNT,
                             "%" PRIu64 " parts, whose table needs %" PRIu64 " bytes of a payload of %" PRIu64, parts,
                             parts * s->entry_bytes, payload_bytes);
    if (s->kinds->field_count < PARTS_KINDS && mask >> s->kinds->field_count)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, PARTS_MASK, "mask 0x%" PRIx32 " names a kind above %zu", mask,
                             s->kinds->field_count - 1);
    if (images > parts)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, PARTS_IMAGES, "%" PRIu32 " images in %" PRIu64 " parts", images,
                             parts);
    return MLDF_OK;
}

static mldf_status bad(mldf_error *err, uint64_t index, const char *what) {
    return mldfi_fail_at(err, MLDF_E_CORRUPT, MLDF_NONE, "part %" PRIu64 ": %s", index, what);
}

static mldf_status take_range(struct parts_entry *e, uint64_t table, uint64_t payload_bytes, uint64_t index,
                              mldf_error *err) {
    const struct schema_field *of = e->of;
    if (!mldfi_field_has_payload(of))
        return MLDF_OK;
    mldfi_record_payload(of, e->record, &e->offset, &e->bytes);
    if (e->bytes == 0 && e->offset == 0)
        return MLDF_OK;
    if (e->offset < table || !mldfi_range_inside(e->offset, e->bytes, payload_bytes))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, MLDF_NONE,
                             "part %" PRIu64 " (%s): %" PRIu64 " bytes from byte %" PRIu64
                             " on do not lie between the table's end at %" PRIu64 " and the payload's at %" PRIu64,
                             index, of->name, e->bytes, e->offset, table, payload_bytes);
    return MLDF_OK;
}

mldf_status mldfi_parts_entry(const struct multimodal_state *s, const uint8_t *table, uint64_t parts,
                              uint64_t payload_bytes, uint64_t index, struct parts_entry *out, mldf_error *err) {
    static const uint8_t zeros[ENTRY_RECORD_WIDE];
    const uint8_t *at = table + index * s->entry_bytes;
    uint16_t flags = mldfi_load_u16(at + ENTRY_FLAGS);
    memset(out, 0, sizeof *out);
    out->kind = mldfi_load_u16(at);
    out->group = mldfi_load_u32(at + ENTRY_GROUP);
    out->begin = (int64_t)mldfi_load_u64(at + ENTRY_BEGIN);
    out->null = flags & ENTRY_NULL;
    if (out->kind >= s->kinds->field_count)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, MLDF_NONE, "part %" PRIu64 ": kind %u, and the field has %zu", index,
                             out->kind, s->kinds->field_count);
    if (flags & ~ENTRY_NULL)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, MLDF_NONE, "part %" PRIu64 ": unknown flags 0x%x", index, flags);
    out->of = &s->kinds->fields[out->kind];
    size_t record = out->null ? 0 : out->of->info.record_bytes;
    if (memcmp(at + ENTRY_RECORD + record, zeros, s->entry_bytes - ENTRY_RECORD - record) != 0)
        return bad(err, index, "its record is followed by bytes that are not 0");
    memcpy(out->record, at + ENTRY_RECORD, record);
    return out->null ? MLDF_OK : take_range(out, parts * s->entry_bytes, payload_bytes, index, err);
}

/* ---- Totals ---------------------------------------------------------------------------------------------------------------------- */

uint64_t mldfi_parts_length(const struct parts_entry *e) {
    struct field_steps steps;
    uint16_t id = e->of->info.type_id;
    if (e->null)
        return 0;
    if (id == MLDF_TEXT || id == MLDF_BYTES || id == MLDF_JSON)
        return e->bytes;
    return e->of->type->steps && e->of->type->steps(e->of, e->record, &steps) ? steps.steps : 1;
}

static uint64_t milliseconds(uint64_t steps, uint64_t num, uint64_t den) {
    __extension__ typedef unsigned __int128 wide;
    wide ms = den ? (wide)steps * 1000 * num / den : 0;
    return ms > UINT64_MAX ? UINT64_MAX : (uint64_t)ms;
}

static uint64_t sum(uint64_t a, uint64_t b) {
    uint64_t out;
    return mldfi_add_u64(a, b, &out) ? out : UINT64_MAX;
}

mldf_status mldfi_parts_add(struct parts_totals *totals, const struct parts_entry *e, mldf_error *err) {
    const uint8_t *r = e->record;
    if (e->null)
        return MLDF_OK;
    totals->mask |= 1u << e->kind;
    switch (e->of->info.type_id) {
    case MLDF_IMAGE_RAW:
    case MLDF_IMAGE_JPEG:
    case MLDF_IMAGE_PNG:
    case MLDF_IMAGE:
        totals->images++;
        totals->pixels =
            sum(totals->pixels, (uint64_t)mldfi_load_u16(r + IMAGE_HEIGHT) * mldfi_load_u16(r + IMAGE_WIDTH));
        return MLDF_OK;
    case MLDF_AUDIO_WAVEFORM:
    case MLDF_AUDIO_COMPRESSED:
        totals->samples = sum(totals->samples, mldfi_load_u64(r + AUDIO_SAMPLES));
        totals->milliseconds = sum(totals->milliseconds,
                                   milliseconds(mldfi_load_u64(r + AUDIO_SAMPLES), 1, mldfi_load_u32(r + AUDIO_RATE)));
        return MLDF_OK;
    case MLDF_VIDEO_FRAMES:
        totals->milliseconds =
            sum(totals->milliseconds, milliseconds(mldfi_load_u32(r + FRAMES_COUNT), mldfi_load_u32(r + FRAMES_FPS_DEN),
                                                   mldfi_load_u32(r + FRAMES_FPS_NUM)));
        return MLDF_OK;
    case MLDF_VIDEO_COMPRESSED:
        totals->milliseconds = sum(totals->milliseconds, mldfi_load_u64(r + VIDEO_DURATION) / 1000);
        return MLDF_OK;
    default:
        break;
    }
    if (!mldfi_is_tokens(e->of->info.type_id))
        return MLDF_OK;
    uint64_t tokens = totals->tokens + mldfi_parts_length(e);
    if (tokens > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_RANGE, "the parts have %" PRIu64 " tokens; a sample has less than 2^32", tokens);
    totals->tokens = (uint32_t)tokens;
    return MLDF_OK;
}

void mldfi_parts_unplace(mldf_error *err) {
    if (!err)
        return;
    err->offset = MLDF_NONE;
    err->field[0] = 0;
}

bool mldfi_parts_hold_packed(const struct schema_field *field, const mldf_value *value) {
    const struct multimodal_state *s = field->state;
    if (!value->record || !value->data || mldfi_parts_check_record(s, value->record, value->bytes, NULL) < 0)
        return false;
    uint64_t parts = mldfi_load_u32((const uint8_t *)value->record + PARTS_COUNT);
    const uint8_t *at = value->data;
    for (uint64_t i = 0; i < parts; i++, at += s->entry_bytes) {
        uint16_t kind = mldfi_load_u16(at);
        const struct field_type *type = kind < s->kinds->field_count ? s->kinds->fields[kind].type : NULL;
        if (type && type->is_packed && !(mldfi_load_u16(at + ENTRY_FLAGS) & ENTRY_NULL) &&
            type->is_packed(at + ENTRY_RECORD))
            return true;
    }
    return false;
}

/* ---- Deep checks ----------------------------------------------------------------------------------------------------------------- */

static mldf_status check_part(const struct parts_entry *e, struct media_kit *kit, const uint8_t *payload,
                              uint64_t index, mldf_error *err) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    const void *data = e->bytes ? payload + e->offset : NULL;
    uint64_t least, most;
    mldf_value value;
    mldf_status status = mldfi_field_decode(e->of, e->record, 0, data, e->bytes, 0, &scratch, &value, err);
    if (status >= 0)
        status = mldfi_field_check_deep(e->of, kit, e->record, 0, data, e->bytes, 0, err);
    if (status >= 0 && e->of->type->range)
        status = e->of->type->range(e->of->state, e->record, data, e->bytes, &least, &most, err);
    mldf_buffer_free(&scratch);
    if (status >= 0)
        return MLDF_OK;
    mldfi_parts_unplace(err);
    mldfi_error_prefix(err, "part %" PRIu64 " (%s)", index, e->of->name);
    return status;
}

static mldf_status check_totals(const struct parts_totals *t, const uint8_t *record, mldf_error *err) {
    const struct {
        const char *name;
        unsigned at;
        uint64_t said, found;
    } all[] = {
        {"mask", PARTS_MASK, mldfi_load_u32(record + PARTS_MASK), t->mask},
        {"tokens", PARTS_TOKENS, mldfi_load_u32(record + PARTS_TOKENS), t->tokens},
        {"images", PARTS_IMAGES, mldfi_load_u32(record + PARTS_IMAGES), t->images},
        {"pixels", PARTS_PIXELS, mldfi_load_u64(record + PARTS_PIXELS), t->pixels},
        {"samples", PARTS_SAMPLES, mldfi_load_u64(record + PARTS_SAMPLES), t->samples},
        {"milliseconds", PARTS_MILLISECONDS, mldfi_load_u64(record + PARTS_MILLISECONDS), t->milliseconds},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].said != all[i].found)
            return mldfi_fail_at(err, MLDF_E_CORRUPT, all[i].at,
                                 "the record says %s %" PRIu64 ", and its parts have %" PRIu64, all[i].name,
                                 all[i].said, all[i].found);
    return MLDF_OK;
}

mldf_status mldfi_parts_check_deep(const struct multimodal_state *s, const uint8_t *record, const void *payload,
                                   uint64_t payload_bytes, mldf_error *err) {
    uint64_t parts = mldfi_load_u32(record + PARTS_COUNT), end = parts * s->entry_bytes;
    struct parts_totals totals = {0};
    struct media_kit kit = {0};
    mldf_status status = mldfi_parts_check_record(s, record, payload_bytes, err);
    for (uint64_t i = 0; i < parts && status == MLDF_OK; i++) {
        struct parts_entry e;
        status = mldfi_parts_entry(s, payload, parts, payload_bytes, i, &e, err);
        if (status == MLDF_OK && e.bytes && e.offset < end)
            status = bad(err, i, "its bytes are also those of the part before it");
        if (status == MLDF_OK && e.bytes)
            end = e.offset + e.bytes;
        if (status == MLDF_OK)
            status = mldfi_parts_add(&totals, &e, err);
        if (status == MLDF_OK && !e.null)
            status = check_part(&e, &kit, payload, i, err);
    }
    mldfi_kit_free(&kit);
    return status < 0 ? status : check_totals(&totals, record, err);
}

/* ---- As text --------------------------------------------------------------------------------------------------------------------- */

enum { TEXT_SHOWN = 160 };

static mldf_status text_json(const mldf_value *v, bool full, mldf_buffer *out, mldf_error *err) {
    size_t shown = (size_t)v->bytes;
    mldf_buffer text = MLDF_BUFFER_INIT;
    if (full || shown <= TEXT_SHOWN)
        return mldfi_json_append_string(out, v->data ? v->data : "", shown, err);
    shown = mldfi_utf8_valid_prefix(v->data, TEXT_SHOWN);
    mldf_status status = mldf_buffer_append(&text, v->data, shown, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(&text, "...", err);
    if (status == MLDF_OK)
        status = mldfi_json_append_string(out, (const char *)text.data, text.size, err);
    mldf_buffer_free(&text);
    return status;
}

static mldf_status array_json(const mldf_value *v, bool full, mldf_buffer *out, mldf_error *err) {
    mldf_status status = mldfi_payload_json_begin(v, out, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(out, err, ",\"dtype\":\"%s\",\"shape\":[", mldf_dtype_name(v->dtype));
    for (uint32_t i = 0; i < v->ndim && status == MLDF_OK; i++)
        status = mldfi_buffer_printf(out, err, "%s%" PRIu64, i ? "," : "", v->dims[i]);
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(out, "]", err);
    return status < 0 ? status : mldfi_payload_json_end(v, full, out, err);
}

mldf_status mldfi_parts_plain_json(const mldf_value *v, bool full, mldf_buffer *out, mldf_error *err) {
    mldf_status status;
    switch (v->kind) {
    case MLDF_KIND_INT:
        return mldfi_buffer_printf(out, err, "%" PRId64, v->as.i);
    case MLDF_KIND_UINT:
        return mldfi_buffer_printf(out, err, "%" PRIu64, v->as.u);
    case MLDF_KIND_FLOAT:
        return mldfi_json_append_double(out, v->as.f, err);
    case MLDF_KIND_TEXT:
        return text_json(v, full, out, err);
    case MLDF_KIND_ARRAY:
        return array_json(v, full, out, err);
    default:
        status = mldfi_payload_json_begin(v, out, err);
        return status < 0 ? status : mldfi_payload_json_end(v, full, out, err);
    }
}

/* ---- mldf/multimodal.h ------------------------------------------------------------------------------------------------------------ */

static mldf_status find_state(const mldf_schema *schema, size_t field, const struct multimodal_state **out,
                              mldf_error *err) {
    if (!schema || field >= schema->field_count)
        return mldfi_fail(err, MLDF_E_NO_FIELD, "there is no field %zu", field);
    const struct schema_field *f = &schema->fields[field];
    if (f->type != &mldfi_type_multimodal)
        return mldfi_fail(err, MLDF_E_TYPE, "field \"%s\" is of type %s, not multimodal", f->name, f->info.type_name);
    *out = f->state;
    return MLDF_OK;
}

mldf_status mldf_parts_schema(const mldf_schema *schema, size_t field, const mldf_schema **out, mldf_error *err) {
    const struct multimodal_state *s;
    if (!out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_parts_schema: out is NULL");
    mldf_status status = find_state(schema, field, &s, err);
    if (status == MLDF_OK)
        *out = s->kinds;
    return status;
}

static mldf_status find_value(const mldf_schema *schema, size_t field, const mldf_value *value,
                              const struct multimodal_state **out, mldf_error *err) {
    TRY(find_state(schema, field, out, err));
    if (!value || !value->record || value->record_bytes != PARTS_RECORD || (value->bytes && !value->data))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "the value is not one that was read from a multimodal field");
    return mldfi_parts_check_record(*out, value->record, value->bytes, err);
}

mldf_status mldf_parts_info_of(const mldf_schema *schema, size_t field, const mldf_value *value, mldf_parts_info *out,
                               mldf_error *err) {
    const struct multimodal_state *s;
    TRY(find_state(schema, field, &s, err));
    if (!out || !value || !value->record || value->record_bytes != PARTS_RECORD)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "the value is not one that was read from a multimodal field");
    const uint8_t *r = value->record;
    *out = (mldf_parts_info){.parts = mldfi_load_u32(r + PARTS_COUNT),
                             .mask = mldfi_load_u32(r + PARTS_MASK),
                             .tokens = mldfi_load_u32(r + PARTS_TOKENS),
                             .images = mldfi_load_u32(r + PARTS_IMAGES),
                             .pixels = mldfi_load_u64(r + PARTS_PIXELS),
                             .samples = mldfi_load_u64(r + PARTS_SAMPLES),
                             .milliseconds = mldfi_load_u64(r + PARTS_MILLISECONDS)};
    return MLDF_OK;
}

mldf_status mldf_parts_count(const mldf_schema *schema, size_t field, const mldf_value *value, uint64_t *count,
                             mldf_error *err) {
    const struct multimodal_state *s;
    if (!count)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_parts_count: count is NULL");
    mldf_status status = find_value(schema, field, value, &s, err);
    if (status == MLDF_OK)
        *count = mldfi_load_u32((const uint8_t *)value->record + PARTS_COUNT);
    return status;
}

/* What is stored in a form for decoders alone becomes the file that was packed, and the record that it would have. */
static mldf_status unpack(const struct parts_entry *e, mldf_buffer *scratch, mldf_value *value, mldf_error *err) {
    const struct field_type *type = e->of->type;
    uint8_t record[ENTRY_RECORD_WIDE];
    mldf_buffer made = MLDF_BUFFER_INIT;
    if (!type->is_packed || !type->is_packed(e->record))
        return MLDF_OK;
    memcpy(record, e->record, sizeof record);
    mldf_status status =
        type->unpack(e->record, value->data, value->bytes, mldfi_max_unpacked(NULL), record, &made, err);
    uint64_t bytes = made.size;
    if (status == MLDF_OK)
        status = mldf_buffer_append(&made, record, e->of->info.record_bytes, err);
    if (status < 0) {
        mldf_buffer_free(&made);
        return status;
    }
    mldf_buffer_free(scratch);
    *scratch = made;
    value->data = made.data;
    value->bytes = bytes;
    value->record = made.data + bytes;
    return MLDF_OK;
}

mldf_status mldf_parts_get(const mldf_schema *schema, size_t field, const mldf_value *value, uint64_t index,
                           mldf_buffer *scratch, mldf_sample_part *out, size_t *kind, mldf_error *err) {
    const struct multimodal_state *s;
    struct parts_entry e;
    if (!out || !scratch)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_parts_get: %s is NULL", out ? "scratch" : "out");
    TRY(find_value(schema, field, value, &s, err));
    uint64_t parts = mldfi_load_u32((const uint8_t *)value->record + PARTS_COUNT);
    if (index >= parts)
        return mldfi_fail(err, MLDF_E_RANGE, "no part %" PRIu64 ": the sample has %" PRIu64, index, parts);
    TRY(mldfi_parts_entry(s, value->data, parts, value->bytes, index, &e, err));
    const uint8_t *at = (const uint8_t *)value->data + index * s->entry_bytes + ENTRY_RECORD;
    *out =
        (mldf_sample_part){.role = e.of->name, .group = e.group, .begin = e.begin, .value = {.kind = MLDF_KIND_NULL}};
    if (kind)
        *kind = e.kind;
    if (e.null)
        return MLDF_OK;
    const void *data = e.bytes ? (const uint8_t *)value->data + e.offset : NULL;
    mldf_status status = mldfi_field_decode(e.of, at, 0, data, e.bytes, 0, scratch, &out->value, err);
    out->value.record = at;
    out->value.record_bytes = e.of->info.record_bytes;
    if (status == MLDF_OK)
        status = unpack(&e, scratch, &out->value, err);
    if (status == MLDF_OK)
        return MLDF_OK;
    mldfi_parts_unplace(err);
    mldfi_error_prefix(err, "part %" PRIu64 " (%s)", index, e.of->name);
    return status;
}
