/* mldf/tbl.h: TurboLoader's TBL files, sample by sample. mldf_reader_open reads them like any other file, and mldf_convert makes them from any file;
 * this is for programs that handle the format itself: its index, its metadata blocks, its version 1.
 *
 *     mldf_tbl *tbl;
 *     if (mldf_tbl_open("train.tbl", &tbl, &err) < 0) ...
 *     mldf_buffer room = MLDF_BUFFER_INIT;
 *     for (uint64_t i = 0; i < mldf_tbl_count(tbl); i++) {
 *         const void *data; uint64_t bytes;
 *         if (mldf_tbl_read(tbl, i, &room, &data, &bytes, &err) < 0) ...
 *     }
 *     mldf_buffer_free(&room);
 *     mldf_tbl_close(tbl);
 *
 * Caveats
 *   - The file is mapped: a program that cuts it short meanwhile ends this one by SIGBUS.
 *   - Data that mldf_tbl_read and mldf_tbl_metadata give belongs to the file or to the caller's buffer: it lasts until either is closed or
 *     used again.
 *   - A handle is immutable and shared by threads; each thread brings its own buffer. A writer is one thread's at a time.
 */
#ifndef MLDF_TBL_H
#define MLDF_TBL_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a sample is. Numbers that are not here stay as they are. */
typedef enum mldf_tbl_format {
    MLDF_TBL_UNKNOWN = 0,
    MLDF_TBL_JPEG = 1,
    MLDF_TBL_PNG = 2,
    MLDF_TBL_WEBP = 3,
    MLDF_TBL_BMP = 4,
    MLDF_TBL_TIFF = 5,
    MLDF_TBL_MP4 = 6, /* from here on: version 2 */
    MLDF_TBL_AVI = 7,
    MLDF_TBL_RAW_U8 = 8 /* pixels: height x width x RGB */
} mldf_tbl_format;

/* What a metadata block is. */
typedef enum mldf_tbl_metadata_type {
    MLDF_TBL_META_NONE = 0,
    MLDF_TBL_META_JSON = 1,
    MLDF_TBL_META_PROTOBUF = 2,
    MLDF_TBL_META_MSGPACK = 3,
    MLDF_TBL_META_CUSTOM = 255
} mldf_tbl_metadata_type;

/* Of a file's ending, with its dot or without, in any case: ".JPG" and "jpeg" are MLDF_TBL_JPEG. Others are MLDF_TBL_UNKNOWN. */
MLDF_API mldf_tbl_format mldf_tbl_format_of(const char *extension);
/* The ending of a format with its dot: ".jpg"; ".bin" for those that have none. */
MLDF_API const char *mldf_tbl_extension_of(mldf_tbl_format format);

/* ---- Reading ---------------------------------------------------------------------------------------------------------------- */

typedef struct mldf_tbl mldf_tbl;

typedef struct mldf_tbl_info {
    size_t struct_bytes;
    uint32_t version; /* 1 or 2 */
    uint64_t count;
    bool compressed;   /* version 2: it was written with compression, whether or not anything shrank */
    bool has_metadata; /* version 2 */
    /* What users keep in the header's free bytes; 0 where there is nothing. */
    uint64_t created; /* seconds since 1970 */
    uint32_t dataset_version, custom_flags;
} mldf_tbl_info;
#define MLDF_TBL_INFO_INIT \
    { sizeof(mldf_tbl_info), 0, 0, false, false, 0, 0, 0 }

typedef struct mldf_tbl_entry {
    size_t struct_bytes;
    uint64_t offset;              /* of the stored bytes in the file */
    uint64_t stored_bytes, bytes; /* in the file, and of the sample */
    uint32_t width, height;       /* 0 unknown */
    unsigned format;              /* mldf_tbl_format, or a number of the future */
    bool compressed, has_metadata;
    uint16_t checksum; /* version 2: CRC-16/MODBUS of the sample */
} mldf_tbl_entry;
#define MLDF_TBL_ENTRY_INIT \
    { sizeof(mldf_tbl_entry), 0, 0, 0, 0, 0, 0, false, false, 0 }

