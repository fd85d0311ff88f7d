/* Fields from the inside: a schema's fields with their bound types, and the table of built-in types.
 * A type is the first members of an mldf_type (mldf/schema.h) and its traits. Layers above ask the type, never which type it is. What a user
 * registers is wrapped into the same struct (user_type.c). */
#ifndef MLDF_FIELD_FIELD_H
#define MLDF_FIELD_FIELD_H

#include "field/media.h"
#include "format/format.h"
#include "format/names.h"
#include "format/stats.h"
#include "mldf/schema.h"

struct json;
struct user_type;
struct schema_field;
struct edge;  /* edge.h */
struct start; /* edge.h */
struct audio_bytes;
struct value_bounds;

/* ---- One pass over the values of a field, before any is decoded ----------------------------------------------------------------------- */

/* Records of one field: number i is at records + i * stride. */
struct record_block {
    const uint8_t *records;
    size_t stride, count;
    /* NULL: all hold a value. It costs a look into the file, so it is asked of records that would tell something new. */
    mldf_status (*is_present)(const void *owner, size_t i, bool *out, mldf_error *err);
    const void *owner;
};

/* What the pass knows so far. It goes through one file after the other. */
struct survey {
    struct value_bounds *bounds;
    const mldf_field_stats *stats; /* of the file that is looked at; NULL: it has none */
    uint64_t seen;                 /* values */
    struct {                       /* image_bounds.c */
        bool rgb;                  /* one of them has three channels */
        uint64_t last;             /* the members of the last record that was looked at, as one number; 0: none */
        uint8_t last_orientation;
    } image;
};

/* How sizes that the schema leaves open are found, if not by `see`. */
typedef enum field_sizes {
    SIZES_NONE,
    SIZES_DIMS, /* the largest dimensions are in the statistics */
    SIZES_BYTES /* the largest number of bytes is */
} field_sizes;

/* ---- Values as files ---------------------------------------------------------------------------------------------------------- */

/* What a part of an archive with some ending is. */
typedef enum archive_part {
    ARCHIVE_BYTES, /* bytes, as if the ending were not known */
    ARCHIVE_READ,  /* a value of the type; `look` must take it */
    ARCHIVE_KEPT   /* a value of the type; what `look` does not know is stored as it is */
} archive_part;

struct file_ending {
    const char *ending;  /* lower case, without the dot */
    const char *written; /* what `export` calls such a file; NULL: it writes none */
    archive_part archive;
    /* Values of such files belong into a field of this type, which takes the other files of the kind as well; NULL: into the kind's own. */
    const struct field_type *type;
};

typedef void (*file_warning_fn)(void *user, const char *message);

/* The files that values are made from: folders, archives, columns of tables that name files. Types that share one take the same files. */
struct field_files {
    const char *field;                 /* the name of the field that a folder of such files becomes: "image" */
    const char *noun, *plural;         /* in messages: "an image", "images" */
    const struct file_ending *endings; /* the last has ending NULL */
    uint64_t most_bytes;               /* of a file */
    /* Is this a file that the type takes? Nothing is decoded. Calls warn (may be NULL) for each thing that is odd and yet no error. The
     * message of an error names the byte of the file; err->offset is MLDF_NONE. */
    mldf_status (*look)(const char *name, const void *data, size_t bytes, file_warning_fn warn, void *user,
                        mldf_error *err);
    /* The record of a file that lies at `ptr` of another format's file, whatever its bytes are: the payload is the whole file. NULL: `encode`
     * makes the record and says which bytes are the payload, or refuses. */
    void (*keep)(uint8_t *record, uint64_t ptr, const void *data, uint64_t bytes);
    /* The type and the arguments of a field that is made up for such files, from the options that a caller gave as JSON. *type begins as what the
     * names of the files ask for; *arguments as the options. NULL: the type stays, and the options are the arguments. */
    mldf_status (*choose)(const struct field_type **type, const char **arguments, mldf_error *err);
};

/* Room for one exported value; begins as {0}, reused from value to value. */
struct export_room {
    mldf_buffer work, file;
};
void mldfi_export_room_free(struct export_room *room);

