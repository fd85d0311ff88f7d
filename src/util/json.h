/* JSON (RFC 8259): a validator that walks text once, a small tree for arguments, schemas and cards, and canonical output.
 *
 * The tree is an array of nodes in document order; `next` skips a whole subtree, so walking needs no recursion in the caller.
 * Numbers keep their text: 64-bit integers and 17-digit floats survive. Depth is limited to 128; duplicate keys of an object
 * are refused by the tree and by the strict validator. Errors: MLDF_E_SYNTAX with the byte position in err->offset, counted from
 * the text's first byte. */
#ifndef MLDF_UTIL_JSON_H
#define MLDF_UTIL_JSON_H

#include "mldf/base.h"

/* One JSON value with white space around it; nothing else. */
mldf_status mldfi_json_validate(const char *text, size_t bytes, mldf_error *err);
/* The same, and no object has a key twice: what mldfi_json_parse says, without a tree. Memory: the keys of the objects that are open at a time. */
mldf_status mldfi_json_validate_strict(const char *text, size_t bytes, mldf_error *err);

typedef enum mldfi_json_kind {
    MLDFI_JSON_NULL,
    MLDFI_JSON_FALSE,
    MLDFI_JSON_TRUE,
    MLDFI_JSON_NUMBER,
    MLDFI_JSON_STRING,
    MLDFI_JSON_ARRAY,
    MLDFI_JSON_OBJECT
} mldfi_json_kind;

struct json_node {
    mldfi_json_kind kind;
    uint32_t next;      /* index of the node after this subtree */
    uint32_t count;     /* ARRAY: elements; OBJECT: members */
    uint32_t key_bytes; /* of a member of an object */
    const char *key;    /* unescaped, not terminated, may hold any character but NUL escapes are kept as U+0000 bytes */
    const char *text;   /* STRING: unescaped; NUMBER: its text; ARRAY, OBJECT: the source text of the value */
    uint64_t text_bytes;
    uint64_t offset; /* byte of the value in the source */
};

struct json {
    struct json_node *nodes; /* nodes[0] is the root */
    uint32_t count;
    size_t node_capacity;
    mldf_buffer
        strings; /* unescaped text; nodes point into it or into the source. Reserved at the first escape, for all that
                            may follow (an unescaped string is never longer than its source), so that pointers stay valid */
};
/* `text` must outlive the tree. `json` may be reused for the next text (its memory is kept); start with {0}. */
mldf_status mldfi_json_parse(struct json *json, const char *text, size_t bytes, mldf_error *err);
void mldfi_json_free(struct json *json);

/* Children: for (uint32_t i = mldfi_json_first(j, at); i < j->nodes[at].next; i = j->nodes[i].next) */
static inline uint32_t mldfi_json_first(const struct json *json, uint32_t at) {
    (void)json;
    return at + 1;
}
/* Member of an object, or UINT32_MAX. */
uint32_t mldfi_json_find(const struct json *json, uint32_t object, const char *key);
bool mldfi_json_is_text(const struct json *json, uint32_t at, const char *text);
/* True when the node is a number written as an integer that fits. */
bool mldfi_json_i64(const struct json *json, uint32_t at, int64_t *out);
bool mldfi_json_u64(const struct json *json, uint32_t at, uint64_t *out);
bool mldfi_json_double(const struct json *json, uint32_t at, double *out);

/* Canonical form of a subtree, appended: sorted keys, no spaces, shortest numbers, minimal escapes. */
mldf_status mldfi_json_canonical(const struct json *json, uint32_t at, mldf_buffer *out, mldf_error *err);
/* Parse + canonical in one go. */
mldf_status mldfi_json_canonicalize(const char *text, size_t bytes, mldf_buffer *out, mldf_error *err);
/* A number, or "NaN", "Infinity", "-Infinity" in quotes, which JSON has no numbers for. */
mldf_status mldfi_json_append_double(mldf_buffer *out, double value, mldf_error *err);
/* A string with its quotes, escaped. */
mldf_status mldfi_json_append_string(mldf_buffer *out, const char *text, size_t bytes, mldf_error *err);

#endif
