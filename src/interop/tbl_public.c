/* mldf/tbl.h: TBL files sample by sample. A mapped file around tbl_read.c and tbl_metadata.c, and tbl_write.c under public names. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "interop/tbl.h"
#include "mldf/tbl.h"
#include "os/file.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"

#define ULL(v) ((unsigned long long)(v))

/* The first ending of a format is the one that it has. */
static const struct {
    const char *ending;
    mldf_tbl_format format;
} endings[] = {
    {".jpg", MLDF_TBL_JPEG}, {".jpeg", MLDF_TBL_JPEG},  {".png", MLDF_TBL_PNG},  {".webp", MLDF_TBL_WEBP},
    {".bmp", MLDF_TBL_BMP},  {".tiff", MLDF_TBL_TIFF},  {".tif", MLDF_TBL_TIFF}, {".mp4", MLDF_TBL_MP4},
    {".avi", MLDF_TBL_AVI},  {".raw", MLDF_TBL_RAW_U8},
};
enum { ENDINGS = sizeof endings / sizeof endings[0] };

mldf_tbl_format mldf_tbl_format_of(const char *extension) {
    for (size_t i = 0; extension && i < ENDINGS; i++)
        if (strcasecmp(extension + (*extension == '.'), endings[i].ending + 1) == 0 &&
            endings[i].format != MLDF_TBL_RAW_U8)
            return endings[i].format;
    return MLDF_TBL_UNKNOWN;
}

const char *mldf_tbl_extension_of(mldf_tbl_format format) {
    for (size_t i = 0; i < ENDINGS; i++)
        if (endings[i].format == format)
            return endings[i].ending;
    return ".bin";
}

/* ---- Reading ---------------------------------------------------------------------------------------------------------------- */

struct mldf_tbl {
    struct os_file file;
    struct os_map map;
    struct tbl *tbl;
};

void mldf_tbl_close(mldf_tbl *tbl) {
    if (!tbl)
        return;
    mldfi_tbl_close(tbl->tbl);
    mldfi_map_close(&tbl->map);
    mldfi_file_close(&tbl->file);
    free(tbl);
}

/* Errors below this name the file. */
static mldf_status in_file(const char *path, mldf_status status, mldf_error *err) {
    if (status < 0)
        mldfi_error_path(err, path);
    return status;
}

static mldf_status map_and_open(mldf_tbl *tbl, const char *path, mldf_error *err) {
    uint64_t bytes;
    mldf_status status = mldfi_file_open(&tbl->file, path, OS_OPEN_READ, err);
    if (status >= 0)
        status = mldfi_file_size(&tbl->file, &bytes, err);
    if (status >= 0)
        status = mldfi_map_open(&tbl->map, &tbl->file, bytes, err);
    if (status < 0)
        return status;
    if (!tbl->map.data || !mldfi_tbl_is(tbl->map.data, tbl->map.bytes))
        return mldfi_fail(err, MLDF_E_MAGIC, "not a TBL file: it does not begin with \"TBL\" and a version");
    return mldfi_tbl_open(&tbl->tbl, tbl->map.data, tbl->map.bytes, err);
}

mldf_status mldf_tbl_open(const char *path, mldf_tbl **out, mldf_error *err) {
    *out = NULL;
    mldf_tbl *tbl = mldfi_alloc_zero(1, sizeof *tbl, err);
    if (!tbl)
        return MLDF_E_MEMORY;
    tbl->file.fd = -1;
    mldf_status status = map_and_open(tbl, path, err);
    if (status < 0) {
        status = in_file(path, status, err);
        mldf_tbl_close(tbl);
        return status;
    }
    *out = tbl;
    return MLDF_OK;
}

uint64_t mldf_tbl_count(const mldf_tbl *tbl) {
    return mldfi_tbl_info(tbl->tbl)->count;
}

mldf_status mldf_tbl_get_info(const mldf_tbl *tbl, mldf_tbl_info *out, mldf_error *err) {
    const struct tbl_info *info = mldfi_tbl_info(tbl->tbl);
    mldf_tbl_info own = {.version = info->version,
                         .count = info->count,
                         .compressed = (info->flags & TBL_FILE_COMPRESSED) != 0,
                         .has_metadata = info->metadata_bytes != 0,
                         .created = info->created,
                         .dataset_version = info->dataset_version,
                         .custom_flags = info->custom_flags};
    mldf_status status = mldfi_check_result("mldf_tbl_info", out, err);
    if (status >= 0)
        mldfi_give_result(out, &own, sizeof own);
    return status;
}

mldf_status mldf_tbl_get_entry(const mldf_tbl *tbl, uint64_t sample, mldf_tbl_entry *out, mldf_error *err) {
    struct tbl_entry entry;
    TRY(mldfi_check_result("mldf_tbl_entry", out, err));
    mldf_status status = mldfi_tbl_entry(tbl->tbl, sample, &entry, err);
    if (status < 0)
        return in_file(tbl->file.path, status, err);
    mldf_tbl_entry own = {.offset = entry.offset,
                          .stored_bytes = entry.stored,
                          .bytes = entry.size,
                          .width = entry.width,
                          .height = entry.height,
                          .format = entry.format,
                          .compressed = (entry.flags & TBL_LZ4) != 0,
                          .has_metadata = (entry.flags & TBL_METADATA) != 0,
                          .checksum = entry.checksum};
    mldfi_give_result(out, &own, sizeof own);
    return MLDF_OK;
}

