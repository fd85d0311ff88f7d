/* mldf_reader_open: which format is it? MLDF first, because that is the common case and costs nothing more; what is not MLDF is looked
 * at again: TBL by its magic, tar by its first header (or what compresses it before that), .beton, which has no magic, last. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "interop/beton.h"
#include "interop/open_any.h"
#include "interop/tar.h"
#include "interop/tar_unpack.h"
#include "interop/tbl.h"
#include "interop/token_files.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/known.h"
#include "util/options.h"

/* An archive without members is zeros: its end mark of two blocks alone, or filled up to a record of twenty. Other numbers of zeros are
 * more likely a file that lost its content. */
static bool is_empty_tar(const uint8_t *data, uint64_t bytes) {
    static const uint8_t zeros[TAR_BLOCK];
    if (bytes != 2 * TAR_BLOCK && bytes != 20 * TAR_BLOCK)
        return false;
    for (uint64_t at = 0; at < bytes; at += TAR_BLOCK)
        if (memcmp(data + at, zeros, TAR_BLOCK) != 0)
            return false;
    return true;
}

static bool is_compressed(const uint8_t *data, uint64_t bytes) {
    static const uint8_t gzip[] = {0x1f, 0x8b, 0x08}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    return (bytes > sizeof gzip && memcmp(data, gzip, sizeof gzip) == 0) ||
           (bytes > sizeof zstd && memcmp(data, zstd, sizeof zstd) == 0) ||
           mldfi_tar_can_unpack(mldfi_tar_packing(data, bytes));
}

/* MLDF_END: none of them. */
static mldf_status open_foreign(mldf_reader *reader, const mldf_token_file *tokens, mldf_error *err) {
    const uint8_t *data = reader->map.data;
    uint64_t bytes = reader->map.bytes;
    if (bytes == 0 && !tokens)
        return MLDF_END;
    mldf_status status = mldfi_foreign_open_tokens(reader, tokens, err);
    if (status != MLDF_END)
        return status;
    if (mldfi_tbl_is(data, bytes))
        return mldfi_foreign_open_tbl(reader, err);
    if (mldfi_tar_is(data, bytes) || is_empty_tar(data, bytes) || is_compressed(data, bytes))
        return mldfi_foreign_open_tar(reader, err);
    if (mldfi_beton_is(data, bytes))
        return mldfi_foreign_open_beton(reader, err);
    return MLDF_END;
}

/* Other formats have their index inside. */
static mldf_status check_keep(mldf_reader **reader, mldf_error *err) {
    const char *format = mldf_reader_format(*reader);
    if ((*reader)->tar_index != MLDF_TAR_INDEX_KEEP || strcmp(format, "tar") == 0)
        return MLDF_OK;
    mldf_status status =
        mldfi_fail(err, MLDF_E_ARGUMENT, "only a plain tar archive has an index to keep; this is %s", format);
    mldfi_reader_name_error(*reader, err, status);
    mldf_reader_close(*reader);
    *reader = NULL;
    return status;
}

/* Not one of them: what it is, if that can be said, and what takes it. */
static void name_stranger(const mldf_reader *reader, mldf_error *why) {
    size_t bytes = reader->map.bytes < 512 ? (size_t)reader->map.bytes : 512;
    const uint8_t *data = reader->map.data;
    if (why->status != MLDF_E_MAGIC || !data)
        return;
    const char *kind = mldfi_known_kind(data, bytes), *conversion = mldfi_known_conversion(data, bytes);
    if (conversion)
        (void)mldfi_error_advise(why, why->status,
                                 "it was one, and was converted as text on its way (%s): copy it again, in binary mode",
                                 conversion);
    else if (kind)
        (void)mldfi_error_advise(why, why->status, "it is %s%s%s", kind, mldfi_known_advice(data, bytes) ? "; " : "",
                                 mldfi_known_is_image(data, bytes)
                                     ? "; `mldf pack` makes a dataset of a folder of images"
                                 : mldfi_known_advice(data, bytes) ? mldfi_known_advice(data, bytes)
                                                                   : "");
    else if (mldfi_looks_like_text(data, bytes))
        (void)mldfi_error_advise(why, why->status, "it is text; `mldf pack` makes a dataset of CSV and JSON lines");
    else if (bytes >= 4)
        (void)mldfi_error_advise(why, why->status, "they are %02x %02x %02x %02x", data[0], data[1], data[2], data[3]);
}

mldf_status mldf_reader_open(const char *path, const mldf_reader_options *options, mldf_reader **out, mldf_error *err) {
    mldf_error why;
    mldf_reader_options own = MLDF_READER_OPTIONS_INIT;
    mldf_token_file about = MLDF_TOKEN_FILE_INIT;
    mldf_status taken = mldfi_take_options(&own, sizeof own, "mldf_reader_options", options, err);
    if (taken == MLDF_OK)
        taken = mldfi_take_options(&about, sizeof about, "mldf_token_file", own.token_file, err);
    if (taken < 0)
        return taken;
    if (own.token_file)
        own.token_file = &about;
    options = &own;
    const mldf_token_file *tokens = own.token_file;
    mldf_status native = tokens && tokens->format ? mldfi_fail(&why, MLDF_E_MAGIC, "not looked at")
                                                  : mldfi_reader_open_native(path, options, out, &why);
    if (native != MLDF_E_MAGIC && native != MLDF_E_TRUNCATED) {
        if (native < 0 && why.sys_errno == EISDIR)
            (void)mldfi_error_advise(&why, native,
                                     "`mldf pack` makes a dataset of the files in a folder; "
                                     "to read datasets that are in it, name their files");
        if (native < 0 && err)
            *err = why;
        return native < 0 ? native : check_keep(out, err);
    }
    mldf_reader *reader = NULL;
    mldf_status status = mldfi_reader_map(path, options, &reader, err);
    if (status >= 0)
        status = open_foreign(reader, tokens, err);
    if (status == MLDF_OK) {
        reader->row_bytes = reader->schema->row_bytes;
        *out = reader;
        return check_keep(out, err);
    }
    if (status < 0 && reader)
        mldfi_reader_name_error(reader, err, status);
    else if (status == MLDF_END)
        name_stranger(reader, &why);
    mldf_reader_close(reader);
    if (status == MLDF_END) {
        status = native;
        if (err)
            *err = why;
    }
    return status;
}
