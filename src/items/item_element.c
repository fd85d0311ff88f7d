/* One entry of a row's value, for fields that go along the entries which are a view's items: the transcript of a segment, its speaker, its score. Of
 * an array that is a slice of its first dimension, of a JSON array an element. */
#include <inttypes.h>
#include <string.h>

#include "items/items.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"

void mldfi_item_element_edge(struct edge *edge) {
    if (edge->kind != VALUE_ARRAY || edge->ndim == 0)
        return; /* bytes: as long as the element is */
    edge->ndim--;
    memmove(edge->dims, edge->dims + 1, edge->ndim * sizeof *edge->dims);
    memmove(edge->most, edge->most + 1, edge->ndim * sizeof *edge->most);
    mldfi_edge_unname(edge);
}

static mldf_status no_entry(const mldf_reader *reader, size_t field, const struct item_place *place, uint64_t entries,
                            mldf_error *err) {
    const char *name = reader->schema->fields[field].name;
    mldfi_fail(err, MLDF_E_CORRUPT,
               "row %" PRIu64 ", field %s has %" PRIu64 " entries, and the item is number %" PRIu64, place->row, name,
               entries, place->within);
    mldfi_error_place(err, place->row, name);
    return mldfi_reader_name_error(reader, err, MLDF_E_CORRUPT);
}

/* The text of a string, the JSON of all else. */
static mldf_status json_entry(const mldf_reader *reader, size_t field, const struct item_place *place,
                              mldf_buffer *scratch, mldf_value *value, mldf_error *err) {
    struct json json = {0};
    mldf_status status = mldfi_json_parse(&json, value->data, (size_t)value->bytes, err);
    if (status < 0) {
        mldfi_json_free(&json);
        mldfi_error_place(err, place->row, reader->schema->fields[field].name);
        return mldfi_reader_name_error(reader, err, status);
    }
    bool list = json.nodes[0].kind == MLDFI_JSON_ARRAY;
    uint64_t entries = list ? json.nodes[0].count : 0;
    uint32_t at = mldfi_json_first(&json, 0);
    for (uint64_t k = 0; list && k < place->within && k < entries; k++)
        at = json.nodes[at].next;
    scratch->size = 0;
    if (place->within >= entries)
        status = no_entry(reader, field, place, entries, err);
    else if (json.nodes[at].kind == MLDFI_JSON_STRING)
        status = mldf_buffer_append(scratch, json.nodes[at].text, (size_t)json.nodes[at].text_bytes, err);
    else
        status = mldfi_json_canonical(&json, at, scratch, err);
    mldfi_json_free(&json);
    *value = (mldf_value){.kind = MLDF_KIND_TEXT, .data = scratch->data, .bytes = scratch->size};
    return status;
}

mldf_status mldfi_item_element(const mldf_reader *reader, size_t field, const struct item_place *place,
                               mldf_buffer *aside, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    bool array = reader->schema->fields[field].info.type_id != MLDF_JSON;
    mldf_status status = mldf_reader_get(reader, place->row, field, array ? scratch : aside, out, err);
    if (status < 0 || out->kind == MLDF_KIND_NULL)
        return status;
    if (!array)
        return json_entry(reader, field, place, scratch, out, err);
    uint64_t entries = out->kind == MLDF_KIND_ARRAY && out->ndim ? out->dims[0] : 0;
    if (place->within >= entries)
        return no_entry(reader, field, place, entries, err);
    uint64_t step = out->bytes / entries;
    out->ndim--;
    memmove(out->dims, out->dims + 1, out->ndim * sizeof *out->dims);
    out->data = step ? (const uint8_t *)out->data + place->within * step : NULL;
    out->bytes = step;
    out->record = NULL; /* it speaks of the whole value */
    out->record_bytes = 0;
    return MLDF_OK;
}
