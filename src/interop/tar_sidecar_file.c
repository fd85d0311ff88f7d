/* The file beside an archive that keeps its index (see tar_sidecar.h): found, compared with the archive, and made. */
#include <stdlib.h>
#include <string.h>

#include "interop/tar_sidecar.h"
#include "util/buffer.h"
#include "util/error.h"

#define ULL(v) ((unsigned long long)(v))

enum { MAGIC = 8, SLACK = 4096 };

static mldf_status name_of(const char *path, mldf_buffer *out, mldf_error *err) {
    mldf_status status = mldfi_buffer_append_text(out, path, err);
    return status < 0 ? status : mldf_buffer_append(out, TAR_SIDECAR_SUFFIX, sizeof TAR_SIDECAR_SUFFIX, err);
}

/* ---- Using --------------------------------------------------------------------------------------------------------------- */

/* An index is smaller than its archive: a header of 512 bytes stands for at most 20 + 8 of ours and its own name. */
static mldf_status read_whole(const char *name, uint64_t tar_bytes, mldf_buffer *out, mldf_error *err) {
    struct os_file file = OS_FILE_NONE;
    uint64_t bytes = 0;
    bool exists = false;
    mldf_status status = mldfi_file_exists(name, &exists, err);
    if (status >= 0 && !exists)
        return MLDF_END;
    if (status >= 0)
        status = mldfi_file_open(&file, name, OS_OPEN_READ, err);
    if (status < 0)
        return status;
    status = mldfi_file_size(&file, &bytes, err);
    if (status >= 0 && (tar_bytes > UINT64_MAX - SLACK || bytes > tar_bytes + SLACK || bytes > SIZE_MAX))
        status = mldfi_fail(err, MLDF_E_CORRUPT, "%llu bytes are too many for the index of an archive of %llu",
                            ULL(bytes), ULL(tar_bytes));
    if (status >= 0)
        status = mldfi_buffer_resize(out, (size_t)bytes, err);
    if (status >= 0)
        status = mldfi_file_read(&file, 0, out->data, out->size, err);
    mldfi_file_close(&file);
    return status;
}

static mldf_status check_binding(const struct tar_index *index, const struct tar_binding *kept,
                                 const struct os_stamp *now, mldf_error *err) {
    if (kept->stamp.bytes != now->bytes || kept->stamp.seconds != now->seconds ||
        kept->stamp.nanoseconds != now->nanoseconds)
        return mldfi_fail(err, MLDF_E_CHANGED, "the archive has changed since its index was kept");
    if (kept->probe != mldfi_tar_sidecar_probe(index))
        return mldfi_fail(err, MLDF_E_CHANGED, "the archive's headers are not those that the index was made of");
    return MLDF_OK;
}

mldf_status mldfi_tar_sidecar_load(struct tar_index *index, const char *path, const struct os_file *file,
                                   const void *tar, uint64_t tar_bytes, mldf_error *err) {
    mldf_buffer name = MLDF_BUFFER_INIT, bytes = MLDF_BUFFER_INIT;
    struct tar_binding kept;
    struct os_stamp now;
    mldf_status status = name_of(path, &name, err);
    if (status >= 0)
        status = read_whole((const char *)name.data, tar_bytes, &bytes, err);
    if (status == MLDF_OK)
        status = mldfi_file_stamp(file, &now, err);
    if (status == MLDF_OK)
        status = mldfi_tar_sidecar_decode(index, bytes.data, bytes.size, tar, tar_bytes, &kept, err);
    if (status == MLDF_OK && (status = check_binding(index, &kept, &now, err)) < 0)
        mldfi_tar_index_free(index);
    mldf_buffer_free(&name);
    mldf_buffer_free(&bytes);
    return status;
}

/* ---- Keeping ------------------------------------------------------------------------------------------------------------- */

/* The name is ours, but what stands there may not be. */
static mldf_status check_target(const char *name, mldf_error *err) {
    struct os_file file = OS_FILE_NONE;
    uint8_t first[MAGIC];
    uint64_t bytes = 0;
    bool exists = false;
    mldf_status status = mldfi_target_check(name, true, err);
    if (status >= 0)
        status = mldfi_file_exists(name, &exists, err);
    if (status < 0 || !exists)
        return status;
    if ((status = mldfi_file_open(&file, name, OS_OPEN_READ, err)) < 0)
        return status;
    status = mldfi_file_size(&file, &bytes, err);
    if (status >= 0 && bytes >= MAGIC)
        status = mldfi_file_read(&file, 0, first, sizeof first, err);
    if (status >= 0 && (bytes < MAGIC || !mldfi_tar_sidecar_is(first, sizeof first)))
        status = mldfi_fail(err, MLDF_E_EXISTS, "%s: already exists and is not an index: it is not replaced", name);
    mldfi_file_close(&file);
    return status;
}

mldf_status mldfi_tar_sidecar_keep(const struct tar_index *index, const char *path, const struct os_file *file,
                                   const struct os_stamp *before, mldf_error *err) {
    mldf_buffer name = MLDF_BUFFER_INIT, bytes = MLDF_BUFFER_INIT;
    struct tar_binding binding = {{0, 0, 0, 0}, mldfi_tar_sidecar_probe(index)};
    mldf_status status = name_of(path, &name, err);
    if (status >= 0)
        status = check_target((const char *)name.data, err);
    if (status >= 0)
        status = mldfi_file_stamp(file, &binding.stamp, err);
    if (status >= 0 && memcmp(&binding.stamp, before, sizeof *before) != 0)
        status = mldfi_fail(err, MLDF_E_CHANGED, "the archive changed while its index was made");
    if (status >= 0)
        status = mldfi_tar_sidecar_encode(index, &binding, &bytes, err);
    if (status >= 0)
        status = mldfi_file_write_whole((const char *)name.data, bytes.data, bytes.size, true, err);
    mldf_buffer_free(&name);
    mldf_buffer_free(&bytes);
    return status;
}
