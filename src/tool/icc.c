/* See icc.h. */
#include "tool/icc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/image_type.h"
#include "mldf/image.h"
#include "util/base64.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"
#include "writer/writer.h"

void mldfi_icc_free(struct icc_set *set) {
    for (size_t i = 0; i < set->count; i++)
        free(set->profiles[i].base64);
    free(set->profiles);
    free(set->pairs);
    mldf_buffer_free(&set->scratch);
    mldf_buffer_free(&set->encoded);
    memset(set, 0, sizeof *set);
}

/* ---- Fields -------------------------------------------------------------------------------------------------------------- */

/* The field NAME_icc: MLDF_OK, MLDF_END when there is none, MLDF_E_SCHEMA when it is another thing. */
static mldf_status name_field(const mldf_schema *schema, size_t image, char name[MLDF_NAME_MAX + 8], size_t *out,
                              mldf_error *err) {
    snprintf(name, MLDF_NAME_MAX + 8, "%s_icc", schema->fields[image].info.name);
    if (mldf_schema_find(schema, name, out, NULL) != MLDF_OK)
        return MLDF_END;
    const mldf_field *field = &schema->fields[*out].info;
    if (field->type_id == MLDF_TEXT && (field->flags & MLDF_FIELD_NULLABLE))
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_SCHEMA,
                      "field '%s' is not a nullable text, which the colour profiles of '%s' need (\"icc\": \"card\")",
                      name, schema->fields[image].info.name);
}

static mldf_status add_pair(struct icc_set *set, size_t image, size_t name, mldf_error *err) {
    mldf_status status =
        mldfi_array_reserve(&set->pairs, &set->pair_capacity, set->pair_count + 1, sizeof *set->pairs, err);
    if (status == MLDF_OK)
        set->pairs[set->pair_count++] = (struct icc_pair){image, name, ""};
    return status;
}

mldf_status mldfi_icc_add_fields(struct icc_set *set, mldf_schema *schema, mldf_error *err) {
    char name[MLDF_NAME_MAX + 8];
    size_t count = schema->field_count, at = 0;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < count; i++) {
        if (!mldfi_image_icc_in_card(&schema->fields[i]))
            continue;
        status = name_field(schema, i, name, &at, err);
        if (status == MLDF_END) {
            at = schema->field_count;
            status = mldf_schema_add(schema, name, MLDF_TEXT, NULL, MLDF_FIELD_NULLABLE, err);
        }
        if (status == MLDF_OK)
            status = add_pair(set, i, at, err);
    }
    return status;
}

mldf_status mldfi_icc_find_fields(struct icc_set *set, const mldf_schema *schema, mldf_error *err) {
    char name[MLDF_NAME_MAX + 8];
    size_t at = 0;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status >= 0 && i < schema->field_count; i++)
        if (mldfi_image_icc_in_card(&schema->fields[i]) && (status = name_field(schema, i, name, &at, err)) == MLDF_OK)
            status = add_pair(set, i, at, err);
    return status < 0 ? status : MLDF_OK;
}

/* ---- Profiles ------------------------------------------------------------------------------------------------------------ */

static bool known(const struct icc_set *set, const char *name) {
    for (size_t i = 0; i < set->count; i++)
        if (memcmp(set->profiles[i].name, name, ICC_NAME) == 0)
            return true;
    return false;
}

static mldf_status add_profile(struct icc_set *set, const char *name, const char *base64, size_t bytes,
                               mldf_error *err) {
    if (known(set, name))
        return MLDF_OK;
    if (set->count == ICC_PROFILES_MAX || bytes > ICC_BASE64_MAX - set->base64_bytes)
        return mldfi_fail(
            err, MLDF_E_LIMIT,
            "the card would have more than %d colour profiles or %d MiB of them: \"icc\": \"keep\" leaves "
            "them in the images",
            ICC_PROFILES_MAX, ICC_BASE64_MAX >> 20);
    mldf_status status =
        mldfi_array_reserve(&set->profiles, &set->capacity, set->count + 1, sizeof *set->profiles, err);
    char *copy = status == MLDF_OK ? mldfi_copy_text(base64, bytes, err) : NULL;
    if (!copy)
        return MLDF_E_MEMORY;
    struct icc_profile *profile = &set->profiles[set->count++];
    memcpy(profile->name, name, ICC_NAME);
    profile->name[ICC_NAME] = 0;
    profile->base64 = copy;
    set->base64_bytes += bytes;
    return MLDF_OK;
}

