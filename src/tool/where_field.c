/* Fields in a predicate: finding them by name while it is compiled, and their values for a sample: whole, or what .name and [index]
 * reach in JSON, in a struct and in an array. See where.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/element.h"
#include "tool/where_parse.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* ---- While compiling ------------------------------------------------------------------------------------------------ */

static const struct where_step *step_of(const struct where *w, const struct where_node *node, size_t i) {
    return &w->steps[node->first_step + i];
}

/* The field whose name is `name` and as many of the steps as possible, joined by dots; *taken of them. */
static bool find_field(const struct where *w, const char *name, size_t first, size_t *field, size_t *taken) {
    char joined[MLDF_NAME_MAX + 1];
    size_t used = strlen(name);
    bool found = false;
    if (used > MLDF_NAME_MAX)
        return false;
    memcpy(joined, name, used + 1);
    for (size_t i = 0;; i++) {
        size_t at;
        if (mldf_schema_find(mldf_reader_schema(w->reader), joined, &at, NULL) == MLDF_OK) {
            *field = at;
            *taken = i;
            found = true;
        }
        if (first + i >= w->step_count || !w->steps[first + i].name)
            return found;
        size_t bytes = strlen(w->steps[first + i].name);
        if (used + 1 + bytes > MLDF_NAME_MAX)
            return found;
        joined[used++] = '.';
        memcpy(joined + used, w->steps[first + i].name, bytes + 1);
        used += bytes;
    }
}

static mldf_status find_slot(struct parser *p, size_t field, uint32_t *out) {
    struct where *w = p->where;
    for (size_t i = 0; i < w->slot_count; i++)
        if (w->slots[i].field == field) {
            *out = (uint32_t)i;
            return MLDF_OK;
        }
    TRY(mldfi_array_reserve(&w->slots, &w->slot_capacity, w->slot_count + 1, sizeof *w->slots, p->err));
    memset(&w->slots[w->slot_count], 0, sizeof *w->slots);
    w->slots[w->slot_count].field = field;
    *out = (uint32_t)w->slot_count++;
    return MLDF_OK;
}

static where_type element_type(mldf_dtype dtype) {
    return dtype == MLDF_BOOL ? TYPE_BOOL : dtype >= MLDF_C64 ? TYPE_ARRAY : TYPE_NUMBER;
}

/* The leaf of an inline field that the names among the steps spell; without names only a bare array has one. */
static mldf_status find_member(struct parser *p, struct where_node *node, const mldf_field *field) {
    struct where *w = p->where;
    char path[256] = "";
    size_t indexes = 0, used = 0, ndim_left;
    for (size_t i = 0; i < node->count; i++) {
        const char *name = step_of(w, node, i)->name;
        indexes += name == NULL;
        if (name && used < sizeof path)
            used += (size_t)snprintf(path + used, sizeof path - used, "%s%s", used ? "." : "", name);
    }
    mldf_status status = MLDF_OK;
    for (size_t i = 0; status == MLDF_OK && !node->has_member; i++) {
        status = mldf_field_member(mldf_reader_schema(w->reader), w->slots[node->slot].field, i, &node->member, p->err);
        node->has_member = status == MLDF_OK && strcmp(node->member.path, path) == 0;
    }
    if (status < 0)
        return status;
    if (!node->has_member && node->count == 0) {
        node->type = TYPE_STRUCT;
        return MLDF_OK;
    }
    if (!node->has_member)
        return mldfi_where_fail(p->lexer.text, node->at, p->err, MLDF_E_NO_FIELD,
                                "field \"%s\" has no member \"%.100s\"", field->name, path);
    if (indexes > node->member.ndim)
        return mldfi_where_fail(p->lexer.text, node->at, p->err, MLDF_E_ARGUMENT,
                                "%zu indexes, and this member has %u dimensions", indexes, node->member.ndim);
    ndim_left = node->member.ndim - indexes;
    node->type = ndim_left                                    ? TYPE_ARRAY
                 : node->member.dtype != MLDF_DTYPE_NONE      ? element_type(node->member.dtype)
                 : strchr("SU", node->member.type[1]) != NULL ? TYPE_TEXT
                                                              : TYPE_BYTES;
    return MLDF_OK;
}

