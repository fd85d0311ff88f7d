/* What all foreign formats share (see foreign.h): values made up in scratch, and decoded by the field's own type. */
#include "reader/foreign.h"

#include <string.h>

#include "util/buffer.h"
#include "util/error.h"

mldf_status mldfi_foreign_value(mldf_buffer *scratch, const void *record, uint32_t record_bytes, const void *data,
                                uint64_t bytes, bool copy, mldf_value *out, mldf_error *err) {
    uint8_t *place, *data_place = NULL;
    if (!scratch)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "values of this format need a scratch buffer");
    mldf_status status = mldfi_scratch_place(scratch, record_bytes, 0, &place, err);
    if (status < 0)
        return status;
    memcpy(place, record, record_bytes);
    size_t record_at = (size_t)(place - scratch->data);
    if (copy && bytes) {
        if ((status = mldfi_scratch_place(scratch, (size_t)bytes, 0, &data_place, err)) < 0)
            return status;
        memcpy(data_place, data, (size_t)bytes);
    }
    memset(out, 0, sizeof *out);
    out->kind = MLDF_KIND_STORED;
    out->record = scratch->data + record_at;
    out->record_bytes = record_bytes;
    out->data = data_place ? data_place : bytes ? data : NULL;
    out->bytes = bytes;
    return MLDF_OK;
}

mldf_status mldfi_foreign_get(const mldf_reader *reader, uint64_t sample, size_t field, bool stored,
                              mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    const struct schema_field *f = &reader->schema->fields[field];
    mldf_status status =
        reader->foreign.ops->get(reader->foreign.state, sample, field, reader->verify, scratch, out, err);
    if (status >= 0 && out->kind != MLDF_KIND_NULL && !stored)
        status = mldfi_field_decode(f, out->record, 0, out->data, out->bytes, 0, scratch, out, err);
    if (status < 0) {
        mldfi_reader_name_error(reader, err, status);
        mldfi_error_place(err, sample, f->info.name);
    }
    return status;
}
