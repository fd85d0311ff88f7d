/* mldf/reader.h: opening a file and getting at its samples.
 *
 * What can go wrong first:
 *   - A mapped file must not shrink while it is open: the system then ends the process with SIGBUS, and no library can
 *     prevent that. Where others may cut the file, use MLDF_BACKEND_READ, which gives MLDF_E_CHANGED instead.
 *   - A reader is immutable: any number of threads may use it at once. Scratch buffers belong to one thread each.
 *   - A value's data lives as long as the reader (mapped, stored raw) or until the scratch buffer is used again.
 *   - After fork() the child may go on reading; only the parent or the child should close each its own copy.
 *   - Checksums are not checked by ordinary access unless `verify` is set; mldf_verify (tool.h) checks everything.
 *
 *     mldf_reader *r;
 *     mldf_error err;
 *     if (mldf_reader_open("train.mldf", NULL, &r, &err) < 0) { puts(MLDF_ERROR_TEXT(&err)); return 1; }
 *     mldf_buffer scratch = MLDF_BUFFER_INIT;
 *     mldf_value v;
 *     if (mldf_reader_get(r, 17, 0, &scratch, &v, &err) < 0) ...
 *     mldf_buffer_free(&scratch);
 *     mldf_reader_close(r);
 *
 * Stability: stable.
 */
#ifndef MLDF_READER_H
#define MLDF_READER_H

#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mldf_reader mldf_reader;

typedef enum mldf_backend {
    MLDF_BACKEND_MAP = 0, /* memory-mapped, zero-copy */
    /* Positional reads into the caller's scratch buffers. A file whose tables are encrypted too (encrypt_all) is mapped all the same. */
    MLDF_BACKEND_READ = 1
} mldf_backend;

/* The index of a plain tar archive. To have one, opening walks the archive, unless the file FILE.mldfidx beside it has kept it. */
typedef enum mldf_tar_index {
    MLDF_TAR_INDEX_USE =
        0,                /* the kept one if it is there and belongs to the archive; a warning says when it does not */
    MLDF_TAR_INDEX_KEEP,  /* walk, and keep the index for the next time. Only for plain tar: MLDF_E_ARGUMENT */
    MLDF_TAR_INDEX_IGNORE /* walk */
} mldf_tar_index;

/* Files of token ids that other trainers use: what they do not say themselves (docs/guides/text.md). */
typedef struct mldf_token_file {
    size_t struct_bytes;
    const char *
        format; /* "nanogpt", "olmo", "datatrove", "megatron", "llmc"; NULL: the last two are known by their first bytes */
    const char
        *dtype;  /* of bare ids: "u8", "u16", "u32", "u64", "i32", "i64"; NULL: as the format says. nanogpt: "u16" */
    int64_t eos; /* the id that ends documents; -1: none, and a bare file is one document */
    bool eos_at_start;   /* it begins them */
    bool eos_at_given;   /* eos_at_start counts; otherwise it is true for llmc and false for the others */
    uint64_t vocabulary; /* 0: not known */
} mldf_token_file;
#define MLDF_TOKEN_FILE_INIT \
    { sizeof(mldf_token_file), 0, 0, -1, false, false, 0 }

typedef struct mldf_reader_options {
    size_t struct_bytes;
    const mldf_context *context;
    mldf_backend backend;
    bool verify; /* check the row's block once and the payload at each access, where the file has checksums */
    bool
        without_key; /* open an encrypted file for its structure alone: nothing is authenticated, payloads are refused */
    mldf_secret secret;
    mldf_tar_index tar_index;
    /* The most bytes that one compressed payload may become; more is MLDF_E_LIMIT, found before memory is taken. Images that are decoded from
     * the file have it as a limit too, besides their own (mldf/image.h). 0: the context's, and without one 1 GiB, or 256 times the stored
     * bytes where that is more: so a small file cannot ask for much memory, and a large array needs no option. */
    uint64_t max_decoded_bytes;
    /* Samples will be asked for in ascending order, all fields of one before the next. A compressed tar is then read as a stream, twice
     * (once for the index), and its values are copies; otherwise it is unpacked into a temporary file. Going back is MLDF_E_STATE there.
     * Files of other formats are read as ever. */
    bool sequential;
    const mldf_token_file *token_file; /* NULL: a file says itself what it is */
} mldf_reader_options;
#define MLDF_READER_OPTIONS_INIT \
    { sizeof(mldf_reader_options), 0, MLDF_BACKEND_MAP, false, false, {0, 0, 0, 0}, MLDF_TAR_INDEX_USE, 0, false, 0 }