/* Of an array head shows dtype and shape where it does not show the elements: x.dtype, x.shape[0], x.bytes, x.sha256. */
static bool is_about_array(const struct where *w, const struct where_node *node) {
    const char *name = node->count ? step_of(w, node, 0)->name : NULL;
    return name &&
           ((node->count == 1 &&
             (strcmp(name, "dtype") == 0 || strcmp(name, "bytes") == 0 || strcmp(name, "sha256") == 0)) ||
            (strcmp(name, "shape") == 0 && (node->count == 1 || (node->count == 2 && !step_of(w, node, 1)->name))));
}

static mldf_status check_array_steps(struct parser *p, struct where_node *node, const mldf_field *field) {
    if (is_about_array(p->where, node)) {
        node->described = true;
        node->type = TYPE_ANY;
        return MLDF_OK;
    }
    for (size_t i = 0; i < node->count; i++)
        if (step_of(p->where, node, i)->name)
            return mldfi_where_fail(
                p->lexer.text, node->at, p->err, MLDF_E_NO_FIELD,
                "field \"%s\" is an array: it has no member \"%.100s\"; it has dtype, shape, bytes, sha256",
                field->name, step_of(p->where, node, i)->name);
    if (node->count > field->ndim)
        return mldfi_where_fail(p->lexer.text, node->at, p->err, MLDF_E_ARGUMENT,
                                "%u indexes, and field \"%s\" has %u dimensions", node->count, field->name,
                                field->ndim);
    node->type = node->count == field->ndim && field->ndim > 0 ? element_type(field->dtype) : TYPE_ARRAY;
    return MLDF_OK;
}

/* "; it has height, width ...", of the first value that is there; *found when the first step is one of its members. */
static mldf_status list_members(struct parser *p, const struct where_node *node, size_t field, char room[200],
                                bool *found) {
    const mldf_schema *schema = mldf_reader_schema(p->where->reader);
    struct described d = {0};
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    uint64_t count = mldf_reader_sample_count(p->where->reader);
    mldf_status status = MLDF_ABSENT;
    size_t used = 0;
    room[0] = 0;
    for (uint64_t i = 0; i < count && i < 16 && status == MLDF_ABSENT; i++) {
        mldf_value value;
        if (mldf_reader_get(p->where->reader, i, field, &scratch, &value, NULL) == MLDF_OK)
            status = mldfi_describe(&d, schema, field, &value, false, p->err);
    }
    *found = status == MLDF_ABSENT && mldfi_is_self_describing(schema, field); /* no value to ask */
    for (uint32_t i = 1; status == MLDF_OK && i < d.json.nodes[0].next; i = d.json.nodes[i].next) {
        const struct json_node *member = &d.json.nodes[i];
        const char *name = step_of(p->where, node, 0)->name;
        *found =
            *found || (name && strlen(name) == member->key_bytes && memcmp(name, member->key, member->key_bytes) == 0);
        if (used < 160)
            used += (size_t)snprintf(room + used, 200 - used, "%s%.*s", used ? ", " : "; it has ",
                                     (int)(member->key_bytes < 30 ? member->key_bytes : 30), member->key);
    }
    mldf_buffer_free(&scratch);
    mldfi_described_free(&d);
    return status < 0 ? status : MLDF_OK;
}

