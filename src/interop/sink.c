/* Chooses a sink by the name of its format, and what the sinks share. See sink.h. */
#include "interop/sink.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"

mldf_status mldfi_sink_open(struct sample_sink **out, const struct sink_options *options, mldf_error *err) {
    static const struct {
        const char *format;
        mldf_status (*open)(struct sample_sink **, const struct sink_options *, mldf_error *);
        bool streams;
    } sinks[] = {
        {"mldf", mldfi_sink_open_mldf, true},       {"tbl1", mldfi_sink_open_tbl, false},
        {"tbl2", mldfi_sink_open_tbl, false},       {"beton", mldfi_sink_open_beton, false},
        {"tar", mldfi_sink_open_tar, true},         {"tar.gz", mldfi_sink_open_tar, true},
        {"tar.zst", mldfi_sink_open_tar, true},     {"megatron", mldfi_sink_open_tokens, false},
        {"nanogpt", mldfi_sink_open_tokens, false}, {"datatrove", mldfi_sink_open_tokens, false},
    };
    for (size_t i = 0; i < sizeof sinks / sizeof sinks[0]; i++) {
        if (strcmp(options->format, sinks[i].format) != 0)
            continue;
        if (!sinks[i].streams && strcmp(options->path, "-") == 0)
            return mldfi_fail(err, MLDF_E_ARGUMENT,
                              "%s cannot be written to a pipe: its index comes before its data; mldf and tar can",
                              options->format);
        if (options->lz4 && strcmp(options->format, "tbl2") != 0)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "LZ4 is for TBL version 2; %s has none", options->format);
        if ((options->dataset_version != MLDF_NONE || options->created != MLDF_NONE) &&
            strncmp(options->format, "tbl", 3) != 0)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "only TBL files have a dataset version and a time of creation");
        return sinks[i].open(out, options, err);
    }
    return mldfi_fail(
        err, MLDF_E_ARGUMENT,
        "no format is named '%s': mldf, tbl, tbl1, tbl2, beton, tar, tar.gz, tar.zst, megatron, nanogpt and datatrove are",
        options->format);
}

void mldfi_sink_warn_card(const struct sink_options *options, const char *format, const char *const *held) {
    struct json json = {0};
    char names[300] = "";
    size_t used = 0, count = 0;
    if (options->card && mldfi_json_parse(&json, options->card, options->card_bytes, NULL) == MLDF_OK &&
        json.nodes[0].kind == MLDFI_JSON_OBJECT)
        for (uint32_t i = mldfi_json_first(&json, 0); i < json.nodes[0].next; i = json.nodes[i].next) {
            const struct json_node *node = &json.nodes[i];
            size_t k = 0;
            while (held[k] && !(strlen(held[k]) == node->key_bytes && memcmp(held[k], node->key, node->key_bytes) == 0))
                k++;
            if (held[k])
                continue;
            if (used + node->key_bytes + 8 < sizeof names)
                used += (size_t)snprintf(names + used, sizeof names - used, "%s%.*s", count ? ", " : "",
                                         (int)node->key_bytes, node->key);
            count++;
        }
    if (count)
        mldfi_warn(options->writer->context, "the card is left out (%s): %s has no place for it", names, format);
    mldfi_json_free(&json);
}

mldf_status mldfi_sink_json(mldf_buffer *out, const mldf_field *field, const mldf_value *value, mldf_error *err) {
    switch (value->kind) {
    case MLDF_KIND_INT:
        if (field->dtype == MLDF_BOOL)
            return mldfi_buffer_append_text(out, value->as.i ? "true" : "false", err);
        return mldfi_buffer_printf(out, err, "%" PRId64, value->as.i);
    case MLDF_KIND_UINT:
        if (field->dtype == MLDF_BOOL)
            return mldfi_buffer_append_text(out, value->as.u ? "true" : "false", err);
        return mldfi_buffer_printf(out, err, "%" PRIu64, value->as.u);
    case MLDF_KIND_FLOAT:
        return mldfi_json_append_double(out, value->as.f, err);
    case MLDF_KIND_TEXT:
        if (field->type_id == MLDF_JSON)
            return mldf_buffer_append(out, value->data, (size_t)value->bytes, err);
        return mldfi_json_append_string(out, value->data, (size_t)value->bytes, err);
    default:
        return mldfi_fail(err, MLDF_E_TYPE, "a value of this kind has no JSON form");
    }
}

/* ---- Kits --------------------------------------------------------------------------------------------------------------- */

enum { KIT_KEEP = 4 << 20 }; /* a larger buffer goes back after use */

mldf_status mldfi_sink_kit_begin(struct sink_kit *kit, size_t count, mldf_error *err) {
    kit->count = count;
    kit->rooms = mldfi_alloc_zero(count + 1, sizeof *kit->rooms, err);
    kit->images = mldfi_alloc_zero(count + 1, sizeof *kit->images, err);
    kit->files = mldfi_alloc_zero(count + 1, sizeof *kit->files, err);
    return kit->rooms && kit->images && kit->files ? MLDF_OK : MLDF_E_MEMORY;
}

void mldfi_sink_kit_trim(struct sink_kit *kit) {
    for (size_t i = 0; i < kit->count; i++) {
        mldfi_buffer_trim(&kit->rooms[i].work, KIT_KEEP);
        mldfi_buffer_trim(&kit->rooms[i].file, KIT_KEEP);
    }
}

void mldfi_sink_kit_end(struct sink_kit *kit) {
    for (size_t i = 0; kit->rooms && i < kit->count; i++)
        mldfi_export_room_free(&kit->rooms[i]);
    free(kit->rooms);
    free(kit->images);
    free(kit->files);
    memset(kit, 0, sizeof *kit);
}
