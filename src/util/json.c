/* Looking things up in a JSON tree that json_parse.c made. json_canonical.c writes one out. */
#include "util/json.h"

#include <stdlib.h>
#include <string.h>

#include "util/json_members.h"
#include "util/number.h"

void mldfi_json_free(struct json *json) {
    free(json->nodes);
    json->nodes = NULL;
    json->count = 0;
    json->node_capacity = 0;
    mldf_buffer_free(&json->strings);
}

uint32_t mldfi_json_find(const struct json *json, uint32_t object, const char *key) {
    size_t bytes = strlen(key);
    if (json->nodes[object].kind != MLDFI_JSON_OBJECT)
        return UINT32_MAX;
    for (uint32_t i = mldfi_json_first(json, object); i < json->nodes[object].next; i = json->nodes[i].next)
        if (json->nodes[i].key_bytes == bytes && memcmp(json->nodes[i].key, key, bytes) == 0)
            return i;
    return UINT32_MAX;
}

bool mldfi_json_is_text(const struct json *json, uint32_t at, const char *text) {
    const struct json_node *node = &json->nodes[at];
    return node->kind == MLDFI_JSON_STRING && node->text_bytes == strlen(text) &&
           memcmp(node->text, text, node->text_bytes) == 0;
}

bool mldfi_json_i64(const struct json *json, uint32_t at, int64_t *out) {
    const struct json_node *node = &json->nodes[at];
    return node->kind == MLDFI_JSON_NUMBER && mldfi_parse_i64(node->text, node->text_bytes, out);
}

bool mldfi_json_u64(const struct json *json, uint32_t at, uint64_t *out) {
    const struct json_node *node = &json->nodes[at];
    return node->kind == MLDFI_JSON_NUMBER && mldfi_parse_u64(node->text, node->text_bytes, out);
}

bool mldfi_json_double(const struct json *json, uint32_t at, double *out) {
    const struct json_node *node = &json->nodes[at];
    return node->kind == MLDFI_JSON_NUMBER && mldfi_parse_double(node->text, node->text_bytes, out);
}

static int compare(const struct json_member *a, const struct json_member *b) {
    uint32_t common = a->key_bytes < b->key_bytes ? a->key_bytes : b->key_bytes;
    int order = common ? memcmp(a->key, b->key, common) : 0;
    if (order != 0)
        return order;
    if (a->key_bytes != b->key_bytes)
        return a->key_bytes < b->key_bytes ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Lets members[root] sink to its place in the heap of `count`. */
static void sink(struct json_member *members, size_t root, size_t count) {
    struct json_member moving = members[root];
    for (size_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        if (child + 1 < count && compare(&members[child], &members[child + 1]) < 0)
            child++;
        if (compare(&moving, &members[child]) >= 0)
            break;
        members[root] = members[child];
        root = child;
    }
    members[root] = moving;
}

/* Heap sort: in place, and no input makes it slow. */
static void sort(struct json_member *members, size_t count) {
    bool sorted = true;
    for (size_t i = 1; sorted && i < count; i++)
        sorted = compare(&members[i - 1], &members[i]) <= 0;
    if (sorted)
        return;
    for (size_t root = count / 2; root-- > 0;)
        sink(members, root, count);
    for (size_t last = count; last-- > 1;) {
        struct json_member largest = members[0];
        members[0] = members[last];
        members[last] = largest;
        sink(members, 0, last);
    }
}

void mldfi_json_list_members(const struct json *json, uint32_t object, struct json_member *members) {
    size_t count = 0;
    for (uint32_t i = mldfi_json_first(json, object); i < json->nodes[object].next; i = json->nodes[i].next)
        members[count++] = (struct json_member){json->nodes[i].key, json->nodes[i].key_bytes, i};
}

void mldfi_json_sort_members(const struct json *json, uint32_t object, struct json_member *members) {
    mldfi_json_list_members(json, object, members);
    sort(members, json->nodes[object].count);
}

static bool same_key(const struct json_member *a, const struct json_member *b) {
    return a->key_bytes == b->key_bytes && (a->key_bytes == 0 || memcmp(a->key, b->key, a->key_bytes) == 0);
}

uint32_t mldfi_json_twin(struct json_member *members, size_t count) {
    uint32_t twin = UINT32_MAX;
    if (count > MLDFI_JSON_FEW_MEMBERS) {
        sort(members, count);
        for (size_t i = 1; i < count; i++)
            if (members[i].node < twin && same_key(&members[i - 1], &members[i]))
                twin = members[i].node;
        return twin;
    }
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (same_key(&members[k], &members[i]))
                return members[i].node;
    return twin;
}