/* What head shows of a value can be asked for: image.height, audio.rate. */
static mldf_status describe_steps(struct parser *p, struct where_node *node, const mldf_field *field) {
    char members[200];
    bool found;
    const char *name = step_of(p->where, node, 0)->name;
    TRY(list_members(p, node, p->where->slots[node->slot].field, members, &found));
    if (found && node->count == 1) {
        node->described = true;
        node->type = TYPE_ANY;
        return MLDF_OK;
    }
    if (!members[0] || !name || node->count > 1)
        return mldfi_where_fail(p->lexer.text, node->at, p->err, MLDF_E_NO_FIELD,
                                "field \"%s\" is of type %s: there is nothing inside it%s", field->name,
                                field->type_name, members);
    return mldfi_where_fail(p->lexer.text, node->at, p->err, MLDF_E_NO_FIELD, "field \"%s\" has no member \"%.60s\"%s",
                            field->name, name, members);
}

static mldf_status set_type(struct parser *p, struct where_node *node, const mldf_field *field) {
    bool steps = node->count > 0;
    switch (field->type_id) {
    case MLDF_JSON:
        node->type = TYPE_ANY;
        return MLDF_OK;
    case MLDF_INLINE:
        return find_member(p, node, field);
    case MLDF_NDARRAY:
        return check_array_steps(p, node, field);
    case MLDF_INT:
        node->type = field->dtype == MLDF_BOOL ? TYPE_BOOL : TYPE_NUMBER;
        break;
    case MLDF_FLOAT:
        node->type = TYPE_NUMBER;
        break;
    case MLDF_TEXT:
        node->type = TYPE_TEXT;
        break;
    default:
        node->type = TYPE_BYTES;
    }
    return steps ? describe_steps(p, node, field) : MLDF_OK;
}

mldf_status mldfi_where_resolve(struct parser *p, const char *name, size_t at, size_t first, uint32_t *out) {
    struct where *w = p->where;
    size_t field = 0, taken = 0;
    mldf_error why;
    if (!find_field(w, name, first, &field, &taken)) {
        mldf_status found = mldf_schema_find(mldf_reader_schema(w->reader), name, &field, &why);
        return mldfi_where_fail(p->lexer.text, at, p->err, MLDF_E_NO_FIELD, "%s", found < 0 ? why.message : name);
    }
    TRY(mldfi_where_new(p, OP_FIELD, TYPE_ANY, at, out));
    struct where_node *node = &w->nodes[*out];
    node->first_step = (uint32_t)(first + taken);
    node->count = (uint32_t)(w->step_count - first - taken);
    mldf_status status = find_slot(p, field, &node->slot);
    return status < 0 ? status : set_type(p, node, mldf_schema_field(mldf_reader_schema(w->reader), field));
}

/* ---- For a sample --------------------------------------------------------------------------------------------------- */

static mldf_status load(struct where *w, struct where_slot *slot, mldf_error *err) {
    const mldf_field *field = mldf_schema_field(mldf_reader_schema(w->reader), slot->field);
    if (slot->loaded)
        return MLDF_OK;
    mldf_status status =
        field->known ? mldf_reader_get(w->reader, w->sample, slot->field, &slot->scratch, &slot->value, err)
                     : mldf_reader_get_stored(w->reader, w->sample, slot->field, &slot->scratch, &slot->value, err);
    slot->loaded = status == MLDF_OK;
    slot->parsed = slot->hashed = false;
    return status;
}

void mldfi_where_json(const struct json *json, uint32_t at, struct where_value *out) {
    const struct json_node *node = &json->nodes[at];
    memset(out, 0, sizeof *out);
    switch (node->kind) {
    case MLDFI_JSON_NULL:
        break;
    case MLDFI_JSON_FALSE:
    case MLDFI_JSON_TRUE:
        out->kind = WHERE_BOOL;
        out->as.b = node->kind == MLDFI_JSON_TRUE;
        break;
    case MLDFI_JSON_NUMBER:
        out->kind = mldfi_json_i64(json, at, &out->as.i)      ? WHERE_INT
                    : mldfi_json_u64(json, at, &out->as.u)    ? WHERE_UINT
                    : mldfi_json_double(json, at, &out->as.f) ? WHERE_FLOAT
                                                              : WHERE_NULL;
        break;
    case MLDFI_JSON_STRING:
        out->kind = WHERE_TEXT;
        out->data = node->text;
        out->bytes = node->text_bytes;
        break;
    default:
        out->kind = WHERE_JSON;
        out->json = json;
        out->node = at;
    }
}

