/* MULTIMODAL: the kinds of parts from the arguments, and what a field type answers. multimodal.h shows the bytes.
 *
 *     {"parts":[{"role":"text","type":"text_tokenized","arguments":{"vocabulary":50257}},{"role":"image","type":"image"}]}
 *
 * Each kind is bound as a field of its own, in a schema that only this field has. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/edge.h"
#include "field/image_type.h"
#include "field/multimodal.h"
#include "field/tokens.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

static const char *const argument_names[] = {"parts", NULL};
/* Outputs of a loader that are made from the table have these names. */
enum { COLUMN_KINDS, COLUMN_GROUPS, COLUMN_BEGINS, COLUMN_LENGTHS, COLUMN_HEIGHTS, COLUMN_WIDTHS, COLUMNS };
static const char *const reserved[COLUMNS + 1] = {"kinds", "groups", "begins", "lengths", "heights", "widths", NULL};

/* ---- Arguments ------------------------------------------------------------------------------------------------------------------ */

static bool is_allowed(uint16_t id) {
    bool allowed = (id >= MLDF_INT && id <= MLDF_JSON) || (id >= MLDF_IMAGE_RAW && id <= MLDF_IMAGE) ||
                   (id >= MLDF_AUDIO_WAVEFORM && id <= MLDF_AUDIO_CODEC_TOKENS) ||
                   (id >= MLDF_VIDEO_FRAMES && id <= MLDF_VIDEO_OPTICAL_FLOW) ||
                   (id >= MLDF_TEXT && id <= MLDF_TEXT_HIERARCHICAL);
    return allowed && mldfi_builtin_type(id);
}

struct kind_text {
    char role[MLDF_NAME_MAX + 1];
    uint16_t type_id;
    mldf_buffer arguments; /* canonical, with a final NUL */
};

static mldf_status take_role(const struct json *json, uint32_t at, size_t number, struct kind_text *out,
                             mldf_error *err) {
    uint32_t role = mldfi_json_find(json, at, "role");
    const struct json_node *node = role == UINT32_MAX ? NULL : &json->nodes[role];
    if (!node || node->kind != MLDFI_JSON_STRING || node->text_bytes > MLDF_NAME_MAX)
        return mldfi_fail(err, MLDF_E_SCHEMA, "parts[%zu]: \"role\" is not a name of up to %d bytes", number,
                          MLDF_NAME_MAX);
    const char *problem = mldfi_name_problem(node->text, (size_t)node->text_bytes);
    if (problem)
        return mldfi_fail(err, MLDF_E_SCHEMA, "parts[%zu]: the role %s", number, problem);
    memcpy(out->role, node->text, (size_t)node->text_bytes);
    out->role[node->text_bytes] = 0;
    if (strpbrk(out->role, ".[]`"))
        return mldfi_fail(err, MLDF_E_SCHEMA, "parts[%zu]: role \"%s\" has one of . [ ] ` in it", number, out->role);
    for (size_t i = 0; reserved[i]; i++)
        if (strcmp(out->role, reserved[i]) == 0)
            return mldfi_fail(err, MLDF_E_SCHEMA, "parts[%zu]: the role \"%s\" is reserved for the table of parts",
                              number, out->role);
    return MLDF_OK;
}