/* O(1) in the number of samples, except for encrypted files, whose tables are authenticated here. */
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_open(const char *path, const mldf_reader_options *options,
                                                     mldf_reader **out, mldf_error *err);
/* A file that is already in memory; borrowed until close. */
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_open_memory(const void *data, size_t bytes,
                                                            const mldf_reader_options *options, mldf_reader **out,
                                                            mldf_error *err);
MLDF_API void mldf_reader_close(mldf_reader *reader);

MLDF_API uint64_t mldf_reader_sample_count(const mldf_reader *reader);
MLDF_API const mldf_schema *mldf_reader_schema(const mldf_reader *reader);
/* "mldf", "tbl1", "tbl2", "beton", "tar", "megatron", "llmc", "nanogpt", "olmo" or "datatrove": the file's own format. All of them open and read alike; what a format does not
 * have (sections, statistics, rows) is not there. */
MLDF_API const char *mldf_reader_format(const mldf_reader *reader);
MLDF_API bool mldf_reader_is_mapped(const mldf_reader *reader);
/* max_decoded_bytes of its options or of its context; 0: neither has one. */
MLDF_API uint64_t mldf_reader_max_decoded(const mldf_reader *reader);

/* ---- Values ------------------------------------------------------------------------------------------------------- */

/* The value of one field of one sample. scratch may be NULL when the data needs no decoding and the file is mapped;
 * where it is needed and NULL, MLDF_E_ARGUMENT. A null gives MLDF_OK with kind MLDF_KIND_NULL. */
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_get(const mldf_reader *reader, uint64_t sample, size_t field,
                                                    mldf_buffer *scratch, mldf_value *out, mldf_error *err);
/* The same without decoding the field's type: kind STORED, the record and the value bytes (decrypted, decompressed). Works for
 * unknown types. */
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_get_stored(const mldf_reader *reader, uint64_t sample, size_t field,
                                                           mldf_buffer *scratch, mldf_value *out, mldf_error *err);
/* `bytes` bytes of a value from its byte `offset` on: kind STORED, the record, data and bytes of the part, as.u the bytes of the whole. With
 * the read back end only these bytes are read. In an encrypted file the chunks that hold them are, where the field is sealed in chunks (recordings,
 * videos, token streams); with `verify`, compression or other encryption the whole payload is fetched, checked and sliced.
 * bytes 0 gives the record and touches no payload; as.u is then MLDF_NONE where the stored size is not the value's. A part that passes
 * the value's end is MLDF_E_RANGE. */
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_get_range(const mldf_reader *reader, uint64_t sample, size_t field,
                                                          uint64_t offset, uint64_t bytes, mldf_buffer *scratch,
                                                          mldf_value *out, mldf_error *err);
/* Samples [from, from + count) of a recording as float, channel by channel: channel c begins at out[c * count]. Of a file that is read, only the bytes
 * that the window needs are. Opens a decoder and closes it: loaders keep theirs. MLDF_E_TYPE: not a recording. MLDF_E_RANGE: past its end, or null. */
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_get_window(const mldf_reader *reader, uint64_t sample, size_t field,
                                                           uint64_t from, uint64_t count, float *out, mldf_error *err);
/* Many samples, one field: one call instead of `count`. The values' data share scratch. */
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_get_many(const mldf_reader *reader, const uint64_t *samples,
                                                         size_t count, size_t field, mldf_buffer *scratch,
                                                         mldf_value *out, mldf_error *err);
/* Many samples of a field of fixed size (INT, FLOAT, INLINE, NDARRAY of fixed shape), one after the other into dst, which
 * holds count * item_bytes. INT and FLOAT items are their 8-byte records. Nulls are zeros. */
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_gather(const mldf_reader *reader, const uint64_t *samples, size_t count,
                                                       size_t field, void *dst, size_t item_bytes, mldf_error *err);
/* Which of many samples have a value: out[i] becomes 1, or 0 for a null. No payload is read in an MLDF file. */
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_valid(const mldf_reader *reader, const uint64_t *samples, size_t count,
                                                      size_t field, uint8_t *out, mldf_error *err);