/* Member or element, or UINT32_MAX. */
static uint32_t json_step(const struct json *json, uint32_t at, const struct where_step *step) {
    const struct json_node *node = &json->nodes[at];
    if (step->name)
        return node->kind == MLDFI_JSON_OBJECT ? mldfi_json_find(json, at, step->name) : UINT32_MAX;
    int64_t index = step->index < 0 ? step->index + (int64_t)node->count : step->index;
    if (node->kind != MLDFI_JSON_ARRAY || index < 0 || index >= (int64_t)node->count)
        return UINT32_MAX;
    uint32_t child = mldfi_json_first(json, at);
    while (index-- > 0)
        child = json->nodes[child].next;
    return child;
}

static mldf_status json_value(struct where *w, struct where_slot *slot, const struct where_node *node,
                              struct where_value *out, mldf_error *err) {
    if (slot->value.bytes == 0) /* what a 1.0 file has for a missing value */
        return MLDF_OK;
    if (!slot->parsed) {
        mldf_status status = mldfi_json_parse(&slot->json, slot->value.data, (size_t)slot->value.bytes, err);
        if (status < 0) {
            mldfi_error_place(err, w->sample, mldf_schema_field(mldf_reader_schema(w->reader), slot->field)->name);
            return status;
        }
        slot->parsed = true;
    }
    uint32_t at = 0;
    for (size_t i = 0; i < node->count && at != UINT32_MAX; i++)
        at = json_step(&slot->json, at, step_of(w, node, i));
    if (at != UINT32_MAX)
        mldfi_where_json(&slot->json, at, out);
    return MLDF_OK;
}

/* Where the indexes among the steps lead; false when one is out of range. */
static bool walk_indexes(const struct where *w, const struct where_node *node, const uint64_t *dims,
                         const uint64_t *strides, const uint8_t **at, uint32_t *used) {
    *used = 0;
    for (size_t i = 0; i < node->count; i++) {
        const struct where_step *step = step_of(w, node, i);
        if (step->name)
            continue;
        int64_t size = (int64_t)dims[*used], index = step->index < 0 ? step->index + size : step->index;
        if (index < 0 || index >= size)
            return false;
        *at += (uint64_t)index * strides[(*used)++];
    }
    return true;
}

static void element_value(mldf_dtype dtype, const uint8_t *at, struct where_value *out) {
    mldf_value element;
    if (!mldfi_element(dtype, at, &element))
        return;
    out->kind = dtype == MLDF_BOOL                ? WHERE_BOOL
                : element.kind == MLDF_KIND_FLOAT ? WHERE_FLOAT
                : element.kind == MLDF_KIND_UINT  ? WHERE_UINT
                                                  : WHERE_INT;
    out->as.u = element.as.u;
    if (dtype == MLDF_BOOL)
        out->as.b = element.as.i != 0;
}

static void array_value(struct where *w, const mldf_value *value, const struct where_node *node,
                        struct where_value *out) {
    uint64_t strides[MLDF_MAX_DIMS];
    const uint8_t *at = value->data;
    uint64_t step = mldf_dtype_bytes(value->dtype);
    uint32_t used;
    for (uint32_t d = value->ndim; d-- > 0; step *= value->dims[d])
        strides[d] = step;
    if (!walk_indexes(w, node, value->dims, strides, &at, &used))
        return;
    if (used == value->ndim && used > 0) {
        element_value(value->dtype, at, out);
        return;
    }
    out->kind = WHERE_ARRAY;
    out->bytes = value->ndim > used ? value->dims[used] : MLDF_NONE;
}