/* A value as a file: head, then data, then pad_bytes zeros. Valid until the room's next use, and as long as the value. */
struct exported {
    const char *ending; /* without the dot */
    const void *head, *data;
    uint64_t head_bytes, bytes;
    unsigned pad_bytes;
    bool converted; /* to another file format than the value is stored in: a name that says the old one is wrong */
};

/* ---- Parts of a value --------------------------------------------------------------------------------------------------------- */

/* What a pipeline names FIELD.PART: a member of a struct, a stream of a clip. Parts follow from the field's arguments. */
struct field_part {
    char name[256];
    size_t index;
    /* It lies in the value's bytes as `member` says. Otherwise its edge is that of stored media, and `locate` finds it in the payload. */
    bool strided;
    mldf_member member;
    /* A table in the payload has it (part_table): the values of `kind` that a sample has. `all` of them, one after the other, else the one with this
     * number; or a `column` of the table itself. */
    bool tabled, all, column;
    uint64_t number;
    const struct schema_field *kind;
};

/* A part of one value as a field of its own would have it: bytes of the payload, and the record that its decoder reads. */
enum { PART_RECORD_MAX = 80 };
struct part_place {
    uint64_t offset, bytes;
    uint8_t record[PART_RECORD_MAX];
    uint32_t record_bytes;
    bool absent;    /* this value has no such part: it is a null there */
    uint64_t whole; /* bytes of the value; whoever calls `locate` sets it */
};

/* The functions that every type has, as in mldf_type. */
struct type_core {
    size_t struct_bytes;
    uint16_t id;
    const char *name;
    void *user;
    mldf_status (*bind)(void *user, const char *arguments, mldf_record_layout *layout, void **state, mldf_error *err);
    void (*unbind)(void *user, void *state);
    mldf_status (*encode)(void *user, const void *state, const mldf_value *value, uint8_t *record, mldf_buffer *scratch,
                          const void **payload, uint64_t *payload_bytes, mldf_error *err);
    mldf_status (*decode)(void *user, const void *state, const uint8_t *record, const void *payload,
                          uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err);
};

struct field_steps {
    uint64_t steps;
    uint32_t rate; /* of them a second; 0: the type has none */
};

/* Where decode and check_deep find fault, err->offset counts from the record's first byte; MLDF_NONE: the payload is at
 * fault. mldfi_field_decode turns that into a byte of the file. */
struct field_type {
    struct type_core type;
    const char *name;
    /* 1.0 files hold another record under this id: there it is of an unknown type. */
    bool draft_differs;
    /* What statistics want to know of a present value; NULL: nothing. record is the whole record. */
    void (*observe)(const void *state, const uint8_t *record, struct observation *out);
    /* What statistics want to know that the record does not say: the least and largest number in a value. MLDF_END: it has none. An error: the
     * value has a number that the field does not hold, and a writer refuses it, copied or not. NULL: nothing. */
    mldf_status (*range)(const void *state, const uint8_t *record, const void *payload, uint64_t payload_bytes,
                         uint64_t *least, uint64_t *most, mldf_error *err);
    /* A writer stores the payload as it is, so that any part of it can be read alone. */
    bool never_compressed;
    /* Parts of a payload are read alone: in an encrypted file it is sealed in chunks. */
    bool in_chunks;
    /* The name of the token field that a side column goes along (along.h), and whether it holds spans (spans may be NULL). NULL: none. */
    const char *(*along)(const void *state, bool *spans);
    /* Is this value an array that a user may view in place? NULL: as the layout says. */
    bool (*is_viewable)(const uint8_t *record);
    /* Will a value of so many stored bytes be an array, under these arguments? NULL: as the layout says. */
    bool (*expects_array)(const void *state, uint64_t bytes);
    /* Fills info->dtype, ndim, dims; NULL: nothing to say. */
    void (*describe)(const void *state, mldf_field *info);
    /* Names of the arguments that a caller may give, NULL at the end; NULL: any. A file may hold others: kept. */
    const char *const *argument_names;
    /* Appends the canonical form of a caller's arguments, or refuses them; NULL: canonical JSON is enough. */
    mldf_status (*canonical)(const struct json *arguments, mldf_buffer *out, mldf_error *err);
    /* The same for a user-defined type, before the name of the type is put in. */
    mldf_status (*canonical_own)(void *user, const char *arguments, mldf_buffer *out, mldf_error *err);
    /* What decode leaves to a deep check because it costs a walk over the value; NULL: nothing. MLDF_END: fine, as far as this build can tell;
     * the family's decoder is not asked. */
    mldf_status (*check_deep)(const void *state, const uint8_t *record, const void *payload, uint64_t payload_bytes,
                              mldf_error *err);