/* Stored bytes that begin at a payload pointer, looked up in the allocation table, O(log n). */
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_read_ptr(const mldf_reader *reader, uint64_t ptr, mldf_buffer *scratch,
                                                         const void **data, uint64_t *bytes, mldf_error *err);

/* ---- Keys --------------------------------------------------------------------------------------------------------- */

MLDF_API bool mldf_reader_has_keys(const mldf_reader *reader);
/* The key of a sample: not NUL-terminated; in the mapping or in scratch. */
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_key(const mldf_reader *reader, uint64_t sample, mldf_buffer *scratch,
                                                    const char **key, size_t *key_bytes, mldf_error *err);
/* O(1) expected. MLDF_E_NO_SAMPLE when there is no such key. */
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_find_key(const mldf_reader *reader, const char *key, size_t key_bytes,
                                                         uint64_t *sample, mldf_error *err);

/* ---- The file ----------------------------------------------------------------------------------------------------- */

typedef struct mldf_file_info {
    size_t struct_bytes;
    uint16_t version_major, version_minor;
    uint32_t flags; /* header flags: 1 little-endian, 2 compressed, 4 checksummed, 8 encrypted */
    uint64_t num_samples;
    uint64_t page_size;
    uint64_t file_bytes;    /* logical end */
    uint64_t ignored_bytes; /* after the logical end: an unfinished append */
    uint64_t descriptor_ptr, metadata_ptr, data_ptr, allocation_ptr, directory_ptr, footer_ptr; /* 0: none (1.0) */
    uint64_t descriptor_bytes, metadata_bytes, allocation_bytes;
    uint64_t allocation_count;
    uint32_t generation;
    bool authenticated;    /* encrypted and opened with its key */
    bool header_recovered; /* the front header was not the state: the footer's copy is used */
} mldf_file_info;
#define MLDF_FILE_INFO_INIT \
    { sizeof(mldf_file_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, false, false }
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_info(const mldf_reader *reader, mldf_file_info *out, mldf_error *err);

/* Bytes that the payloads of all samples take in a file of another format; its index is walked. MLDF_ABSENT for an MLDF file: its
 * statistics say so. */
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_payload_bytes(const mldf_reader *reader, uint64_t *out,
                                                              mldf_error *err);

typedef struct mldf_section {
    uint32_t kind, flags;
    uint64_t ptr, bytes, param;
    uint32_t crc;
    const char *name; /* "tables", "card" ... or "unknown", "private" */
} mldf_section;
MLDF_API size_t mldf_reader_section_count(const mldf_reader *reader);
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_section(const mldf_reader *reader, size_t index, mldf_section *out,
                                                        mldf_error *err);
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_section_bytes(const mldf_reader *reader, size_t index,
                                                              mldf_buffer *scratch, const void **data, uint64_t *bytes,
                                                              mldf_error *err);
/* The card's JSON text, or MLDF_ABSENT when the file has none. */
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_card(const mldf_reader *reader, mldf_buffer *out, mldf_error *err);

/* Hints that the writer gathered. MLDF_ABSENT when the file has none. */
typedef struct mldf_field_stats {
    size_t struct_bytes;
    uint64_t present, nulls;
    uint64_t stored_bytes, stored_bytes_max, value_bytes_max;
    uint64_t nonfinite;
    int number_kind; /* 0 none, 1 i64, 2 u64, 3 f64: which of the unions below counts */
    union {
        int64_t i;
        uint64_t u;
        double f;
    } min, max;
    double mean;
    uint32_t ndim;
    uint32_t dims_max[MLDF_MAX_DIMS];
    uint64_t units,
        units_max; /* tokens: in all values, in the longest; min and max are ids then, and there is no mean */
} mldf_field_stats;
#define MLDF_FIELD_STATS_INIT \
    { sizeof(mldf_field_stats), 0, 0, 0, 0, 0, 0, 0, {0}, {0}, 0, 0, {0}, 0, 0 }
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_stats(const mldf_reader *reader, size_t field, mldf_field_stats *out,
                                                      mldf_error *err);

/* The whole metadata table, mapped files only (MLDF_E_STATE otherwise): rows of mldf_schema_row_bytes. Not checked. */
MLDF_API MLDF_NODISCARD mldf_status mldf_reader_rows(const mldf_reader *reader, const void **rows, uint64_t *bytes,
                                                     mldf_error *err);

#ifdef __cplusplus
}
#endif
#endif
