/* mldf/schema.h: fields, their types and the values that go in and out.
 *
 * A schema is an ordered list of fields. It can be built in C:
 *
 *     mldf_schema *s;
 *     mldf_schema_new(NULL, &s, &err);
 *     mldf_schema_add_int(s, "label", MLDF_I64, 0, &err);
 *     mldf_schema_add_ndarray(s, "feat", MLDF_F32, 2, (int64_t[]){-1, 80}, MLDF_FIELD_NULLABLE, &err);
 *
 * or read from its JSON form (docs/guides/schema.md):
 *
 *     {"fields":[{"name":"label","type":"int"},
 *                {"name":"feat","type":"ndarray","dtype":"<f4","shape":[null,80],"nullable":true,"compress":3}]}
 *
 * Stability: stable.
 */
#ifndef MLDF_SCHEMA_H
#define MLDF_SCHEMA_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Type ids as a file stores them. From MLDF_PRIVATE on they belong to user-defined types. */
enum {
    MLDF_INT = 1,
    MLDF_FLOAT = 2,
    MLDF_BYTES = 3,
    MLDF_NDARRAY = 4,
    MLDF_JSON = 5,
    MLDF_INLINE = 6,
    MLDF_IMAGE_RAW = 10,
    MLDF_IMAGE_JPEG = 11,
    MLDF_IMAGE_PNG = 12,
    MLDF_IMAGE = 13,              /* any mode, row by row; see image.h */
    MLDF_AUDIO_WAVEFORM = 20,     /* PCM; see audio.h */
    MLDF_AUDIO_COMPRESSED = 21,   /* packets of FLAC, MP3, Opus ...; see audio.h */
    MLDF_AUDIO_SPECTROGRAM = 22,  /* (frames, bins) or (bins, frames) of float16 or float32 */
    MLDF_AUDIO_CODEC_TOKENS = 23, /* (codebooks, frames): ids of a neural codec */
    MLDF_VIDEO_FRAMES = 30,       /* frames one by one, as image files or pixels; see video.h */
    MLDF_VIDEO_COMPRESSED = 31,   /* packets of H.264, HEVC, VP9, AV1 ... and sound; see video.h */
    MLDF_VIDEO_OPTICAL_FLOW = 32, /* (frames, height, width, 2): how far each pixel moves */
    MLDF_TEXT = 40,
    MLDF_TEXT_TOKENIZED = 41,    /* ids of a vocabulary; see tokens.h */
    MLDF_TEXT_PACKED = 42,       /* a sequence that holds pieces of several documents */
    MLDF_TEXT_HIERARCHICAL = 43, /* a document of paragraphs and sentences */
    MLDF_TOKEN_STREAM = 44,      /* one long run of ids, and where its documents end */
    MLDF_MULTIMODAL = 50,        /* parts of several kinds in document order; see multimodal.h */
    MLDF_PRIVATE = 0x8000
};

/* Field flags as a file stores them. A caller sets NULLABLE and COMPRESSED; the type sets the rest. */
enum {
    MLDF_FIELD_NULLABLE = 1,
    MLDF_FIELD_COMPRESSED = 2, /* payloads carry the 8-byte compression prefix */
    MLDF_FIELD_SIZE32 = 4,     /* the record begins {ptr u64, size u32} */
    MLDF_FIELD_SIZE64 = 8      /* the record begins {ptr u64, size u64} */
};

/* Element types. The text form is NumPy's ("<f4"), plus "bfloat16". */
typedef enum mldf_dtype {
    MLDF_DTYPE_NONE = 0,
    MLDF_BOOL,
    MLDF_I8,
    MLDF_U8,
    MLDF_I16,
    MLDF_U16,
    MLDF_I32,
    MLDF_U32,
    MLDF_I64,
    MLDF_U64,
    MLDF_F16,
    MLDF_BF16,
    MLDF_F32,
    MLDF_F64,
    MLDF_C64,
    MLDF_C128
} mldf_dtype;
MLDF_API size_t mldf_dtype_bytes(mldf_dtype dtype);
MLDF_API const char *mldf_dtype_name(mldf_dtype dtype);                    /* "<f4"; "" for NONE */
MLDF_API mldf_dtype mldf_dtype_parse(const char *text, size_t text_bytes); /* NONE when unknown */

/* ---- Values ------------------------------------------------------------------------------------------------------ */

