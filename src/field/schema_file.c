/* Between a schema and the descriptors of a file. A field is added as the file has it: what the file says of offsets
 * and sizes counts, and a known type is asked whether it agrees (rule O36). A type that is not known stays listed, so
 * that its values can be copied and verified. format/descriptor.c has checked each descriptor by itself before. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* Whatever a type says of arguments from a file, the file is at fault; only a lack of memory stays what it is. */
static mldf_status blame_file(mldf_status status, const struct descriptor *descriptor, const mldf_error *why,
                              mldf_error *err) {
    if (status == MLDF_E_MEMORY) {
        if (err)
            *err = *why;
        return status;
    }
    return mldfi_fail_at(err, MLDF_E_CORRUPT, descriptor->arguments_offset, "%s", why->message);
}

/* Canonical text of the arguments, and, for a private id, its type: known only when id and name agree. */
static mldf_status read_arguments(const mldf_schema *schema, const struct descriptor *descriptor, const char *text,
                                  size_t bytes, mldf_buffer *out, const struct field_type **type, mldf_error *err) {
    struct json json = {0};
    mldf_status status = mldfi_arguments_parse(&json, text, bytes, err);
    *type = mldfi_builtin_type(descriptor->type_id);
    if (status == MLDF_OK && descriptor->type_id >= MLDF_PRIVATE) {
        uint32_t at = mldfi_json_find(&json, 0, "type");
        *type = mldfi_context_type(schema->context, descriptor->type_id);
        if (at == UINT32_MAX || json.nodes[at].kind != MLDFI_JSON_STRING || json.nodes[at].text_bytes == 0)
            status = mldfi_fail(err, MLDF_E_SCHEMA, "the arguments of private type %u have no \"type\"",
                                descriptor->type_id);
        else if (*type && !mldfi_json_is_text(&json, at, (*type)->name))
            *type = NULL;
    }
    if (status == MLDF_OK)
        status = mldfi_json_canonical(&json, 0, out, err);
    mldfi_json_free(&json);
    return status;
}

static mldf_status compare_layout(const struct schema_field *field, const struct descriptor *d, uint64_t offset,
                                  mldf_error *err) {
    uint16_t payload = d->flags & (MLDF_FIELD_SIZE32 | MLDF_FIELD_SIZE64);
    if (payload != field->layout.payload_flag)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 66,
                             "the descriptor gives the payload form %u, and type %s has %u", payload, field->type->name,
                             field->layout.payload_flag);
    if (d->metadata_size != field->layout.record_bytes)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, offset + 68,
                             "the descriptor gives records of %" PRIu32 " bytes, and those of type %s have %" PRIu32,
                             d->metadata_size, field->type->name, field->layout.record_bytes);
    return MLDF_OK;
}

/* A record of the draft's that was copied into a 1.1 file before its type had another one: stays as it is, undecoded. Its form tells, or, where the newer
 * one has the same, that there are no arguments. */
static bool is_draft_form(const struct descriptor *d, const struct field_type *type, const char *arguments) {
    uint16_t payload = d->flags & (MLDF_FIELD_SIZE32 | MLDF_FIELD_SIZE64);
    return type->draft_differs && payload == mldfi_type_payload_flag(d->type_id) &&
           (payload == MLDF_FIELD_SIZE32 || strcmp(arguments, "{}") == 0);
}

/* A 1.0 file has no arguments that count: its types are known where they need none and agree with the descriptor. */
static mldf_status bind_draft(struct schema_field *field, const struct descriptor *d, mldf_error *err) {
    const struct field_type *type = mldfi_builtin_type(d->type_id);
    const char *arguments = "{}";
    mldf_error why;
    if (d->type_id == MLDF_INT && (d->metadata_size == 1 || d->metadata_size == 2 || d->metadata_size == 4)) {
        type = &mldfi_type_draft_int;
        arguments = d->metadata_size == 1   ? "{\"dtype\":\"|i1\"}"
                    : d->metadata_size == 2 ? "{\"dtype\":\"<i2\"}"
                                            : "{\"dtype\":\"<i4\"}";
    }
    field->arguments = mldfi_copy_text(arguments, strlen(arguments), err);
    if (!field->arguments)
        return MLDF_E_MEMORY;
    mldf_status status = type ? mldfi_field_bind(field, type, &why) : MLDF_OK;
    if (status == MLDF_E_MEMORY)
        return blame_file(status, d, &why, err);
    if (field->type && (status < 0 || compare_layout(field, d, 0, NULL) < 0)) {
        if (type->type.unbind)
            type->type.unbind(type->type.user, field->state);
        field->type = NULL;
        field->state = NULL;
    }
    return MLDF_OK;
}