    /* Is this value stored in a form that only decoders see? What everyone else gets is made by `unpack`, which appends the value's bytes to out and
     * fills in the record that they would have; most: bytes of memory that it may take. NULL: never. */
    bool (*is_packed)(const uint8_t *record);
    mldf_status (*unpack)(const uint8_t *record, const void *payload, uint64_t payload_bytes, uint64_t most,
                          uint8_t *out_record, mldf_buffer *out, mldf_error *err);
    /* Of a type whose values have parts: is one of them packed? The value has its payload. NULL: never. */
    bool (*holds_packed)(const struct schema_field *field, const mldf_value *value);

    /* What a writer has to say of a field when it is finished, as text in `out`; nothing: out stays empty. NULL: never. */
    void (*report)(const void *state, char *out, size_t room);

    /* The static type of the field's stored values, from its arguments and from what is known of the values (bounds may be NULL). *out begins
     * as zeros. NULL: a pipeline cannot read the type. */
    mldf_status (*edge)(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                        mldf_error *err);
    /* Part number `index`; MLDF_END after the last. NULL: values have no parts. Fields of several files with parts match if their arguments are
     * equal. */
    mldf_status (*part)(const struct schema_field *field, size_t index, struct field_part *out, mldf_error *err);
    /* The static type of a part; *out begins as zeros. */
    mldf_status (*part_edge)(const struct schema_field *field, const struct field_part *part,
                             const struct value_bounds *bounds, struct edge *out, mldf_error *err);
    /* Where a part is, from the record alone: value->data may be NULL. Parts that are strided need none. */
    mldf_status (*locate)(const struct schema_field *field, const struct field_part *part, const mldf_value *value,
                          struct part_place *out, mldf_error *err);
    /* Of tabled parts: how many bytes of the payload are the part's table, and where it begins. The others get that table, of a payload of
     * payload_bytes. */
    uint64_t (*part_table)(const struct schema_field *field, const struct field_part *part, const uint8_t *record,
                           uint64_t *offset);
    /* The next value of the part's kind from entry *at of the table on, which becomes the entry after it. null: it is there, and null. MLDF_END: there
     * are no more. */
    mldf_status (*part_entry)(const struct schema_field *field, const struct field_part *part, const uint8_t *record,
                              uint64_t payload_bytes, const uint8_t *table, uint64_t *at, struct part_place *out,
                              bool *null, mldf_error *err);
    /* What the record alone says of all parts of a kind that are not null: how many there are (entries), or how long they are together. False: it does not.
     * NULL: it never does. */
    bool (*part_total)(const struct schema_field *field, const struct field_part *part, const uint8_t *record,
                       bool entries, uint64_t *out);
    /* A column's numbers, appended. */
    mldf_status (*part_column)(const struct schema_field *field, const struct field_part *part, const uint8_t *record,
                               uint64_t payload_bytes, const uint8_t *table, mldf_buffer *out, mldf_error *err);
    /* When a part that is a sound begins, from the value's own bytes. NULL: with the value. */
    mldf_status (*part_start)(const struct schema_field *field, const struct field_part *part,
                              const struct audio_bytes *in, struct start *out, mldf_error *err);
    /* How long a value is along its first dimension (a recording: in time), from its record alone. False: this value has none. NULL: a view cannot
     * cut the type. */
    bool (*steps)(const struct schema_field *field, const uint8_t *record, struct field_steps *out);
    /* A byte of a value is at most 2^steps_shift steps: 0 where steps are stored, more where a codec packs them. */
    uint8_t steps_shift;
    /* What such a field's values are compressed by already, so that zstd gains nothing ("JPEG, PNG or WebP images"), or NULL. NULL: nothing. */
    const char *(*compressed_already)(const struct schema_field *field);
    field_sizes sizes;
    /* Looks at the records from *at on. MLDF_OK and *at == count: all were looked at. MLDF_OK and *at < count: that record does not say what its
     * value is; the caller gives the value to see_value and goes on behind it. MLDF_END: no other record of the file can change what matters
     * (statistics say the rest), and the bounds are those of all of them. NULL: `sizes` says how. */
    mldf_status (*see)(const struct schema_field *field, const struct record_block *block, size_t *at,
                       struct survey *survey, mldf_error *err);
    /* The same for one value, in files without such records. A value that says nothing is left out: it is a bad sample, and met later. */
    void (*see_value)(const struct schema_field *field, const mldf_value *value, struct survey *survey);
    /* The record says what a value is, whatever the field's arguments: fields of one family match each other, and its media decode and encode
     * their values. NONE: dtype and shape must match. */
    media_family self_describing;
    /* value_json has more to say than a payload's hash when it is given a value of 0 bytes: what the record says. */
    bool describes_records;
    /* A value is read by the field's arguments: fields of several files match if these are equal. */
    bool by_arguments;
    /* NULL: values are not made from files, but by the caller. */
    const struct field_files *files;
    /* The ending of a file that holds a value, as far as the type says it; where values differ, that of one of no known format. NULL: "bin".
     * "": values are numbers, which stand in a manifest. */
    const char *ending;
    /* A value that is not null, as mldf_reader_get gave it, as a file. kit: the thread's. NULL: the value's bytes, an array as an NPY file. */
    mldf_status (*export)(const struct schema_field *field, const mldf_value *value, struct media_kit *kit,
                          struct export_room *room, struct exported *out, mldf_error *err);
    /* Appends what a person should see of such a value, as JSON; full: its bytes too. MLDF_END, or NULL: as its kind is written. */
    mldf_status (*value_json)(const struct schema_field *field, const mldf_value *value, bool full, mldf_buffer *out,
                              mldf_error *err);
    /* Values of the same kind and bytes: are they equal in what their records say? NULL: yes. */
    bool (*same)(const mldf_value *a, const mldf_value *b);
    /* What kind of thing a loader's state calls it (src/loader/identity.c). Never changes: states are kept. 0: 'u', a stored value. */
    char letter;