typedef enum mldf_kind {
    MLDF_KIND_NULL = 0,
    MLDF_KIND_INT,    /* as.i */
    MLDF_KIND_UINT,   /* as.u */
    MLDF_KIND_FLOAT,  /* as.f */
    MLDF_KIND_BYTES,  /* data, bytes */
    MLDF_KIND_TEXT,   /* data, bytes: UTF-8, not terminated; also what a JSON field gives */
    MLDF_KIND_ARRAY,  /* data, bytes, dtype, ndim, dims: C order */
    MLDF_KIND_STRUCT, /* data, bytes: one INLINE record, laid out as its descr says */
    MLDF_KIND_STORED  /* a value copied undecoded: record (record_bytes) and value bytes in data, bytes. See writer.h */
} mldf_kind;

enum { MLDF_MAX_DIMS = 8 };

/* One value of one field. When the library fills it, data is borrowed (from the mapping or from the scratch buffer of the
 * call); when the caller fills it, the library copies what it needs before the call returns. */
typedef struct mldf_value {
    mldf_kind kind;
    mldf_dtype
        dtype; /* ARRAY: required when read; when written NONE means "as the field says". INT/UINT/FLOAT when read: the field's stored width */
    union {
        int64_t i;
        uint64_t u;
        double f;
    } as;
    const void *data;
    uint64_t bytes;
    const void
        *record; /* STORED; and set by the reader for every value: the raw record, row_offset bytes into the row */
    uint32_t record_bytes;
    uint32_t ndim;
    uint64_t dims[MLDF_MAX_DIMS];
} mldf_value;

/* ---- Schema ------------------------------------------------------------------------------------------------------ */

typedef struct mldf_schema mldf_schema;

/* What is known of one field. Borrowed from the schema. */
typedef struct mldf_field {
    const char *name;
    uint16_t type_id;
    uint16_t flags;        /* MLDF_FIELD_... */
    const char *type_name; /* "int", "ndarray" ...; "unknown" for an id this context does not know */
    const char *arguments; /* canonical JSON; "{}" when there are none */
    uint32_t record_bytes; /* this field's part of a row */
    uint32_t record_align;
    uint32_t row_offset;
    bool known;         /* false: can be listed, copied and verified, not decoded */
    int compress_level; /* for writing; 0 = the default (3) */
    bool from_file;     /* for packing tables: a cell names the file that holds the value; not stored */
    /* NDARRAY, INT and tokens: the element type; INLINE of one unnamed member: its type; what a user-defined type describes; else NONE */
    mldf_dtype dtype;
    uint32_t ndim;               /* NDARRAY, tokens, bare INLINE, user-defined types with describe */
    int64_t dims[MLDF_MAX_DIMS]; /* -1 where it varies */
} mldf_field;

MLDF_API MLDF_NODISCARD mldf_status mldf_schema_new(const mldf_context *context, mldf_schema **out, mldf_error *err);
MLDF_API void mldf_schema_free(mldf_schema *schema);
/* arguments: JSON object or NULL. flags: MLDF_FIELD_NULLABLE, MLDF_FIELD_COMPRESSED. */
MLDF_API MLDF_NODISCARD mldf_status mldf_schema_add(mldf_schema *schema, const char *name, uint16_t type_id,
                                                    const char *arguments, uint16_t flags, mldf_error *err);
/* The common types without JSON. dtype NONE: int64. dims: -1 where samples differ. Images and audio: of any kind, or as `arguments` (a JSON
 * object) say; NULL: none. vocabulary: every id is below. For what they do not say, mldf_schema_add. */
MLDF_API MLDF_NODISCARD mldf_status mldf_schema_add_int(mldf_schema *schema, const char *name, mldf_dtype dtype,
                                                        uint16_t flags, mldf_error *err);
MLDF_API MLDF_NODISCARD mldf_status mldf_schema_add_float(mldf_schema *schema, const char *name, uint16_t flags,
                                                          mldf_error *err);
MLDF_API MLDF_NODISCARD mldf_status mldf_schema_add_bytes(mldf_schema *schema, const char *name, uint16_t flags,
                                                          mldf_error *err);
MLDF_API MLDF_NODISCARD mldf_status mldf_schema_add_text(mldf_schema *schema, const char *name, uint16_t flags,
                                                         mldf_error *err);
MLDF_API MLDF_NODISCARD mldf_status mldf_schema_add_json(mldf_schema *schema, const char *name, uint16_t flags,
                                                         mldf_error *err);
MLDF_API MLDF_NODISCARD mldf_status mldf_schema_add_ndarray(mldf_schema *schema, const char *name, mldf_dtype dtype,
                                                            uint32_t ndim, const int64_t *dims, uint16_t flags,
                                                            mldf_error *err);
MLDF_API MLDF_NODISCARD mldf_status mldf_schema_add_image(mldf_schema *schema, const char *name, const char *arguments,
                                                          uint16_t flags, mldf_error *err);
MLDF_API MLDF_NODISCARD mldf_status mldf_schema_add_audio(mldf_schema *schema, const char *name, const char *arguments,
                                                          uint16_t flags, mldf_error *err);
