/* TBL, TurboLoader's file, versions 1 and 2: reading on borrowed memory, writing as a stream.
 *
 *     version 1   header 32 | index 16 * N | payloads
 *     version 2   header 64 | index 24 * N | payloads (LZ4 blocks or plain) | metadata blocks
 *
 * docs/guides/interop.md has the layouts. tbl_read.c, tbl_metadata.c and tbl_verify.c read; tbl_write.c writes. */
#ifndef MLDF_INTEROP_TBL_H
#define MLDF_INTEROP_TBL_H

#include "mldf/base.h"

enum {
    TBL_V1_HEADER = 32,
    TBL_V1_ENTRY = 16,
    TBL_V2_HEADER = 64,
    TBL_V2_ENTRY = 24,
    TBL_BLOCK_HEADER = 16,       /* of a metadata block */
    TBL_RAW_ALIGN = 4096,        /* of the first payload, if that is RAW_U8: TurboLoader maps such files */
    TBL_V1_COUNT_MAX = 268435453 /* 32 + 16 N is a u32 */
};

enum { TBL_UNKNOWN, TBL_JPEG, TBL_PNG, TBL_WEBP, TBL_BMP, TBL_TIFF, TBL_MP4, TBL_AVI, TBL_RAW_U8 };
enum { TBL_FILE_COMPRESSED = 1, TBL_FILE_METADATA = 2, TBL_FILE_CHECKSUMS = 4 }; /* flags of the header */
enum { TBL_LZ4 = 1, TBL_METADATA = 2 };                                          /* flags of a sample */
enum { TBL_META_JSON = 1, TBL_META_PROTOBUF = 2, TBL_META_MSGPACK = 3, TBL_META_CUSTOM = 255 };

/* "jpeg", "raw_u8" ...; "unknown" for 0 and for numbers that no version defines. */
const char *mldfi_tbl_format_name(uint8_t format);

/* ---- Reading ------------------------------------------------------------------------------------------------------ */

/* Immutable and shared by threads; [data, data + bytes) must outlive it. */
struct tbl;

struct tbl_info {
    uint32_t version; /* 1 or 2 */
    uint64_t count;
    uint32_t flags; /* version 2 */
    /* What users keep in the free bytes. Version 1: dataset_version at 20, created at 24; or, as TurboLoader's guide has it, created at 16,
     * dataset_version at 24, custom_flags at 28. Version 2: created at 48, dataset_version at 56, custom_flags at 60. */
    uint32_t dataset_version, custom_flags;
    uint64_t created;                         /* seconds since 1970, 0 unknown */
    uint64_t metadata_offset, metadata_bytes; /* version 2; 0, 0 without metadata */
};

struct tbl_entry {
    uint64_t offset;
    uint32_t stored, size;  /* bytes in the file, and of the sample */
    uint16_t width, height; /* 0 unknown */
    uint8_t format, flags;
    uint16_t checksum; /* CRC-16 of the sample; version 2 only */
};

struct tbl_metadata {
    uint16_t type;
    const uint8_t *data; /* borrowed from the file */
    uint32_t bytes;
};

/* Does it begin like one? Four bytes are enough. */
bool mldfi_tbl_is(const void *data, uint64_t bytes);
/* O(1): the header and the extent of the index. Entries are checked when they are asked for. */
mldf_status mldfi_tbl_open(struct tbl **out, const void *data, uint64_t bytes, mldf_error *err);
void mldfi_tbl_close(struct tbl *tbl);
/* mldf_reader_options.max_decoded_bytes, for compressed samples. Before the first of them is read. */
void mldfi_tbl_limit(struct tbl *tbl, uint64_t max_decoded);
const struct tbl_info *mldfi_tbl_info(const struct tbl *tbl);
mldf_status mldfi_tbl_entry(const struct tbl *tbl, uint64_t sample, struct tbl_entry *out, mldf_error *err);
/* The sample's bytes: in the file itself, or decoded into `scratch`. verify: compare the CRC-16 (version 2). */
mldf_status mldfi_tbl_payload(const struct tbl *tbl, uint64_t sample, bool verify, mldf_buffer *scratch,
                              const uint8_t **data, uint64_t *bytes, mldf_error *err);
/* The sample's first block, or MLDF_END. The first call looks through all blocks once (16 bytes of memory for each). */
mldf_status mldfi_tbl_find_metadata(struct tbl *tbl, uint64_t sample, struct tbl_metadata *out, mldf_error *err);

/* One defect: the sample (MLDF_NONE: the file) and byte are in the error. NULL: one more sample was looked at. Return false to stop. */
typedef bool (*tbl_problem_fn)(void *user, const mldf_error *problem);
/* Every entry, payload, CRC and metadata block. *problems counts them; MLDF_E_CANCELLED when the hook stopped it. */
mldf_status mldfi_tbl_verify(struct tbl *tbl, tbl_problem_fn report, void *user, uint64_t *problems, mldf_error *err);

/* ---- Writing ------------------------------------------------------------------------------------------------------ */

struct tbl_write_options {
    uint32_t version; /* 1 or 2 */
    uint64_t count;   /* MLDF_NONE: not known, payloads go through a temporary file beside the target */
    bool compress;    /* version 2: LZ4, kept for a sample when it is smaller */
    bool overwrite;   /* an existing file may be replaced */
    unsigned threads; /* that compress; 0: the caller's own */
    uint32_t dataset_version;
    uint64_t created;
    uint32_t custom_flags; /* version 2 */
};
#define TBL_WRITE_OPTIONS_INIT \
    { 2, MLDF_NONE, false, false, 0, 0, 0, 0 }

struct tbl_sample {
    const void *data;
    uint64_t bytes;
    uint8_t format;
    uint32_t width, height;              /* 0 unknown; version 1 has no room for them */
    const struct tbl_metadata *metadata; /* or NULL */
};

struct tbl_totals {
    uint64_t samples, compressed; /* of them kept as LZ4 */
    uint64_t payload_bytes, stored_bytes, file_bytes;
};

/* One thread's at a time. After any other failure only free is useful; the target is then as it was before. */
struct tbl_writer;
mldf_status mldfi_tbl_writer_open(struct tbl_writer **out, const char *path, const struct tbl_write_options *options,
                                  mldf_error *err);
/* Copies what it needs. A sample that the format cannot hold (MLDF_E_LIMIT, _RANGE, _ARGUMENT) is refused, and the next one may
 * come. Bytes of the file do not depend on the number of threads, nor on whether count was known. */
mldf_status mldfi_tbl_writer_add(struct tbl_writer *writer, const struct tbl_sample *sample, mldf_error *err);
/* One more block for a sample that was added before; waits for all samples under way. */
mldf_status mldfi_tbl_writer_metadata(struct tbl_writer *writer, uint64_t sample, const struct tbl_metadata *metadata,
                                      mldf_error *err);
/* Durable under its name when this returns. totals may be NULL. */
mldf_status mldfi_tbl_writer_finish(struct tbl_writer *writer, struct tbl_totals *totals, mldf_error *err);
/* Without a finish before it, nothing is left behind. */
void mldfi_tbl_writer_free(struct tbl_writer *writer);

#endif