    /* What a thread keeps for the type, in its kit (media.h); NULL: nothing. */
    mldf_status (*open_worker)(void *user, void **worker, mldf_error *err);
    void (*close_worker)(void *user, void *worker);
    /* encode_worker takes long, and asks the kit's watch whether to go on; NULL: it does not. */
    void (*watch_worker)(void *worker, const struct work_watch *watch);
    /* The array into memory of the caller's, as mldf_type says it, with the promises kept: what describe fixed is in dims and stays; dims that
     * pass `most` bytes are refused. NULL: values come from decode. */
    mldf_status (*decode_into)(const struct schema_field *field, void *worker, const uint8_t *record,
                               const void *payload, uint64_t payload_bytes, uint64_t most, void *dst, uint64_t *dims,
                               mldf_error *err);
    /* encode with the thread's worker; NULL: encode. */
    mldf_status (*encode_worker)(const struct schema_field *field, void *worker, const mldf_value *value,
                                 uint8_t *record, mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes,
                                 mldf_error *err);
};

/* Built-in types, one file each: scalar.c, bytes.c (BYTES, JSON, TEXT), ndarray.c, inline.c. NULL when unknown. */
const struct field_type *mldfi_builtin_type(uint16_t id);

struct schema_field {
    mldf_field info;               /* name and arguments are the two below */
    char *name, *arguments;        /* owned */
    const struct field_type *type; /* NULL: unknown */
    void *state;                   /* from bind */
    mldf_record_layout layout;
    bool chunked;          /* of a file, or one that is written: payloads are sealed in chunks */
    size_t payload_index;  /* ordinal among the fields with a payload (column of section 2), or SIZE_MAX */
    size_t nullable_index; /* ordinal among the nullable fields (bitmap of section 5), or SIZE_MAX */
};

