/* The predicate language of select: text compiled against a file's schema, then asked for one sample after the other. Its one idea:
 * every node has a static type, found while parsing, so that most mistakes are told before the first sample is read. The language
 * itself is in docs/guides/select.md.
 *
 *     or  ← and ← not ← comparison, in, is ← + - ← * / % ← unary minus ← literals, fields, calls, ( )
 *
 *   where_lex.c      the words and signs of the language; util/lex.h makes tokens by them
 *   where_parse.c    tokens into nodes: operators; types and their errors
 *   where_operand.c  the same: literals, calls, names
 *   where_field.c    the value of a field, a JSON member, a struct's member, an array's element
 *   where_eval.c     operators and functions */
#ifndef MLDF_TOOL_WHERE_H
#define MLDF_TOOL_WHERE_H

#include "mldf/reader.h"
#include "tool/described.h"
#include "util/json.h"
#include "util/lex.h"

struct where;
/* Messages begin "where: column N: " and err->offset is that byte of the text. MLDF_E_ARGUMENT, or MLDF_E_NO_FIELD. The reader is
 * borrowed until mldfi_where_free. */
mldf_status mldfi_where_compile(const mldf_reader *reader, const char *text, struct where **out, mldf_error *err);
mldf_status mldfi_where_test(struct where *where, uint64_t sample, bool *out, mldf_error *err);
void mldfi_where_free(struct where *where);

/* ---- Between the files of this family ------------------------------------------------------------------------------- */

enum { WHERE_MAX_TEXT = 1 << 16, WHERE_MAX_DEPTH = 100 };

extern const struct language mldfi_where_language; /* where_lex.c */
/* "where: column N: message". */
__attribute__((format(printf, 5, 6))) mldf_status mldfi_where_fail(const char *text, size_t at, mldf_error *err,
                                                                   mldf_status status, const char *format, ...);

/* What is known of a node's value before any sample is read. ANY: out of JSON. */
typedef enum where_type {
    TYPE_ANY,
    TYPE_NULL,
    TYPE_BOOL,
    TYPE_NUMBER,
    TYPE_TEXT,
    TYPE_BYTES,
    TYPE_ARRAY,
    TYPE_STRUCT
} where_type;

typedef enum where_kind {
    WHERE_NULL,
    WHERE_BOOL,
    WHERE_INT,
    WHERE_UINT,
    WHERE_FLOAT,
    WHERE_TEXT,
    WHERE_BYTES,
    WHERE_ARRAY, /* only its length is known */
    WHERE_STRUCT,
    WHERE_JSON /* a list or an object */
} where_kind;

struct where_value {
    where_kind kind;
    union {
        bool b;
        int64_t i;
        uint64_t u;
        double f;
    } as;
    const char *data; /* TEXT, BYTES */
    uint64_t bytes;   /* TEXT, BYTES; ARRAY: its first dimension, MLDF_NONE when it has none */
    const struct json *json;
    uint32_t node;
};

typedef enum where_op {
    OP_LITERAL,
    OP_FIELD,
    OP_KEY,
    OP_INDEX,
    OP_NOT,
    OP_AND,
    OP_OR,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_IN,
    OP_IS_NULL,
    OP_ADD,
    OP_SUBTRACT,
    OP_MULTIPLY,
    OP_DIVIDE,
    OP_MODULO,
    OP_NEGATE,
    OP_LEN,
    OP_BYTES,
    OP_CONTAINS,
    OP_STARTSWITH,
    OP_ENDSWITH,
    OP_LOWER
} where_op;

struct where_step { /* .name or [index] behind a field */
    char *name;     /* NULL: index */
    int64_t index;
};

struct where_node {
    where_op op;
    where_type type;
    size_t at;                /* in the text */
    uint32_t a, b;            /* children; IN: b is the first of `count` literals */
    uint32_t count;           /* IN; FIELD: steps */
    uint32_t first_step;      /* FIELD */
    uint32_t slot;            /* FIELD */
    bool described;           /* FIELD: the steps lead into what its type says of a value */
    bool has_member;          /* FIELD of type inline: */
    mldf_member member;       /* the leaf that it means */
    struct where_value value; /* LITERAL */
    mldf_buffer scratch;      /* LOWER; text of an inline leaf; the bytes of a literal */
};

/* A field that the predicate uses: loaded once for each sample. */
struct where_slot {
    size_t field;
    bool loaded, parsed, hashed;
    struct described described;
    mldf_value value;
    mldf_buffer scratch;
    struct json json;
};

struct where {
    const mldf_reader *reader;
    uint64_t sample;
    struct where_node *nodes;
    size_t node_count, node_capacity;
    struct where_step *steps;
    size_t step_count, step_capacity;
    struct where_slot *slots;
    size_t slot_count, slot_capacity;
    uint32_t root;
    mldf_buffer key_scratch;
};

/* The value of an OP_FIELD node for where->sample. */
mldf_status mldfi_where_field(struct where *where, struct where_node *node, struct where_value *out, mldf_error *err);
/* bytes(field): of the whole value. */
mldf_status mldfi_where_field_bytes(struct where *where, const struct where_node *node, struct where_value *out,
                                    mldf_error *err);
void mldfi_where_json(const struct json *json, uint32_t node, struct where_value *out);
/* -1, 0, 1; 2 when the two cannot be ordered: null, NaN, kinds that have nothing in common. */
int mldfi_where_compare(const struct where_value *a, const struct where_value *b);

#endif