/* O(1): the header and the extent of the index; entries are checked when they are asked for. Versions 1 and 2. */
MLDF_API mldf_status mldf_tbl_open(const char *path, mldf_tbl **out, mldf_error *err);
MLDF_API void mldf_tbl_close(mldf_tbl *tbl);
MLDF_API uint64_t mldf_tbl_count(const mldf_tbl *tbl);
MLDF_API mldf_status mldf_tbl_get_info(const mldf_tbl *tbl, mldf_tbl_info *out, mldf_error *err);
MLDF_API mldf_status mldf_tbl_get_entry(const mldf_tbl *tbl, uint64_t sample, mldf_tbl_entry *out, mldf_error *err);
/* The sample's bytes: in the file itself, or decompressed into `room`. Its checksum is compared (version 2): MLDF_E_CHECKSUM. */
MLDF_API mldf_status mldf_tbl_read(const mldf_tbl *tbl, uint64_t sample, mldf_buffer *room, const void **data,
                                   uint64_t *bytes, mldf_error *err);
/* The sample's first metadata block. MLDF_END: it has none. */
MLDF_API mldf_status mldf_tbl_read_metadata(const mldf_tbl *tbl, uint64_t sample, unsigned *type, const void **data,
                                            uint64_t *bytes, mldf_error *err);

/* ---- Writing ------------------------------------------------------------------------------------------------------------------- */

typedef struct mldf_tbl_writer mldf_tbl_writer;

typedef struct mldf_tbl_writer_options {
    size_t struct_bytes;
    unsigned version; /* 1 or 2 */
    bool compress;    /* version 2: LZ4 for a sample that it makes smaller; MLDF_E_UNSUPPORTED without liblz4 */
    bool overwrite;   /* an existing file may be replaced */
    unsigned threads; /* that compress; 0: the caller's own. The file's bytes do not depend on it */
    uint64_t count;   /* of samples to come; MLDF_NONE: not known, payloads then go through a temporary file */
    uint64_t created; /* seconds since 1970 */
    uint32_t dataset_version, custom_flags;
} mldf_tbl_writer_options;
#define MLDF_TBL_WRITER_OPTIONS_INIT \
    { sizeof(mldf_tbl_writer_options), 2, false, false, 0, MLDF_NONE, 0, 0, 0 }

/* options may be NULL. The file has its name when finish returns, not before. */
MLDF_API mldf_status mldf_tbl_writer_new(const char *path, const mldf_tbl_writer_options *options,
                                         mldf_tbl_writer **out, mldf_error *err);
/* Copies the data. width and height may be 0, but not of MLDF_TBL_RAW_U8. A sample that the format cannot hold (4 GiB, sides above 65,535,
 * pixels that are not width x height x 3 bytes) is refused, and the next one may come. *sample, its number, may be NULL. */
MLDF_API mldf_status mldf_tbl_writer_add(mldf_tbl_writer *writer, mldf_tbl_format format, uint32_t width,
                                         uint32_t height, const void *data, uint64_t bytes, uint64_t *sample,
                                         mldf_error *err);
/* A metadata block for a sample that was added. A reader gets the first block of a sample. */
MLDF_API mldf_status mldf_tbl_writer_add_metadata(mldf_tbl_writer *writer, uint64_t sample, unsigned type,
                                                  const void *data, uint64_t bytes, mldf_error *err);
MLDF_API uint64_t mldf_tbl_writer_count(const mldf_tbl_writer *writer);
/* Durable under its name when this returns. Free it in any case. */
MLDF_API mldf_status mldf_tbl_writer_finish(mldf_tbl_writer *writer, mldf_error *err);
/* Without a finish before it, nothing is left behind. */
MLDF_API void mldf_tbl_writer_free(mldf_tbl_writer *writer);

#ifdef __cplusplus
}
#endif

#endif