/* UCS-4 to UTF-8; what is no character becomes U+FFFD. */
static mldf_status wide_text(struct where_node *node, const uint8_t *at, struct where_value *out, mldf_error *err) {
    node->scratch.size = 0;
    mldf_status status = MLDF_OK;
    for (uint32_t i = 0; status == MLDF_OK && i + 4 <= node->member.itemsize; i += 4) {
        uint32_t c = mldfi_load_u32(at + i);
        if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            c = 0xfffd;
        uint8_t text[4] = {(uint8_t)(0xf0 | c >> 18), (uint8_t)(0x80 | (c >> 12 & 63)), (uint8_t)(0x80 | (c >> 6 & 63)),
                           (uint8_t)(0x80 | (c & 63))};
        size_t from = c < 0x80 ? 3 : c < 0x800 ? 2 : c < 0x10000 ? 1 : 0;
        if (from == 3)
            text[3] = (uint8_t)c;
        else if (from == 2)
            text[2] = (uint8_t)(0xc0 | c >> 6);
        else if (from == 1)
            text[1] = (uint8_t)(0xe0 | c >> 12);
        status = mldf_buffer_append(&node->scratch, text + from, 4 - from, err);
    }
    out->data = (const char *)node->scratch.data;
    out->bytes = node->scratch.size;
    return status;
}

static mldf_status member_value(struct where *w, const mldf_value *value, struct where_node *node,
                                struct where_value *out, mldf_error *err) {
    const mldf_member *member = &node->member;
    const uint8_t *record = value->data, *at = record + member->offset;
    uint64_t dims[MLDF_MAX_DIMS] = {0}, strides[MLDF_MAX_DIMS] = {0};
    uint32_t used;
    for (uint32_t d = 0; d < member->ndim; d++) {
        dims[d] = member->dims[d];
        strides[d] = member->strides[d];
    }
    if (!walk_indexes(w, node, dims, strides, &at, &used))
        return MLDF_OK;
    if (used < member->ndim) {
        out->kind = WHERE_ARRAY;
        out->bytes = dims[used];
        return MLDF_OK;
    }
    if (member->dtype != MLDF_DTYPE_NONE) {
        element_value(member->dtype, at, out);
        return MLDF_OK;
    }
    mldf_status status = MLDF_OK;
    out->kind = member->type[1] == 'V' ? WHERE_BYTES : WHERE_TEXT;
    out->data = (const char *)at;
    out->bytes = member->itemsize;
    if (member->type[1] == 'U')
        status = wide_text(node, at, out, err);
    /* Zero bytes at the end of a fixed string do not belong to it. */
    while (out->kind == WHERE_TEXT && out->bytes > 0 && out->data[out->bytes - 1] == 0)
        out->bytes--;
    return status;
}

static mldf_status plain_value(struct where *w, const struct where_slot *slot, struct where_node *node,
                               struct where_value *out, mldf_error *err) {
    const mldf_value *value = &slot->value;
    if (node->has_member && (value->kind == MLDF_KIND_STRUCT || value->kind == MLDF_KIND_ARRAY))
        return member_value(w, value, node, out, err);
    switch (value->kind) {
    case MLDF_KIND_INT:
        out->kind = node->type == TYPE_BOOL ? WHERE_BOOL : WHERE_INT;
        out->as.i = value->as.i;
        if (node->type == TYPE_BOOL)
            out->as.b = value->as.i != 0;
        break;
    case MLDF_KIND_UINT:
        out->kind = WHERE_UINT;
        out->as.u = value->as.u;
        break;
    case MLDF_KIND_FLOAT:
        out->kind = WHERE_FLOAT;
        out->as.f = value->as.f;
        break;
    case MLDF_KIND_ARRAY:
        array_value(w, value, node, out);
        break;
    case MLDF_KIND_STRUCT:
        out->kind = WHERE_STRUCT;
        break;
    default:
        out->kind = value->kind == MLDF_KIND_TEXT ? WHERE_TEXT : WHERE_BYTES;
        out->data = value->data;
        out->bytes = value->bytes;
    }
    return MLDF_OK;
}