struct mldf_schema {
    const mldf_context *context;
    struct schema_field *fields;
    size_t field_count, field_capacity;
    size_t payload_count, nullable_count;
    uint32_t row_bytes, row_align;
    struct name_index names;
};

struct mldf_context {
    mldf_warning_fn warn;
    void *warn_user;
    struct user_type **types; /* user-defined: owned */
    size_t type_count, type_capacity;
    void *operations; /* user-defined: pipeline/user_op.c knows them, and how they end */
    void (*free_operations)(void *operations);
    char *cache_folder, *compiler; /* mldf_context_set_compiler; NULL: none */
    unsigned compile_limit_ms;     /* 0: 30 s */
    uint64_t max_decoded;          /* mldf_context_set_max_decoded */
    char *temporary_folder;        /* NULL: /tmp */
    uint64_t max_unpacked;         /* 0: MLDF_MAX_UNPACKED */
};
/* What was set, or the default; context may be NULL. */
const char *mldfi_temporary_folder(const mldf_context *context);
uint64_t mldfi_max_unpacked(const mldf_context *context);
__attribute__((format(printf, 2, 3))) void mldfi_warn(const mldf_context *context, const char *format, ...);

/* The type with this id that the context has, or NULL. */
const struct field_type *mldfi_context_type(const mldf_context *context, uint16_t id);

/* From a file's descriptors (arguments resolved by the caller: text, not terminated, may be empty). Adds the field as
 * the file has it: flags, offsets and sizes are the file's; a known type whose own layout disagrees with them is
 * MLDF_E_CORRUPT at the descriptor's member (`offset` is the descriptor's); faulty arguments are at
 * descriptor->arguments_offset. draft: 1.0 rules: arguments are ignored; row offsets follow from natural alignment; a
 * type whose layout disagrees is unknown; the row's size is the caller's to check. */
mldf_status mldfi_schema_add_descriptor(mldf_schema *schema, const struct descriptor *descriptor, const char *arguments,
                                        size_t arguments_bytes, bool draft, uint64_t offset, mldf_error *err);
/* Ordinal of a name, or SIZE_MAX. */
size_t mldfi_schema_lookup(const mldf_schema *schema, const char *name);
mldf_status mldfi_schema_copy(const mldf_schema *schema, mldf_schema **out, mldf_error *err);
/* The descriptor of a field; *long_arguments is set when its text must go to section 10. */
void mldfi_schema_descriptor(const mldf_schema *schema, size_t field, struct descriptor *out, bool *long_arguments);

static inline bool mldfi_field_has_payload(const struct schema_field *field) {
    return (field->info.flags & (MLDF_FIELD_SIZE32 | MLDF_FIELD_SIZE64)) != 0;
}
/* Does an encrypted file that is written hold the field's payloads in chunks? What is compressed is decompressed whole. */
static inline bool mldfi_field_seals_chunks(const struct schema_field *field) {
    return field->type && field->type->in_chunks && !(field->info.flags & MLDF_FIELD_COMPRESSED);
}
/* Does decode make the value in its scratch memory, from the payload's bytes, so that both must lie elsewhere? User-defined types may. */
static inline bool mldfi_field_is_made(const struct schema_field *field) {
    return field->info.type_id >= MLDF_PRIVATE || (field->type && field->type->decode_into);
}
/* ptr and size of a record with a payload. */
static inline void mldfi_record_payload(const struct schema_field *field, const uint8_t *record, uint64_t *ptr,
                                        uint64_t *bytes) {
    uint64_t size;
    __builtin_memcpy(ptr, record, 8);
    if (field->info.flags & MLDF_FIELD_SIZE64) {
        __builtin_memcpy(&size, record + 8, 8);
    } else {
        uint32_t small;
        __builtin_memcpy(&small, record + 8, 4);
        size = small;
    }
    *bytes = size;
}
static inline void mldfi_record_set_payload(const struct schema_field *field, uint8_t *record, uint64_t ptr,
                                            uint64_t bytes) {
    __builtin_memcpy(record, &ptr, 8);
    if (field->info.flags & MLDF_FIELD_SIZE64) {
        __builtin_memcpy(record + 8, &bytes, 8);
    } else {
        uint32_t small = (uint32_t)bytes;
        __builtin_memcpy(record + 8, &small, 4);
    }
}