static mldf_status take_type(const struct json *json, uint32_t at, size_t number, struct kind_text *out,
                             mldf_error *err) {
    uint32_t type = mldfi_json_find(json, at, "type"), arguments = mldfi_json_find(json, at, "arguments");
    const struct json_node *node = type == UINT32_MAX ? NULL : &json->nodes[type];
    if (!node || node->kind != MLDFI_JSON_STRING)
        return mldfi_fail(err, MLDF_E_SCHEMA, "parts[%zu], role %s: \"type\" is not the name of a type", number,
                          out->role);
    out->type_id = mldfi_type_by_name(node->text, (size_t)node->text_bytes);
    if (!is_allowed(out->type_id))
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "parts[%zu], role %s: a part cannot be of type \"%.*s\"; numbers, bytes, arrays, JSON, "
                          "images, audio, video and text can",
                          number, out->role, (int)(node->text_bytes < 64 ? node->text_bytes : 64), node->text);
    if (mldfi_is_tokens(out->type_id) && (arguments == UINT32_MAX || json->nodes[arguments].count == 0))
        return mldfi_fail(err, MLDF_E_SCHEMA, "parts[%zu], role %s: tokens need a vocabulary or a dtype", number,
                          out->role);
    if (arguments != UINT32_MAX && json->nodes[arguments].kind != MLDFI_JSON_OBJECT)
        return mldfi_fail(err, MLDF_E_SCHEMA, "parts[%zu], role %s: \"arguments\" is not an object", number, out->role);
    mldf_status status = arguments == UINT32_MAX ? mldfi_buffer_append_text(&out->arguments, "{}", err)
                                                 : mldfi_json_canonical(json, arguments, &out->arguments, err);
    return status < 0 ? status : mldf_buffer_append(&out->arguments, "", 1, err);
}

static mldf_status take_kind(const struct json *json, uint32_t at, size_t number, bool strict, struct kind_text *out,
                             mldf_error *err) {
    static const char *const names[] = {"role", "type", "arguments"};
    if (json->nodes[at].kind != MLDFI_JSON_OBJECT)
        return mldfi_fail(err, MLDF_E_SCHEMA, "parts[%zu] is not an object", number);
    for (uint32_t i = mldfi_json_first(json, at); strict && i < json->nodes[at].next; i = json->nodes[i].next) {
        const struct json_node *node = &json->nodes[i];
        bool known = false;
        for (size_t k = 0; k < 3 && !known; k++)
            known = strlen(names[k]) == node->key_bytes && memcmp(names[k], node->key, node->key_bytes) == 0;
        if (!known)
            return mldfi_fail(err, MLDF_E_SCHEMA, "parts[%zu]: unknown member \"%.*s\"; role, type and arguments exist",
                              number, (int)(node->key_bytes < 64 ? node->key_bytes : 64), node->key);
    }
    mldf_status status = take_role(json, at, number, out, err);
    return status < 0 ? status : take_type(json, at, number, out, err);
}

/* A kind of a file's field: arguments that this version does not know are kept, as those of fields are. */
static mldf_status add_kind(mldf_schema *kinds, const struct kind_text *text, mldf_error *err) {
    struct schema_field field = {0};
    const struct field_type *type = mldfi_builtin_type(text->type_id);
    if (mldfi_schema_lookup(kinds, text->role) != SIZE_MAX)
        return mldfi_fail(err, MLDF_E_SCHEMA, "the role \"%s\" is listed twice", text->role);
    field.name = mldfi_copy_text(text->role, strlen(text->role), err);
    field.arguments = mldfi_copy_text((const char *)text->arguments.data, text->arguments.size - 1, err);
    mldf_status status = field.name && field.arguments ? mldfi_field_bind(&field, type, err) : MLDF_E_MEMORY;
    if (status == MLDF_OK && field.layout.record_bytes > ENTRY_RECORD_WIDE)
        status = mldfi_fail(err, MLDF_E_SCHEMA, "records of %" PRIu32 " bytes, and the entry of a part has room for %d",
                            field.layout.record_bytes, ENTRY_RECORD_WIDE);
    if (status < 0) {
        mldfi_schema_field_free(&field);
        mldfi_error_prefix(err, "role \"%s\"", text->role);
        return status;
    }
    field.info.type_id = text->type_id;
    field.info.flags = MLDF_FIELD_NULLABLE | field.layout.payload_flag;
    field.info.type_name = type->name;
    field.info.record_bytes = field.layout.record_bytes;
    field.info.record_align = field.layout.record_align;
    field.info.known = true;
    if (type->describe)
        type->describe(field.state, &field.info);
    return mldfi_schema_push(kinds, &field, err);
}

