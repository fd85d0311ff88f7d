/* Which samples a state was taken of, so that a run does not go on, unnoticed, with other data of the same size: hashes of a few samples' keys
 * and values. They are of what a sample is, not of how it is stored: files that were copied, divided, joined, compressed or encoded anew have the
 * same (docs/decisions/12-states-know-their-samples.md).
 *
 *     "keys":"5f0c…","values":{"label":"i33a1…","text":"b90e…","image":"p71d4…"}
 *
 * Keys say it best: where both sides have them, nothing else is looked at. Values are compared field by field, as far as both sides have the
 * field as the same kind of thing; an image, which may have been made smaller, counts only where there is nothing else. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "field/type.h"
#include "loader/loader.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/json.h"

enum {
    ROW_SAMPLES = 16,      /* of keys and of what stands in rows */
    PAYLOAD_SAMPLES = 3,   /* the first, the middle and the last */
    IN_ROW_MOST = 2,       /* fields */
    ENDS = 4096,           /* of a long value its length, its beginning and its end count */
    VALUE_MOST = 64 << 20, /* fields with longer values are left out: a state should be there soon */
    IDENTITY_FIELDS = 4,
    IDENTITY_NAME = 41,
    IDENTITY_HASH = 18,
};

struct identity_field {
    char name[IDENTITY_NAME];
    char hash[IDENTITY_HASH]; /* a letter and 16 hexadecimal digits */
};

struct hashes {
    char keys[IDENTITY_HASH]; /* "": no keys */
    struct identity_field fields[IDENTITY_FIELDS];
    size_t count;
};

/* States are taken of a loader that is const. */
struct identity {
    pthread_mutex_t lock;
    bool known; /* and then never written again */
    struct hashes hashes;
};

/* ---- Hashing ---------------------------------------------------------------------------------------------------------------- */

/* What kind of thing a field is, also where its type is not known here: a field of the 1.0 draft. */
static char letter_of(const struct schema_field *field) {
    const struct field_type *type = field->type ? field->type : mldfi_builtin_type(field->info.type_id);
    return type && type->letter ? type->letter : 'u';
}

static bool is_in_row(char letter) {
    return letter == 'i' || letter == 'f' || letter == 's';
}

static uint64_t absorb_value(uint64_t hash, const mldf_value *v) {
    uint8_t head[8 + 8 + 8 * MLDF_MAX_DIMS] = {0};
    size_t head_bytes = 16;
    bool number = v->kind == MLDF_KIND_INT || v->kind == MLDF_KIND_UINT || v->kind == MLDF_KIND_FLOAT;
    bool data = v->kind != MLDF_KIND_NULL && !number;
    head[0] = v->kind == MLDF_KIND_NULL;
    if (number)
        mldfi_store_u64(head + 8, v->as.u); /* a float's bits, too */
    else if (data)
        mldfi_store_u64(head + 8, v->bytes);
    if (v->kind == MLDF_KIND_ARRAY) {
        head[1] = (uint8_t)v->dtype;
        for (uint32_t i = 0; i < v->ndim && i < MLDF_MAX_DIMS; i++, head_bytes += 8)
            mldfi_store_u64(head + head_bytes, v->dims[i]);
    }
    hash = XXH64(head, head_bytes, hash);
    if (!data || !v->bytes)
        return hash;
    const uint8_t *bytes = v->data;
    if (v->bytes <= 2 * ENDS)
        return XXH64(bytes, (size_t)v->bytes, hash);
    return XXH64(bytes + v->bytes - ENDS, ENDS, XXH64(bytes, ENDS, hash));
}

const mldf_reader *mldfi_dataset_spread(const struct dataset *dataset, uint64_t i, uint64_t most, uint64_t *sample) {
    uint64_t last = dataset->first[dataset->count] - 1;
    size_t reader = 0;
    *sample = most < 2 ? 0 : last / (most - 1) * i + last % (most - 1) * i / (most - 1);
    while (*sample >= dataset->first[reader + 1])
        reader++;
    *sample -= dataset->first[reader];
    return dataset->readers[reader];
}

static mldf_status absorb_field(const mldf_reader *reader, uint64_t sample, const char *name, mldf_buffer *scratch,
                                uint64_t *hash, mldf_error *err) {
    size_t field = mldfi_schema_lookup(reader->schema, name);
    mldf_value value = {.kind = MLDF_KIND_NULL};
    mldf_status status = MLDF_OK;
    if (field != SIZE_MAX && letter_of(&reader->schema->fields[field]) == 'u')
        status = mldf_reader_get_stored(reader, sample, field, scratch, &value, err);
    else if (field != SIZE_MAX)
        status = mldf_reader_get(reader, sample, field, scratch, &value, err);
    if (status >= 0)
        *hash = absorb_value(*hash, &value);
    return status;
}