MLDF_API MLDF_NODISCARD mldf_status mldf_schema_add_tokens(mldf_schema *schema, const char *name, uint64_t vocabulary,
                                                           uint16_t flags, mldf_error *err);
/* zstd level 1..22 for a field; sets MLDF_FIELD_COMPRESSED. */
MLDF_API MLDF_NODISCARD mldf_status mldf_schema_compress(mldf_schema *schema, size_t field, int level, mldf_error *err);
MLDF_API MLDF_NODISCARD mldf_status mldf_schema_parse(const mldf_context *context, const char *json, size_t json_bytes,
                                                      mldf_schema **out, mldf_error *err);
/* The JSON form that mldf_schema_parse reads; appended to out. */
MLDF_API MLDF_NODISCARD mldf_status mldf_schema_write(const mldf_schema *schema, mldf_buffer *out, mldf_error *err);
MLDF_API size_t mldf_schema_field_count(const mldf_schema *schema);
MLDF_API const mldf_field *mldf_schema_field(const mldf_schema *schema, size_t field);
/* Index of a field, or MLDF_E_NO_FIELD with the nearest name in the message. */
MLDF_API MLDF_NODISCARD mldf_status mldf_schema_find(const mldf_schema *schema, const char *name, size_t *out,
                                                     mldf_error *err);
MLDF_API uint32_t mldf_schema_row_bytes(const mldf_schema *schema);
/* "int" -> 1, "text" -> 40 ...; also the context's own names. MLDF_E_SCHEMA when unknown. */
MLDF_API MLDF_NODISCARD mldf_status mldf_type_id(const mldf_context *context, const char *type_name, uint16_t *out,
                                                 mldf_error *err);

/* ---- The members of an INLINE field ------------------------------------------------------------------------------- */

typedef struct mldf_member {
    char path[256];   /* "pose.x"; "" for a bare array */
    char type[16];    /* NumPy's: "<f4", "|S16" ... */
    mldf_dtype dtype; /* NONE for S, U and V */
    uint32_t offset;  /* in the record */
    uint32_t itemsize;
    uint32_t ndim;
    uint32_t dims[MLDF_MAX_DIMS];    /* of this leaf, the shapes of enclosing members in front */
    uint32_t strides[MLDF_MAX_DIMS]; /* bytes between neighbours in each dimension */
} mldf_member;
/* The leaves in order, padding left out. Returns MLDF_END past the last one. */
MLDF_API MLDF_NODISCARD mldf_status mldf_field_member(const mldf_schema *schema, size_t field, size_t index,
                                                      mldf_member *out, mldf_error *err);

/* A value of any type, as it was read from this field, as JSON on one line. Appended. This is what `mldf cat`, `mldf head` and the manifests of
 * `mldf extract` have.
 *
 *     null, number        null, true, 7, 0.5; what is not finite is a string: "NaN", "Infinity", "-Infinity"
 *     text                a string, bytes that are not UTF-8 as U+FFFD; of a JSON field the JSON itself, without white space
 *     array               nested lists; without `full`, of more than 64 elements, {"dtype":"float32","shape":[512,512],"sha256":"..."}; complex: [re, im]
 *     struct              {"x":1.0,"box":[1,2]}; fixed strings that are not UTF-8 {"hex":"ff80"}
 *     bytes               {"bytes":3,"sha256":"..."}; `full`: with "base64". mldf_reader_get_stored: with "record", in hex
 *     image, audio ...    {"bytes":..,"sha256":..} with what the type says of it: height, width, rate ... (mldf_value_describe)
 *     a registered type   what its value_json says, else as its kind is
 */
MLDF_API MLDF_NODISCARD mldf_status mldf_value_json(const mldf_schema *schema, size_t field, const mldf_value *value,
                                                    bool full, mldf_buffer *out, mldf_error *err);
/* The last two of these lines alone. Returns MLDF_ABSENT, and appends nothing, for values that are written as their kind is: numbers, text, other
 * bytes, arrays in full. */
MLDF_API MLDF_NODISCARD mldf_status mldf_value_describe(const mldf_schema *schema, size_t field,
                                                        const mldf_value *value, bool full, mldf_buffer *out,
                                                        mldf_error *err);

/* ---- User-defined types ------------------------------------------------------------------------------------------- */

/* What a type tells of the record that its fields have. */
typedef struct mldf_record_layout {
    uint32_t record_bytes; /* multiple of record_align */
    uint32_t record_align; /* power of two, at most 64; 8 with a payload */
    uint16_t payload_flag; /* 0, MLDF_FIELD_SIZE32 or MLDF_FIELD_SIZE64 */
    bool viewable;         /* an array that a user may view in place: starts on a multiple of 64 */
} mldf_record_layout;