static mldf_status about_array(struct where *w, struct where_slot *slot, struct where_node *node,
                               struct where_value *out, mldf_error *err) {
    const mldf_value *value = &slot->value;
    const struct where_step *first = step_of(w, node, 0);
    if (strcmp(first->name, "bytes") == 0) {
        out->kind = WHERE_UINT;
        out->as.u = value->bytes;
    } else if (strcmp(first->name, "dtype") == 0) {
        out->kind = WHERE_TEXT;
        out->data = mldf_dtype_name(value->dtype);
        out->bytes = strlen(out->data);
    } else if (strcmp(first->name, "sha256") == 0) {
        uint8_t digest[32];
        mldf_status status = MLDF_OK;
        mldf_sha256(value->data, (size_t)value->bytes, digest);
        node->scratch.size = 0;
        for (size_t i = 0; i < sizeof digest && status >= 0; i++)
            status = mldfi_buffer_printf(&node->scratch, err, "%02x", digest[i]);
        out->kind = WHERE_TEXT;
        out->data = (const char *)node->scratch.data;
        out->bytes = node->scratch.size;
        return status;
    } else if (node->count == 2) {
        int64_t index = step_of(w, node, 1)->index;
        index += index < 0 ? (int64_t)value->ndim : 0;
        if (index >= 0 && index < (int64_t)value->ndim) {
            out->kind = WHERE_UINT;
            out->as.u = value->dims[index];
        }
    } else {
        out->kind = WHERE_ARRAY; /* for len() */
        out->bytes = value->ndim;
    }
    return MLDF_OK;
}

/* A payload is only looked at where its hash is asked for. */
static mldf_status described_value(struct where *w, struct where_slot *slot, const struct where_node *node,
                                   struct where_value *out, mldf_error *err) {
    const struct where_step *step = step_of(w, node, 0);
    bool hash = strcmp(step->name, "sha256") == 0;
    if (strcmp(step->name, "bytes") == 0) {
        out->kind = WHERE_UINT;
        out->as.u = slot->value.bytes;
        return MLDF_OK;
    }
    if (!slot->parsed || (hash && !slot->hashed)) {
        mldf_status status =
            mldfi_describe(&slot->described, mldf_reader_schema(w->reader), slot->field, &slot->value, hash, err);
        if (status != MLDF_OK)
            return status == MLDF_ABSENT ? MLDF_OK : status;
        slot->parsed = true;
        slot->hashed = hash;
    }
    uint32_t at = json_step(&slot->described.json, 0, step);
    if (at != UINT32_MAX)
        mldfi_where_json(&slot->described.json, at, out);
    return MLDF_OK;
}

mldf_status mldfi_where_field(struct where *w, struct where_node *node, struct where_value *out, mldf_error *err) {
    struct where_slot *slot = &w->slots[node->slot];
    memset(out, 0, sizeof *out);
    mldf_status status = load(w, slot, err);
    if (status < 0 || slot->value.kind == MLDF_KIND_NULL)
        return status;
    if (mldf_schema_field(mldf_reader_schema(w->reader), slot->field)->type_id == MLDF_JSON)
        return json_value(w, slot, node, out, err);
    if (node->described && slot->value.kind == MLDF_KIND_ARRAY)
        return about_array(w, slot, node, out, err);
    if (node->described)
        return described_value(w, slot, node, out, err);
    return plain_value(w, slot, node, out, err);
}

mldf_status mldfi_where_field_bytes(struct where *w, const struct where_node *node, struct where_value *out,
                                    mldf_error *err) {
    struct where_slot *slot = &w->slots[node->slot];
    const mldf_field *field = mldf_schema_field(mldf_reader_schema(w->reader), slot->field);
    memset(out, 0, sizeof *out);
    mldf_status status = load(w, slot, err);
    if (status < 0 || slot->value.kind == MLDF_KIND_NULL)
        return status;
    bool payload = field->flags & (MLDF_FIELD_SIZE32 | MLDF_FIELD_SIZE64);
    out->kind = WHERE_UINT;
    out->as.u = payload ? slot->value.bytes : field->record_bytes;
    return MLDF_OK;
}