static mldf_status bind_descriptor(const mldf_schema *schema, struct schema_field *field, const struct descriptor *d,
                                   const char *arguments, size_t arguments_bytes, uint64_t offset, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    const struct field_type *type;
    mldf_error why;
    mldf_status status = read_arguments(schema, d, arguments, arguments_bytes, &text, &type, &why);
    if (status == MLDF_OK && !(field->arguments = mldfi_copy_text((const char *)text.data, text.size, &why)))
        status = MLDF_E_MEMORY;
    mldf_buffer_free(&text);
    if (status == MLDF_OK && type && !is_draft_form(d, type, field->arguments))
        status = mldfi_field_bind(field, type, &why);
    if (status < 0)
        return blame_file(status, d, &why, err);
    return field->type ? compare_layout(field, d, offset, err) : MLDF_OK;
}

static void fill_info(struct schema_field *field, const struct descriptor *d) {
    field->info.type_id = d->type_id;
    field->info.flags = d->flags & (uint16_t)~FORMAT_FIELD_CHUNKED;
    field->chunked = d->flags & FORMAT_FIELD_CHUNKED;
    field->info.record_bytes = d->metadata_size;
    field->info.record_align = d->row_align;
    field->info.row_offset = d->row_offset;
    field->info.known = field->type != NULL;
    field->info.type_name = field->type ? field->type->name : mldfi_type_name(d->type_id);
    if (!field->info.type_name)
        field->info.type_name = "unknown";
    if (field->type && field->type->describe)
        field->type->describe(field->state, &field->info);
    field->layout.record_bytes = d->metadata_size;
    field->layout.record_align = d->row_align;
    field->layout.payload_flag = d->flags & (MLDF_FIELD_SIZE32 | MLDF_FIELD_SIZE64);
}

/* Where the record goes: as the file says, behind the one before; in a 1.0 file at the next aligned byte. */
static mldf_status place_record(const mldf_schema *schema, struct descriptor *d, bool draft, uint64_t offset,
                                mldf_error *err) {
    struct row_cursor row = {0, schema->row_align};
    if (schema->field_count > 0) {
        const mldf_field *last = &schema->fields[schema->field_count - 1].info;
        row.end = last->row_offset + last->record_bytes;
    }
    if (!draft)
        return mldfi_row_add(&row, d, offset, err);
    d->row_offset = (uint32_t)mldfi_align_up(row.end, d->row_align); /* 65535 records of 64 KiB stay below 4 GiB */
    return MLDF_OK;
}

mldf_status mldfi_schema_add_descriptor(mldf_schema *schema, const struct descriptor *descriptor, const char *arguments,
                                        size_t arguments_bytes, bool draft, uint64_t offset, mldf_error *err) {
    struct descriptor d = *descriptor;
    struct schema_field field = {0};
    mldf_status status = MLDF_OK;
    if (mldfi_schema_lookup(schema, d.name) != SIZE_MAX)
        status = mldfi_fail_at(err, MLDF_E_CORRUPT, offset, "two fields have this name");
    if (status == MLDF_OK)
        status = place_record(schema, &d, draft, offset, err);
    if (status == MLDF_OK && !(field.name = mldfi_copy_text(d.name, strlen(d.name), err)))
        status = MLDF_E_MEMORY;
    if (status == MLDF_OK)
        status = draft ? bind_draft(&field, &d, err)
                       : bind_descriptor(schema, &field, &d, arguments, arguments_bytes, offset, err);
    if (status == MLDF_OK) {
        fill_info(&field, &d);
        return mldfi_schema_push(schema, &field, err);
    }
    mldfi_schema_field_free(&field);
    mldfi_error_place(err, MLDF_NONE, d.name);
    mldfi_error_prefix(err, "field \"%s\"", d.name);
    return status;
}

void mldfi_schema_descriptor(const mldf_schema *schema, size_t field, struct descriptor *out, bool *long_arguments) {
    const struct schema_field *f = &schema->fields[field];
    size_t bytes = strlen(f->arguments);
    if (strcmp(f->arguments, "{}") == 0)
        bytes = 0;
    memset(out, 0, sizeof *out);
    memcpy(out->name, f->name, strnlen(f->name, MLDF_NAME_MAX));
    out->type_id = f->info.type_id;
    out->flags = (uint16_t)(f->info.flags | (f->chunked ? FORMAT_FIELD_CHUNKED : 0));
    out->metadata_size = f->info.record_bytes;
    out->row_offset = f->info.row_offset;
    out->row_align = (uint16_t)f->info.record_align;
    if (f->type == &mldfi_type_draft_int) /* what is written has the records of this version */
        out->metadata_size = out->row_align = 8;
    *long_arguments = bytes > FORMAT_ARGUMENT_BYTES;
    out->arguments_bytes = *long_arguments ? FORMAT_LONG_ARGUMENTS : (uint16_t)bytes;
    if (!*long_arguments)
        memcpy(out->arguments, f->arguments, bytes);
}
