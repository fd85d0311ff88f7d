/* The members of an object in the order of their keys: how json_parse.c finds a key that is there twice, and how
 * json_canonical.c sorts. */
#ifndef MLDF_UTIL_JSON_MEMBERS_H
#define MLDF_UTIL_JSON_MEMBERS_H

#include "util/json.h"

enum {
    MLDFI_JSON_DEPTH_MAX = 128,
    MLDFI_JSON_FEW_MEMBERS = 16 /* up to here comparing all pairs of keys is the quickest way */
};

struct json_member {
    const char *key;
    uint32_t key_bytes;
    uint32_t node;
};

/* Fills members[0 .. count of the object) and sorts them bytewise by key, equal keys by node. O(n log n) whatever the keys. */
void mldfi_json_sort_members(const struct json *json, uint32_t object, struct json_member *members);

/* The same in the order of the text. */
void mldfi_json_list_members(const struct json *json, uint32_t object, struct json_member *members);
/* The first node whose key one before it has; UINT32_MAX when there is none. Members come in the order of their nodes, and may be put into
 * another one. */
uint32_t mldfi_json_twin(struct json_member *members, size_t count);

#endif