/* As a caller gives it: through mldf_schema_add, which checks names of arguments and makes them canonical. */
static mldf_status check_kind(mldf_schema *kinds, const struct kind_text *text, mldf_error *err) {
    mldf_status status = mldf_schema_add(kinds, text->role, text->type_id, (const char *)text->arguments.data, 0, err);
    if (status == MLDF_OK && kinds->fields[kinds->field_count - 1].layout.record_bytes > ENTRY_RECORD_WIDE)
        return mldfi_fail(err, MLDF_E_SCHEMA, "role \"%s\": records of more than %d bytes", text->role,
                          ENTRY_RECORD_WIDE);
    return status;
}

static mldf_status take_kinds(const struct json *json, bool strict, mldf_schema *kinds, mldf_error *err) {
    uint32_t parts = mldfi_json_find(json, 0, "parts");
    size_t number = 0;
    mldf_status status = MLDF_OK;
    if (parts == UINT32_MAX || json->nodes[parts].kind != MLDFI_JSON_ARRAY || json->nodes[parts].count < 1 ||
        json->nodes[parts].count > PARTS_KINDS)
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "argument \"parts\" is not a list of 1 to %d kinds: "
                          "[{\"role\":\"text\",\"type\":\"text\"},{\"role\":\"image\",\"type\":\"image\"}]",
                          PARTS_KINDS);
    for (uint32_t i = mldfi_json_first(json, parts); i < json->nodes[parts].next && status == MLDF_OK;
         i = json->nodes[i].next) {
        struct kind_text text = {.arguments = MLDF_BUFFER_INIT};
        status = take_kind(json, i, number++, strict, &text, err);
        if (status == MLDF_OK)
            status = strict ? check_kind(kinds, &text, err) : add_kind(kinds, &text, err);
        mldf_buffer_free(&text.arguments);
    }
    return status;
}