/* The kind of field that the name means; 0: no file has it, or its values are long. */
static char find_letter(const struct dataset *dataset, const char *name) {
    char letter = 0;
    for (size_t r = 0; r < dataset->count; r++) {
        const mldf_reader *reader = dataset->readers[r];
        size_t field = mldfi_schema_lookup(reader->schema, name);
        mldf_field_stats stats = MLDF_FIELD_STATS_INIT;
        if (field == SIZE_MAX)
            continue;
        if (!letter)
            letter = letter_of(&reader->schema->fields[field]);
        if (mldf_reader_stats(reader, field, &stats, NULL) == MLDF_OK && stats.value_bytes_max > VALUE_MOST)
            return 0;
    }
    return letter;
}

/* MLDF_END: nothing can be said of this field, because a sample cannot be read, or nobody has the field. */
static mldf_status hash_field(const struct dataset *dataset, const char *name, struct identity_field *out,
                              mldf_error *err) {
    uint64_t samples = dataset->first[dataset->count], hash = 0;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    char letter = find_letter(dataset, name);
    if (!letter || samples == 0)
        return MLDF_END;
    uint64_t most = is_in_row(letter) ? ROW_SAMPLES : PAYLOAD_SAMPLES;
    most = samples < most ? samples : most;
    mldf_status status = MLDF_OK;
    for (uint64_t i = 0; i < most && status >= 0; i++) {
        uint64_t sample;
        const mldf_reader *reader = mldfi_dataset_spread(dataset, i, most, &sample);
        scratch.size = 0;
        status = absorb_field(reader, sample, name, &scratch, &hash, err);
    }
    mldf_buffer_free(&scratch);
    if (status < 0) /* who needs the sample will be told */
        return status == MLDF_E_MEMORY ? status : MLDF_END;
    (void)snprintf(out->name, sizeof out->name, "%s", name);
    (void)snprintf(out->hash, sizeof out->hash, "%c%016" PRIx64, letter, hash);
    return MLDF_OK;
}

static mldf_status hash_keys(const struct dataset *dataset, char out[IDENTITY_HASH], mldf_error *err) {
    uint64_t samples = dataset->first[dataset->count], hash = 0;
    uint64_t most = samples < ROW_SAMPLES ? samples : ROW_SAMPLES;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    for (size_t r = 0; r < dataset->count; r++)
        if (dataset->first[r + 1] > dataset->first[r] && !mldf_reader_has_keys(dataset->readers[r]))
            return MLDF_OK;
    for (uint64_t i = 0; i < most && status >= 0; i++) {
        uint64_t sample;
        const mldf_reader *reader = mldfi_dataset_spread(dataset, i, most, &sample);
        const char *key = NULL;
        size_t bytes = 0;
        status = mldf_reader_key(reader, sample, &scratch, &key, &bytes, err);
        if (status >= 0)
            hash = absorb_value(hash, &(mldf_value){.kind = MLDF_KIND_BYTES, .data = key, .bytes = bytes});
    }
    mldf_buffer_free(&scratch);
    if (status >= 0 && most)
        (void)snprintf(out, IDENTITY_HASH, "k%016" PRIx64, hash);
    return status == MLDF_E_MEMORY ? status : MLDF_OK;
}

/* ---- Which fields ------------------------------------------------------------------------------------------------------------- */

/* Up to `most` fields in all, of those for which want(letter) is true. */
static mldf_status gather(const struct dataset *dataset, bool (*want)(char), size_t most, struct hashes *out,
                          mldf_error *err) {
    bool own = !dataset->made_by_view && !(dataset->view && dataset->view->steps);
    const mldf_schema *schema = own ? dataset->schema : mldf_reader_schema(dataset->readers[0]);
    for (size_t f = 0; f < mldf_schema_field_count(schema) && out->count < most; f++) {
        const struct schema_field *field = &schema->fields[f];
        if (!want(letter_of(field)) || strlen(field->name) >= IDENTITY_NAME)
            continue;
        mldf_status status = hash_field(dataset, field->name, &out->fields[out->count], err);
        if (status < 0)
            return status;
        out->count += status == MLDF_OK;
    }
    return MLDF_OK;
}

/* Images: copies of another size or quality are common. */
static bool is_lossy(char letter) {
    return letter == 'p';
}

static bool is_payload(char letter) {
    return !is_in_row(letter) && !is_lossy(letter);
}

static mldf_status gather_all(const struct dataset *dataset, struct hashes *out, mldf_error *err) {
    mldf_status status = hash_keys(dataset, out->keys, err);
    if (status >= 0)
        status = gather(dataset, is_in_row, IN_ROW_MOST, out, err);
    if (status >= 0)
        status = gather(dataset, is_payload, IDENTITY_FIELDS - 1, out, err);
    if (status >= 0)
        status = gather(dataset, is_lossy, out->count + 1, out, err);
    return status;
}

