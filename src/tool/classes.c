/* The names of classes: the card's "classes", a list whose i-th name is that of label i. It is meant for the field "label", or for the only
 * INT field where none is called so; {"classes": {"FIELD": [...]}} names fields. head, stats and --where show and take these names. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "mldf/tool.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"

/* Read once, for the classes of all fields that are asked for. */
struct class_card {
    mldf_buffer text;
    struct json json;
    atomic_size_t users;
};

struct mldf_classes {
    struct class_card *card;
    uint32_t *nodes; /* the node of each name */
    size_t count;
};

/* Is a plain list meant for this field? */
static bool is_meant(const mldf_schema *schema, size_t field) {
    size_t integers = 0, at;
    if (mldf_schema_find(schema, "label", &at, NULL) == MLDF_OK && mldf_schema_field(schema, at)->type_id == MLDF_INT)
        return at == field;
    for (size_t i = 0; i < mldf_schema_field_count(schema); i++)
        integers += mldf_schema_field(schema, i)->type_id == MLDF_INT;
    return integers == 1;
}

/* The list of names, or UINT32_MAX. */
static uint32_t find_list(const struct json *json, const mldf_schema *schema, size_t field) {
    const mldf_field *info = mldf_schema_field(schema, field);
    if (info->type_id != MLDF_INT || info->dtype == MLDF_BOOL || json->nodes[0].kind != MLDFI_JSON_OBJECT)
        return UINT32_MAX;
    uint32_t at = mldfi_json_find(json, 0, "classes");
    if (at != UINT32_MAX && json->nodes[at].kind == MLDFI_JSON_OBJECT)
        at = mldfi_json_find(json, at, info->name);
    else if (at != UINT32_MAX && !is_meant(schema, field))
        return UINT32_MAX;
    return at != UINT32_MAX && json->nodes[at].kind == MLDFI_JSON_ARRAY ? at : UINT32_MAX;
}

static mldf_status index_names(struct mldf_classes *c, uint32_t list, mldf_error *err) {
    const struct json *json = &c->card->json;
    uint32_t count = json->nodes[list].count, at = mldfi_json_first(json, list);
    if (!(c->nodes = mldfi_alloc_zero((size_t)count + 1, sizeof *c->nodes, err)))
        return MLDF_E_MEMORY;
    for (uint32_t i = 0; i < count; i++, at = json->nodes[at].next) {
        if (json->nodes[at].kind != MLDFI_JSON_STRING)
            return MLDF_ABSENT;
        c->nodes[c->count++] = at;
    }
    return MLDF_OK;
}

static void release(struct class_card *card) {
    if (atomic_fetch_sub(&card->users, 1) > 1)
        return;
    mldfi_json_free(&card->json);
    mldf_buffer_free(&card->text);
    free(card);
}

static mldf_status one_field(struct class_card *card, const mldf_schema *schema, size_t field, mldf_classes **out,
                             mldf_error *err) {
    uint32_t list = find_list(&card->json, schema, field);
    if (list == UINT32_MAX)
        return MLDF_ABSENT;
    struct mldf_classes *c = mldfi_alloc_zero(1, sizeof *c, err);
    if (!c)
        return MLDF_E_MEMORY;
    c->card = card;
    atomic_fetch_add(&card->users, 1);
    mldf_status status = index_names(c, list, err);
    if (status == MLDF_OK)
        *out = c;
    else
        mldf_classes_free(c);
    return status;
}

mldf_status mldf_classes_of(const mldf_reader *reader, const size_t *fields, size_t count, mldf_classes **out,
                            mldf_error *err) {
    if (!reader || !out || (count && !fields))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_classes_of: a reader, fields and out are needed");
    const mldf_schema *schema = mldf_reader_schema(reader);
    for (size_t i = 0; i < count; i++) {
        out[i] = NULL;
        if (fields[i] >= mldf_schema_field_count(schema))
            return mldfi_fail(err, MLDF_E_NO_FIELD, "there is no field %zu; the file has %zu", fields[i],
                              mldf_schema_field_count(schema));
    }
    struct class_card *card = mldfi_alloc_zero(1, sizeof *card, err);
    if (!card)
        return MLDF_E_MEMORY;
    atomic_init(&card->users, 1);
    bool any = false;
    mldf_status status = mldf_reader_card(reader, &card->text, err);
    if (status == MLDF_OK && card->text.size == 0)
        status = MLDF_ABSENT;
    if (status == MLDF_OK)
        status = mldfi_json_parse(&card->json, (const char *)card->text.data, card->text.size, err);
    for (size_t i = 0; i < count && status == MLDF_OK; i++) {
        mldf_status found = one_field(card, schema, fields[i], &out[i], err);
        any = any || found == MLDF_OK;
        status = found < 0 ? found : MLDF_OK;
    }
    for (size_t i = 0; status < 0 && i < count; i++) {
        mldf_classes_free(out[i]);
        out[i] = NULL;
    }
    release(card);
    return status == MLDF_OK && !any ? MLDF_ABSENT : status;
}

mldf_status mldf_classes_new(const mldf_reader *reader, size_t field, mldf_classes **out, mldf_error *err) {
    return mldf_classes_of(reader, &field, 1, out, err);
}

size_t mldf_classes_count(const mldf_classes *c) {
    return c ? c->count : 0;
}

const char *mldf_classes_name(const mldf_classes *c, uint64_t number, size_t *bytes) {
    if (!c || number >= c->count)
        return NULL;
    const struct json_node *node = &c->card->json.nodes[c->nodes[number]];
    *bytes = (size_t)node->text_bytes;
    return node->text;
}

bool mldf_classes_find(const mldf_classes *c, const char *name, size_t bytes, uint64_t *number) {
    for (size_t i = 0; c && i < c->count; i++) {
        const struct json_node *node = &c->card->json.nodes[c->nodes[i]];
        if (node->text_bytes == bytes && (bytes == 0 || memcmp(node->text, name, bytes) == 0)) {
            *number = i;
            return true;
        }
    }
    return false;
}

void mldf_classes_free(mldf_classes *c) {
    if (!c)
        return;
    release(c->card);
    free(c->nodes);
    free(c);
}