mldf_status mldf_tbl_read(const mldf_tbl *tbl, uint64_t sample, mldf_buffer *room, const void **data, uint64_t *bytes,
                          mldf_error *err) {
    const uint8_t *found = NULL;
    *data = NULL;
    *bytes = 0;
    mldf_status status = mldfi_tbl_payload(tbl->tbl, sample, true, room, &found, bytes, err);
    *data = found;
    return in_file(tbl->file.path, status, err);
}

mldf_status mldf_tbl_read_metadata(const mldf_tbl *tbl, uint64_t sample, unsigned *type, const void **data,
                                   uint64_t *bytes, mldf_error *err) {
    struct tbl_metadata found;
    mldf_status status = mldfi_tbl_find_metadata(tbl->tbl, sample, &found, err);
    *type = found.type;
    *data = found.data;
    *bytes = found.bytes;
    return in_file(tbl->file.path, status, err);
}

/* ---- Writing ------------------------------------------------------------------------------------------------------------------- */

struct mldf_tbl_writer {
    struct tbl_writer *writer;
    uint64_t count;
    unsigned version;
    bool finished;
};

void mldf_tbl_writer_free(mldf_tbl_writer *writer) {
    if (writer)
        mldfi_tbl_writer_free(writer->writer);
    free(writer);
}

mldf_status mldf_tbl_writer_new(const char *path, const mldf_tbl_writer_options *options, mldf_tbl_writer **out,
                                mldf_error *err) {
    mldf_tbl_writer_options own = MLDF_TBL_WRITER_OPTIONS_INIT;
    *out = NULL;
    TRY(mldfi_take_options(&own, sizeof own, "mldf_tbl_writer_options", options, err));
    if (own.version != 1 && own.version != 2)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "version %u of TBL files; 1 and 2 are known", own.version);
    struct tbl_write_options how = {.version = own.version,
                                    .count = own.count,
                                    .compress = own.compress,
                                    .overwrite = own.overwrite,
                                    .threads = own.threads,
                                    .dataset_version = own.dataset_version,
                                    .created = own.created,
                                    .custom_flags = own.custom_flags};
    mldf_tbl_writer *writer = mldfi_alloc_zero(1, sizeof *writer, err);
    if (!writer)
        return MLDF_E_MEMORY;
    writer->version = own.version;
    mldf_status status = mldfi_tbl_writer_open(&writer->writer, path, &how, err);
    if (status < 0) {
        free(writer);
        return in_file(path, status, err);
    }
    *out = writer;
    return MLDF_OK;
}

static mldf_status check_open(const mldf_tbl_writer *writer, mldf_error *err) {
    return writer->finished ? mldfi_fail(err, MLDF_E_STATE, "the file is finished") : MLDF_OK;
}

mldf_status mldf_tbl_writer_add(mldf_tbl_writer *writer, mldf_tbl_format format, uint32_t width, uint32_t height,
                                const void *data, uint64_t bytes, uint64_t *sample, mldf_error *err) {
    struct tbl_sample one = {data, bytes, (uint8_t)format, width, height, NULL};
    TRY(check_open(writer, err));
    if ((unsigned)format > UINT8_MAX || (writer->version == 1 && format > MLDF_TBL_TIFF))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "sample %llu: format %u does not exist in version %u",
                          ULL(writer->count), (unsigned)format, writer->version);
    if (format == MLDF_TBL_RAW_U8 && (width == 0 || height == 0))
        return mldfi_fail(err, MLDF_E_RANGE, "sample %llu: RAW_U8 of %u x %u: raw pixels need a width and a height",
                          ULL(writer->count), width, height);
    if (format == MLDF_TBL_RAW_U8 && bytes != (uint64_t)width * height * 3)
        return mldfi_fail(err, MLDF_E_RANGE, "sample %llu: %u x %u pixels of RGB are %llu bytes, not %llu",
                          ULL(writer->count), width, height, ULL((uint64_t)width * height * 3), ULL(bytes));
    TRY(mldfi_tbl_writer_add(writer->writer, &one, err));
    if (sample)
        *sample = writer->count;
    writer->count++;
    return MLDF_OK;
}

mldf_status mldf_tbl_writer_add_metadata(mldf_tbl_writer *writer, uint64_t sample, unsigned type, const void *data,
                                         uint64_t bytes, mldf_error *err) {
    struct tbl_metadata one = {(uint16_t)type, data, (uint32_t)bytes};
    TRY(check_open(writer, err));
    if (writer->version == 1)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "metadata of sample %llu: version 1 holds none", ULL(sample));
    if (sample >= writer->count)
        return mldfi_fail(err, MLDF_E_NO_SAMPLE, "metadata of sample %llu: %llu samples were added", ULL(sample),
                          ULL(writer->count));
    if (type == 0 || type > UINT16_MAX || bytes > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_RANGE,
                          "metadata of sample %llu: type %u, %llu bytes; a TBL file holds types 1 to 65535 "
                          "and less than 4 GiB",
                          ULL(sample), type, ULL(bytes));
    return mldfi_tbl_writer_metadata(writer->writer, sample, &one, err);
}

uint64_t mldf_tbl_writer_count(const mldf_tbl_writer *writer) {
    return writer->count;
}

mldf_status mldf_tbl_writer_finish(mldf_tbl_writer *writer, mldf_error *err) {
    TRY(check_open(writer, err));
    writer->finished = true;
    return mldfi_tbl_writer_finish(writer->writer, NULL, err);
}