/* A field type. Functions are called from several threads at once, with the state that bind made. docs/types-of-your-own.md explains them, and
 * examples/own_type.c is a type that a loader decodes straight into its batches:
 *
 *     mldf_type type = MLDF_TYPE_INIT;
 *     type.id = 0x8123;
 *     type.name = "org.example.delta";
 *     type.bind = bind;
 *     type.encode = encode;
 *     type.describe = describe;        // an array of <i4, its one dimension varies
 *     type.decode_into = decode_into;  // called by the loader's threads
 *     mldf_context_register_type(context, &type, &err);
 *
 * Needed are bind; encode or encode_worker; decode, or both describe and decode_into. All else may be NULL. */
typedef struct mldf_type {
    size_t struct_bytes;
    uint16_t id;      /* >= MLDF_PRIVATE */
    const char *name; /* "org.example.name"; copied; stored in the file's arguments as "type" */
    void *user;
    /* Checks the arguments (canonical JSON with "type" in it) and states the record. *state may stay NULL. */
    mldf_status (*bind)(void *user, const char *arguments, mldf_record_layout *layout, void **state, mldf_error *err);
    void (*unbind)(void *user, void *state); /* may be NULL */
    /* Fills record after its ptr and size (the writer fills those; record comes zeroed) and says what the payload is:
     * *payload points into `value` or into `scratch`. */
    mldf_status (*encode)(void *user, const void *state, const mldf_value *value, uint8_t *record, mldf_buffer *scratch,
                          const void **payload, uint64_t *payload_bytes, mldf_error *err);
    /* Fills out from record and payload (decompressed); *out may point into payload or scratch. Must refuse a record that
     * contradicts its payload. A type with describe gives the array that describe says. */
    mldf_status (*decode)(void *user, const void *state, const uint8_t *record, const void *payload,
                          uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err);

    /* ---- Version 2. struct_bytes says whether a program has these members; one that was compiled without them works as before. */

    /* Appends the canonical form of a caller's arguments to out: one JSON object, the same text for the same meaning (defaults filled in,
     * say). "type" may be left out. The library sorts the keys. NULL: what the caller gave. */
    mldf_status (*canonical)(void *user, const char *arguments, mldf_buffer *out, mldf_error *err);
    /* What every value is as an array: *dtype, *ndim (at most MLDF_MAX_DIMS) and dims, -1 where it varies. A pipeline then takes the field as
     * it takes an NDARRAY. Called after bind. NULL: a pipeline sees the bytes that decode gives. */
    mldf_status (*describe)(void *user, const void *state, mldf_dtype *dtype, uint32_t *ndim, int64_t *dims,
                            mldf_error *err);
    /* What one thread keeps between values: tables, a codec's handle. Opened when a thread first needs it, and kept; used by one thread at a time.
     * Both or neither. */
    mldf_status (*open_worker)(void *user, void **worker, mldf_error *err);
    void (*close_worker)(void *user, void *worker);
    /* Decodes into memory of the caller's. dst == NULL: fills in those of dims that describe leaves open (the others are there), and writes
     * nothing. Otherwise dst has room for an array of dims, aligned for its dtype, and all of it is written. Where describe leaves nothing open
     * there is only the second call. worker: NULL without open_worker. Must refuse a record that contradicts its payload. */
    mldf_status (*decode_into)(void *user, void *worker, const void *state, const uint8_t *record, const void *payload,
                               uint64_t payload_bytes, void *dst, uint64_t *dims, mldf_error *err);
    /* As encode, which need not be there then. */
    mldf_status (*encode_worker)(void *user, void *worker, const void *state, const mldf_value *value, uint8_t *record,
                                 mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err);
    /* Appends a value that is not null, as decode gave it, as JSON: what a person should see of it. NULL: as its kind is written. */
    mldf_status (*value_json)(void *user, const void *state, const mldf_value *value, mldf_buffer *out,
                              mldf_error *err);
    /* Such a value as a file: *ending ("csv": 1 to 15 of a-z 0-9), which stays valid with the type, and the file's bytes, which point into the value
     * or into scratch. NULL: the bytes that decode gives, without an ending. */
    mldf_status (*export_file)(void *user, const void *state, const mldf_value *value, mldf_buffer *scratch,
                               const char **ending, const void **data, uint64_t *bytes, mldf_error *err);
} mldf_type;
#define MLDF_TYPE_INIT \
    { sizeof(mldf_type), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/* The type is copied. Types are registered before the context is used for anything else, and live until it is freed. */
MLDF_API MLDF_NODISCARD mldf_status mldf_context_register_type(mldf_context *context, const mldf_type *type,
                                                               mldf_error *err);

#ifdef __cplusplus
}
#endif
#endif
