/* The members of an object in the order of their keys: how json_parse.c finds a key that is there twice, and how
 * json_canonical.c sorts. */
#ifndef MLDF_UTIL_JSON_MEMBERS_H
#define MLDF_UTIL_JSON_MEMBERS_H

#include "util/json.h"

enum { MLDFI_JSON_DEPTH_MAX = 128 };

struct json_member {
    const char *key;
    uint32_t key_bytes;
    uint32_t node;
};

/* Fills members[0 .. count of the object) and sorts them bytewise by key, equal keys by node. O(n log n) whatever the keys. */
void mldfi_json_sort_members(const struct json *json, uint32_t object, struct json_member *members);

static inline bool mldfi_json_same_key(const struct json_member *a, const struct json_member *b) {
    return a->key_bytes == b->key_bytes && (a->key_bytes == 0 || __builtin_memcmp(a->key, b->key, a->key_bytes) == 0);
}

#endif