static mldf_status canonical(const struct json *json, mldf_buffer *out, mldf_error *err) {
    mldf_schema *kinds;
    TRY(mldf_schema_new(NULL, &kinds, err));
    mldf_status status = take_kinds(json, true, kinds, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(out, "{\"parts\":[", err);
    for (size_t i = 0; i < kinds->field_count && status == MLDF_OK; i++) {
        const struct schema_field *f = &kinds->fields[i];
        bool given = strcmp(f->arguments, "{}") != 0;
        status = mldfi_buffer_printf(out, err, "%s{%s%s%s\"role\":", i ? "," : "", given ? "\"arguments\":" : "",
                                     given ? f->arguments : "", given ? "," : "");
        if (status == MLDF_OK)
            status = mldfi_json_append_string(out, f->name, strlen(f->name), err);
        if (status == MLDF_OK)
            status = mldfi_buffer_printf(out, err, ",\"type\":\"%s\"}", f->info.type_name);
    }
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(out, "]}", err);
    mldf_schema_free(kinds);
    return status;
}

static void unbind(void *user, void *state) {
    struct multimodal_state *s = state;
    (void)user;
    if (s)
        mldf_schema_free(s->kinds);
    free(s);
}

static mldf_status bind(void *user, const char *arguments, mldf_record_layout *layout, void **state, mldf_error *err) {
    struct json json = {0};
    struct multimodal_state *s = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    mldf_status status = mldf_schema_new(NULL, &s->kinds, err);
    if (status == MLDF_OK)
        status = mldfi_arguments_parse(&json, arguments, strlen(arguments), err);
    if (status == MLDF_OK)
        status = take_kinds(&json, false, s->kinds, err);
    mldfi_json_free(&json);
    if (status < 0) {
        unbind(user, s);
        return status;
    }
    s->entry_bytes = ENTRY_BYTES;
    for (size_t i = 0; i < s->kinds->field_count; i++)
        if (s->kinds->fields[i].layout.record_bytes > ENTRY_RECORD_MAX)
            s->entry_bytes = ENTRY_WIDE;
    *layout = (mldf_record_layout){PARTS_RECORD, 8, MLDF_FIELD_SIZE64, true};
    *state = s;
    return MLDF_OK;
}

/* ---- Reading -------------------------------------------------------------------------------------------------------------------- */

static mldf_status decode(void *user, const void *state, const uint8_t *record, const void *payload,
                          uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    (void)user, (void)scratch;
    memset(out, 0, sizeof *out);
    out->kind = MLDF_KIND_BYTES;
    out->data = payload;
    out->bytes = payload_bytes;
    return mldfi_parts_check_record(state, record, payload_bytes, err);
}

/* Dimensions: parts, images. Units: tokens. */
static void observe(const void *state, const uint8_t *record, struct observation *out) {
    (void)state;
    memset(out, 0, sizeof *out);
    out->ndim = 2;
    out->dims[0] = mldfi_load_u32(record + PARTS_COUNT);
    out->dims[1] = mldfi_load_u32(record + PARTS_IMAGES);
    out->has_units = true;
    out->units = mldfi_load_u32(record + PARTS_TOKENS);
}

static mldf_status check_deep(const void *state, const uint8_t *record, const void *payload, uint64_t payload_bytes,
                              mldf_error *err) {
    return mldfi_parts_check_deep(state, record, payload, payload_bytes, err);
}

/* ---- In pipelines ------------------------------------------------------------------------------------------------------------------ */

static mldf_status part(const struct schema_field *field, size_t index, struct field_part *out, mldf_error *err) {
    const struct multimodal_state *s = field->state;
    size_t kinds = s->kinds->field_count;
    (void)err;
    memset(out, 0, sizeof *out);
    if (index >= kinds + COLUMNS)
        return MLDF_END;
    const char *name = index < kinds ? s->kinds->fields[index].name : reserved[index - kinds];
    out->index = index;
    out->tabled = true;
    out->column = index >= kinds;
    out->all = !out->column;
    out->kind = out->column ? NULL : &s->kinds->fields[index];
    memcpy(out->name, name, strlen(name) + 1);
    return MLDF_OK;
}

static mldf_status part_edge(const struct schema_field *field, const struct field_part *part,
                             const struct value_bounds *bounds, struct edge *out, mldf_error *err) {
    const struct multimodal_state *s = field->state;
    (void)bounds; /* they are of the samples */
    if (part->kind && !part->kind->type->edge)
        return mldfi_fail(err, MLDF_E_TYPE, "%s.%s has the type %s, which a pipeline cannot read", field->name,
                          part->name, part->kind->info.type_name);
    if (part->kind)
        return part->kind->type->edge(part->kind, NULL, out, err);
    out->kind = VALUE_ARRAY;
    out->dtype = part->index == s->kinds->field_count + COLUMN_KINDS ? MLDF_I32 : MLDF_I64;
    out->ndim = 1;
    mldfi_edge_bound(out, 0, NULL);
    return MLDF_OK;
}

static uint64_t part_table(const struct schema_field *field, const struct field_part *part, const uint8_t *record,
                           uint64_t *offset) {
    const struct multimodal_state *s = field->state;
    (void)part;
    *offset = 0;
    return (uint64_t)mldfi_load_u32(record + PARTS_COUNT) * s->entry_bytes;
}

static mldf_status part_entry(const struct schema_field *field, const struct field_part *part, const uint8_t *record,
                              uint64_t payload_bytes, const uint8_t *table, uint64_t *at, struct part_place *out,
                              bool *null, mldf_error *err) {
    const struct multimodal_state *s = field->state;
    uint64_t parts = mldfi_load_u32(record + PARTS_COUNT);
    struct parts_entry e;
    for (; *at < parts; ++*at) {
        uint16_t kind = mldfi_load_u16(table + *at * s->entry_bytes);
        if (kind != part->index && kind < s->kinds->field_count) /* one that does not exist is an error */
            continue;
        TRY(mldfi_parts_entry(s, table, parts, payload_bytes, *at, &e, err));
        ++*at;
        *null = e.null;
        out->offset = e.offset;
        out->bytes = e.bytes;
        out->record_bytes = e.of->info.record_bytes;
        memcpy(out->record, e.record, sizeof e.record);
        return MLDF_OK;
    }
    return MLDF_END;
}

/* The record counts images and tokens of all kinds together: where one kind has them all, they are its own. */
static bool part_total(const struct schema_field *field, const struct field_part *part, const uint8_t *record,
                       bool entries, uint64_t *out) {
    const struct multimodal_state *s = field->state;
    for (size_t i = 0; i < s->kinds->field_count; i++) {
        const struct schema_field *kind = &s->kinds->fields[i];
        bool counted = entries ? kind->type->self_describing == FAMILY_IMAGE : mldfi_is_tokens(kind->info.type_id);
        if (counted != (i == part->index))
            return false;
    }
    *out = mldfi_load_u32(record + (entries ? PARTS_IMAGES : PARTS_TOKENS));
    return true;
}

static mldf_status part_column(const struct schema_field *field, const struct field_part *part, const uint8_t *record,
                               uint64_t payload_bytes, const uint8_t *table, mldf_buffer *out, mldf_error *err) {
    const struct multimodal_state *s = field->state;
    uint64_t parts = mldfi_load_u32(record + PARTS_COUNT);
    size_t column = part->index - s->kinds->field_count;
    mldf_status status = MLDF_OK;
    for (uint64_t i = 0; i < parts && status == MLDF_OK; i++) {
        struct parts_entry e;
        status = mldfi_parts_entry(s, table, parts, payload_bytes, i, &e, err);
        if (status < 0)
            break;
        int32_t kind = e.null ? -1 : e.kind;
        bool image = !e.null && e.of->type->self_describing == FAMILY_IMAGE;
        int64_t number = 0;
        if (column == COLUMN_GROUPS)
            number = (int64_t)e.group;
        else if (column == COLUMN_BEGINS)
            number = e.begin;
        else if (column == COLUMN_LENGTHS)
            number = (int64_t)mldfi_parts_length(&e);
        else if (image)
            number = mldfi_load_u16(e.record + (column == COLUMN_HEIGHTS ? IMAGE_HEIGHT : IMAGE_WIDTH));
        status = column == COLUMN_KINDS ? mldf_buffer_append(out, &kind, sizeof kind, err)
                                        : mldf_buffer_append(out, &number, sizeof number, err);
    }
    return status;
}

/* ---- As text --------------------------------------------------------------------------------------------------------------------- */

static mldf_status part_json(const struct multimodal_state *s, const mldf_value *value, uint64_t index, bool full,
                             mldf_buffer *out, mldf_error *err) {
    uint64_t parts = mldfi_load_u32((const uint8_t *)value->record + PARTS_COUNT);
    struct parts_entry e;
    TRY(mldfi_parts_entry(s, value->data, parts, value->bytes, index, &e, err));
    mldf_status status = mldfi_buffer_printf(out, err, "%s{\"role\":", index ? "," : "");
    if (status == MLDF_OK)
        status = mldfi_json_append_string(out, e.of->name, strlen(e.of->name), err);
    if (status == MLDF_OK && e.group)
        status = mldfi_buffer_printf(out, err, ",\"group\":%" PRIu32, e.group);
    if (status == MLDF_OK && e.begin)
        status = mldfi_buffer_printf(out, err, ",\"begin\":%" PRId64, e.begin);
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_value part = {.kind = MLDF_KIND_NULL};
    if (status == MLDF_OK && !e.null)
        status = mldfi_field_decode(e.of, e.record, 0, (const uint8_t *)value->data + e.offset, e.bytes, 0, &scratch,
                                    &part, err);
    mldf_status shown = MLDF_END;
    if (status == MLDF_OK && e.null)
        status = mldfi_buffer_append_text(out, ",\"value\":null", err);
    else if (status == MLDF_OK) {
        size_t before = out->size;
        status = mldfi_buffer_append_text(out, ",\"value\":", err);
        if (status == MLDF_OK && e.of->info.type_id == MLDF_JSON &&
            mldfi_json_validate(part.data, part.bytes, NULL) == MLDF_OK)
            shown = mldf_buffer_append(out, part.data, (size_t)part.bytes, err);
        else if (status == MLDF_OK && e.of->type->value_json)
            shown = e.of->type->value_json(e.of, &part, full, out, err);
        if (status == MLDF_OK && shown < 0)
            status = shown;
        else if (status == MLDF_OK && shown != MLDF_OK) {
            out->size = before + strlen(",\"value\":");
            status = mldfi_parts_plain_json(&part, full, out, err);
        }
    }
    mldf_buffer_free(&scratch);
    return status < 0 ? status : mldfi_buffer_append_text(out, "}", err);
}

static mldf_status value_json(const struct schema_field *field, const mldf_value *value, bool full, mldf_buffer *out,
                              mldf_error *err) {
    const struct multimodal_state *s = field->state;
    const uint8_t *record = value->record;
    if (!record || value->record_bytes != PARTS_RECORD)
        return MLDF_END;
    bool table = value->data && value->bytes; /* otherwise what the record says */
    uint64_t parts = table ? mldfi_load_u32(record + PARTS_COUNT) : 0;
    mldf_status status = table ? mldfi_parts_check_record(s, record, value->bytes, err) : MLDF_OK;
    if (status == MLDF_OK)
        status = mldfi_buffer_printf(
            out, err,
            "{\"bytes\":%" PRIu64 ",\"count\":%" PRIu32 ",\"tokens\":%" PRIu32 ",\"images\":%" PRIu32
            ",\"pixels\":%" PRIu64 ",\"samples\":%" PRIu64 ",\"milliseconds\":%" PRIu64,
            value->bytes, mldfi_load_u32(record + PARTS_COUNT), mldfi_load_u32(record + PARTS_TOKENS),
            mldfi_load_u32(record + PARTS_IMAGES), mldfi_load_u64(record + PARTS_PIXELS),
            mldfi_load_u64(record + PARTS_SAMPLES), mldfi_load_u64(record + PARTS_MILLISECONDS));
    if (status == MLDF_OK && table)
        status = mldfi_buffer_append_text(out, ",\"parts\":[", err);
    for (uint64_t i = 0; i < parts && status == MLDF_OK; i++)
        status = part_json(s, value, i, full, out, err);
    return status < 0 ? status : mldfi_buffer_append_text(out, table ? "]}" : "}", err);
}

static bool same(const mldf_value *a, const mldf_value *b) {
    const uint8_t *x = a->record, *y = b->record;
    return x && y && a->record_bytes == PARTS_RECORD && b->record_bytes == PARTS_RECORD &&
           memcmp(x + PARTS_MASK, y + PARTS_MASK, PARTS_RECORD - PARTS_MASK) == 0;
}

static mldf_status open_worker(void *user, void **worker, mldf_error *err) {
    (void)user;
    *worker = mldfi_alloc_zero(1, sizeof(struct media_kit), err);
    return *worker ? MLDF_OK : MLDF_E_MEMORY;
}

static void close_worker(void *user, void *worker) {
    (void)user;
    mldfi_kit_free(worker);
    free(worker);
}

const struct field_type mldfi_type_multimodal = {
    .type = {sizeof(mldf_type), MLDF_MULTIMODAL, "multimodal", NULL, bind, unbind, mldfi_multimodal_encode, decode},
    .name = "multimodal",
    .draft_differs = true,
    .observe = observe,
    .never_compressed = true,
    .in_chunks = true,
    .by_arguments = true,
    .describes_records = true,
    .argument_names = argument_names,
    .canonical = canonical,
    .check_deep = check_deep,
    .holds_packed = mldfi_parts_hold_packed,
    .part = part,
    .part_edge = part_edge,
    .part_table = part_table,
    .part_entry = part_entry,
    .part_total = part_total,
    .part_column = part_column,
    .value_json = value_json,
    .same = same,
    .letter = 'm',
    .open_worker = open_worker,
    .close_worker = close_worker,
    .encode_worker = mldfi_multimodal_encode_worker,
};