/* Decodes one present value of a field of known type and sets out->record. The error's offset is record_offset + the
 * byte of the record at fault, or payload_ptr. */
mldf_status mldfi_field_decode(const struct schema_field *field, const uint8_t *record, uint64_t record_offset,
                               const void *payload, uint64_t payload_bytes, uint64_t payload_ptr, mldf_buffer *scratch,
                               mldf_value *out, mldf_error *err);
/* What decoding leaves unchecked: is it JSON, UTF-8, an image to its last pixel ...? Offsets as above. Unknown types are always fine. The kit
 * is this thread's. */
mldf_status mldfi_field_check_deep(const struct schema_field *field, struct media_kit *kit, const uint8_t *record,
                                   uint64_t record_offset, const void *payload, uint64_t payload_bytes,
                                   uint64_t payload_ptr, mldf_error *err);
/* The type's encode, with this thread's kit. `check`: what it made is decoded to its end. */
mldf_status mldfi_field_encode(const struct schema_field *field, struct media_kit *kit, bool check,
                               const mldf_value *value, uint8_t *record, mldf_buffer *scratch, const void **payload,
                               uint64_t *payload_bytes, mldf_error *err);
/* May this value of kind MLDF_KIND_STORED be copied into the field? Its record has the field's size and, where the type
 * is known, decodes. */
mldf_status mldfi_field_check_stored(const struct schema_field *field, const mldf_value *value, mldf_error *err);

/* ---- Files (files.c) ---------------------------------------------------------------------------------------------------------- */

/* What follows the last dot of a name; "" where there is none. */
const char *mldfi_name_ending(const char *name);
/* The type whose files have names that end like this one, or NULL. *ending: how (may be NULL). Capitals count as small letters. */
const struct field_type *mldfi_type_of_file(const char *name, const struct file_ending **ending);
/* The type that such a file's value belongs into: the ending's own, or the kind's. */
const struct field_type *mldfi_type_for_file(const char *name);
/* The kind's own type; NULL: it is none of the built-in kinds. */
const struct field_type *mldfi_type_of_kind(const struct field_files *files);
/* The types whose values are made from files, one for each kind of files; NULL past the last. */
const struct field_type *mldfi_type_with_files(size_t index);
/* The type's own entry for such a name, or NULL. */
const struct file_ending *mldfi_file_ending(const struct field_files *files, const char *name);
/* A value of any type, known or not, as a file. */
mldf_status mldfi_field_export(const struct schema_field *field, const mldf_value *value, struct media_kit *kit,
                               struct export_room *room, struct exported *out, mldf_error *err);
/* The head of an NPY file with the elements of this value, and the value's bytes. */
mldf_status mldfi_npy_export(const mldf_value *value, struct export_room *room, struct exported *out, mldf_error *err);
/* How value_json begins for a value with a payload, {"bytes":N,"sha256":"...", and how it ends. */
mldf_status mldfi_payload_json_begin(const mldf_value *value, mldf_buffer *out, mldf_error *err);
mldf_status mldfi_payload_json_end(const mldf_value *value, bool full, mldf_buffer *out, mldf_error *err);

/* Fields of two files whose records say what a value is, to the same decoder: their arguments do not matter. */
static inline bool mldfi_match_by_record(const struct schema_field *a, const struct schema_field *b) {
    return a->type && b->type && a->type->self_describing && a->type->self_describing == b->type->self_describing;
}

/* INLINE's members. MLDF_END past the last. */
mldf_status mldfi_inline_member(const void *state, size_t index, mldf_member *out, mldf_error *err);

#endif