static void hash_name(const mldf_buffer *profile, char out[ICC_NAME + 1]) {
    uint8_t digest[32];
    mldf_sha256(profile->data, profile->size, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

/* An image that cannot be read is the writer's to refuse; here it has no profile. */
static mldf_status take_one(struct icc_set *set, struct icc_pair *pair, mldf_value *values, mldf_error *err) {
    const mldf_value *image = &values[pair->image];
    mldf_value *out = &values[pair->name];
    memset(out, 0, sizeof *out);
    if (image->kind != MLDF_KIND_BYTES)
        return MLDF_OK;
    set->scratch.size = set->encoded.size = 0;
    mldf_status status = mldf_image_icc(image->data, (size_t)image->bytes, &set->scratch, err);
    if (status != MLDF_OK)
        return status == MLDF_E_MEMORY ? status : MLDF_OK;
    hash_name(&set->scratch, pair->text);
    out->kind = MLDF_KIND_TEXT;
    out->data = (const uint8_t *)pair->text;
    out->bytes = ICC_NAME;
    if (known(set, pair->text))
        return MLDF_OK;
    status = mldfi_base64_encode(set->scratch.data, set->scratch.size, &set->encoded, err);
    return status < 0 ? status : add_profile(set, pair->text, (const char *)set->encoded.data, set->encoded.size, err);
}

mldf_status mldfi_icc_take(struct icc_set *set, mldf_value *values, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && i < set->pair_count; i++)
        status = take_one(set, &set->pairs[i], values, err);
    return status;
}

/* ---- Cards --------------------------------------------------------------------------------------------------------------- */

/* Members of "icc" that are not profiles by the rules are not ours, and left alone. */
static mldf_status take_members(struct icc_set *set, const struct json *json, mldf_error *err) {
    uint32_t icc = json->nodes[0].kind == MLDFI_JSON_OBJECT ? mldfi_json_find(json, 0, "icc") : UINT32_MAX;
    mldf_status status = MLDF_OK;
    if (icc == UINT32_MAX || json->nodes[icc].kind != MLDFI_JSON_OBJECT)
        return MLDF_OK;
    for (uint32_t i = mldfi_json_first(json, icc); status == MLDF_OK && i < json->nodes[icc].next;
         i = json->nodes[i].next) {
        const struct json_node *node = &json->nodes[i];
        if (node->kind == MLDFI_JSON_STRING && node->key_bytes == ICC_NAME)
            status = add_profile(set, node->key, node->text, (size_t)node->text_bytes, err);
    }
    return status;
}

mldf_status mldfi_icc_take_card(struct icc_set *set, const char *card, size_t card_bytes, mldf_error *err) {
    struct json json = {0};
    if (!card)
        return MLDF_OK;
    mldf_status status = mldfi_json_parse(&json, card, card_bytes, err);
    if (status == MLDF_OK)
        status = take_members(set, &json, err);
    mldfi_json_free(&json);
    return status;
}

static mldf_status put_profiles(const struct icc_set *set, bool first, mldf_buffer *out, mldf_error *err) {
    mldf_status status = mldfi_buffer_printf(out, err, "%s\"icc\":{", first ? "" : ",");
    for (size_t i = 0; status == MLDF_OK && i < set->count; i++) {
        status = mldfi_buffer_printf(out, err, "%s\"%s\":", i ? "," : "", set->profiles[i].name);
        if (status == MLDF_OK)
            status = mldfi_json_append_string(out, set->profiles[i].base64, strlen(set->profiles[i].base64), err);
    }
    return status == MLDF_OK ? mldfi_buffer_append_text(out, "}}", err) : status;
}

static mldf_status put_card(struct icc_set *set, const struct json *json, mldf_buffer *out, mldf_error *err) {
    bool first = true;
    if (json->nodes[0].kind != MLDFI_JSON_OBJECT)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "the card is not a JSON object");
    uint32_t icc = mldfi_json_find(json, 0, "icc");
    if (icc != UINT32_MAX && json->nodes[icc].kind != MLDFI_JSON_OBJECT)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "the card's \"icc\" is not an object, so it cannot take colour profiles");
    mldf_status status = take_members(set, json, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(out, "{", err);
    for (uint32_t i = mldfi_json_first(json, 0); status == MLDF_OK && i < json->nodes[0].next;
         i = json->nodes[i].next) {
        if (i == icc)
            continue;
        if (!first)
            status = mldfi_buffer_append_text(out, ",", err);
        if (status == MLDF_OK)
            status = mldfi_json_append_string(out, json->nodes[i].key, json->nodes[i].key_bytes, err);
        if (status == MLDF_OK)
            status = mldfi_buffer_append_text(out, ":", err);
        if (status == MLDF_OK)
            status = mldfi_json_canonical(json, i, out, err);
        first = false;
    }
    return status == MLDF_OK ? put_profiles(set, first, out, err) : status;
}

mldf_status mldfi_icc_card(struct icc_set *set, const char *card, size_t card_bytes, mldf_buffer *out,
                           mldf_error *err) {
    struct json json = {0};
    mldf_status status = mldfi_json_parse(&json, card ? card : "{}", card ? card_bytes : 2, err);
    if (status == MLDF_OK)
        status = put_card(set, &json, out, err);
    mldfi_json_free(&json);
    return status;
}

mldf_status mldfi_icc_finish(struct icc_set *set, mldf_writer *writer, mldf_error *err) {
    mldf_buffer card = MLDF_BUFFER_INIT;
    if (set->count == 0)
        return MLDF_OK;
    mldf_status status = mldfi_icc_card(set, writer->card, writer->card_bytes, &card, err);
    if (status == MLDF_OK)
        status = mldfi_writer_set_card(writer, (const char *)card.data, card.size, err);
    mldf_buffer_free(&card);
    return status;
}