/* ---- When they are wanted -------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_identity_new(struct identity **out, mldf_error *err) {
    *out = mldfi_alloc_zero(1, sizeof **out, err);
    if (!*out)
        return MLDF_E_MEMORY;
    pthread_mutex_init(&(*out)->lock, NULL);
    return MLDF_OK;
}

void mldfi_identity_free(struct identity *identity) {
    if (!identity)
        return;
    pthread_mutex_destroy(&identity->lock);
    free(identity);
}

/* *out is borrowed from the loader. */
static mldf_status know(const mldf_loader *loader, const struct hashes **out, mldf_error *err) {
    struct identity *identity = loader->identity;
    mldf_status status = MLDF_OK;
    pthread_mutex_lock(&identity->lock);
    if (!identity->known) {
        memset(&identity->hashes, 0, sizeof identity->hashes);
        status = gather_all(&loader->dataset, &identity->hashes, err);
        identity->known = status >= 0;
    }
    pthread_mutex_unlock(&identity->lock);
    *out = &identity->hashes;
    return status;
}

/* ---- In the state ---------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_identity_write(const mldf_loader *loader, mldf_buffer *out, mldf_error *err) {
    const struct hashes *own;
    mldf_status status = know(loader, &own, err);
    if (status >= 0 && own->keys[0])
        status = mldfi_buffer_printf(out, err, ",\"keys\":\"%s\"", own->keys);
    for (size_t i = 0; status >= 0 && i < own->count; i++) {
        const struct identity_field *field = &own->fields[i];
        status = mldfi_buffer_printf(out, err, "%s", i ? "," : ",\"values\":{");
        if (status >= 0)
            status = mldfi_json_append_string(out, field->name, strlen(field->name), err);
        if (status >= 0)
            status = mldfi_buffer_printf(out, err, ":\"%s\"", field->hash);
    }
    return status >= 0 && own->count ? mldf_buffer_append(out, "}", 1, err) : status;
}

/* The hash of a field here; MLDF_END: there is none to compare. */
static mldf_status find_own(const mldf_loader *loader, const struct hashes *hashes, const struct json_node *node,
                            struct identity_field *out, mldf_error *err) {
    if (node->kind != MLDFI_JSON_STRING || node->text_bytes != IDENTITY_HASH - 1 || node->key_bytes >= IDENTITY_NAME)
        return MLDF_END;
    char name[IDENTITY_NAME];
    memcpy(name, node->key, node->key_bytes);
    name[node->key_bytes] = 0;
    for (size_t i = 0; i < hashes->count; i++)
        if (strcmp(hashes->fields[i].name, name) == 0) {
            *out = hashes->fields[i];
            return node->text[0] == out->hash[0] ? MLDF_OK : MLDF_END;
        }
    mldf_status status = hash_field(&loader->dataset, name, out, err);
    return status == MLDF_OK && node->text[0] != out->hash[0] ? MLDF_END : status;
}

static mldf_status check_values(const mldf_loader *loader, const struct hashes *hashes, const struct json *json,
                                uint32_t at, bool lossy, size_t *compared, mldf_error *err) {
    for (uint32_t i = mldfi_json_first(json, at); i < json->nodes[at].next; i = json->nodes[i].next) {
        const struct json_node *node = &json->nodes[i];
        struct identity_field own;
        if (node->kind == MLDFI_JSON_STRING && node->text_bytes > 0 && is_lossy(node->text[0]) != lossy)
            continue;
        mldf_status status = find_own(loader, hashes, node, &own, err);
        if (status < 0)
            return status;
        if (status == MLDF_END)
            continue;
        ++*compared;
        if (!mldfi_json_is_text(json, i, own.hash))
            return mldfi_fail(
                err, MLDF_E_STATE,
                "the state was taken of other samples: field %s had other values than here; to load it all "
                "the same, take \"values\" out of it",
                own.name);
    }
    return MLDF_OK;
}

mldf_status mldfi_identity_check(const mldf_loader *loader, const struct json *json, mldf_error *err) {
    uint32_t keys = mldfi_json_find(json, 0, "keys"), values = mldfi_json_find(json, 0, "values");
    const struct hashes *own;
    size_t compared = 0;
    if (keys == UINT32_MAX && values == UINT32_MAX)
        return MLDF_OK;
    TRY(know(loader, &own, err));
    if (keys != UINT32_MAX && own->keys[0]) {
        if (mldfi_json_is_text(json, keys, own->keys))
            return MLDF_OK;
        return mldfi_fail(err, MLDF_E_STATE,
                          "the state was taken of other samples: their keys were others than here; to load it all "
                          "the same, take \"keys\" and \"values\" out of it");
    }
    if (values == UINT32_MAX || json->nodes[values].kind != MLDFI_JSON_OBJECT ||
        loader->dataset.first[loader->dataset.count] == 0)
        return MLDF_OK;
    mldf_status status = check_values(loader, own, json, values, false, &compared, err);
    if (status >= 0 && !compared)
        status = check_values(loader, own, json, values, true, &compared, err);
    if (status >= 0 && !compared && json->nodes[values].count)
        mldfi_warn(loader->options.context, "whether the state was taken of these samples is not known: it knows none "
                                            "of their fields");
    return status;
}
