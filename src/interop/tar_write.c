/* Writing tar: ustar headers, and before them a PAX header where a name is too long or not ASCII, or a size beyond eight
 * gibibytes. Everything that is not content is fixed (time 0, user 0), so the same input gives the same bytes. tar_read.c reads
 * it back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interop/staging.h"
#include "interop/tar.h"
#include "interop/tar_squeeze.h"
#include "os/target.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/utf8.h"

#define ULL(v) ((unsigned long long)(v))
#define OCTAL_MAX UINT64_C(077777777777)

enum { BUFFER = 1 << 20, NAME_MAX_BYTES = 1 << 16 };

struct tar_writer {
    int fd;     /* or */
    char *path; /* with file and out */
    bool overwrite;
    struct os_file file;
    struct stage out;
    mldf_buffer buffer; /* for fd */
    mldf_buffer name;
    struct tar_squeeze *squeeze; /* of a compressed archive */
    uint64_t left;               /* of the member that was begun */
    uint64_t position;           /* in the archive */
    uint64_t sent;               /* to the file: as much, unless it is compressed */
    bool failed, finished;
};

static struct tar_writer *new_writer(mldf_error *err) {
    struct tar_writer *w = mldfi_alloc_zero(1, sizeof *w, err);
    if (!w)
        return NULL;
    w->fd = -1;
    w->file = (struct os_file)OS_FILE_NONE;
    w->out = (struct stage)STAGE_NONE;
    return w;
}

mldf_status mldfi_tar_writer_open(struct tar_writer **out, const char *path, bool overwrite, mldf_error *err) {
    *out = NULL;
    TRY(mldfi_target_check(path, overwrite, err));
    struct tar_writer *w = new_writer(err);
    if (!w)
        return MLDF_E_MEMORY;
    w->overwrite = overwrite;
    w->path = mldfi_copy_text(path, strlen(path), err);
    mldf_status status = w->path ? mldfi_file_create_beside(&w->file, path, err) : MLDF_E_MEMORY;
    if (status < 0) {
        mldfi_tar_writer_free(w);
        return status;
    }
    mldfi_stage_into(&w->out, &w->file, 0);
    *out = w;
    return MLDF_OK;
}

mldf_status mldfi_tar_writer_fd(struct tar_writer **out, int fd, mldf_error *err) {
    *out = new_writer(err);
    if (!*out)
        return MLDF_E_MEMORY;
    (*out)->fd = fd;
    return MLDF_OK;
}

void mldfi_tar_writer_free(struct tar_writer *w) {
    if (!w)
        return;
    mldfi_stage_free(&w->out);
    mldfi_tar_squeeze_free(w->squeeze);
    mldfi_file_discard(&w->file);
    mldf_buffer_free(&w->buffer);
    mldf_buffer_free(&w->name);
    free(w->path);
    free(w);
}

static mldf_status flush_fd(struct tar_writer *w, mldf_error *err) {
    mldf_status status = mldfi_fd_write_all(w->fd, w->buffer.data, w->buffer.size, err);
    w->buffer.size = 0;
    return status;
}

/* Bytes of the file. */
static mldf_status send(void *user, const void *data, uint64_t bytes, mldf_error *err) {
    struct tar_writer *w = user;
    w->sent += bytes;
    if (w->path)
        return mldfi_stage_push(&w->out, data, bytes, err);
    mldf_status status = MLDF_OK;
    if (bytes > BUFFER - w->buffer.size)
        status = flush_fd(w, err);
    if (status < 0)
        return status;
    return bytes >= BUFFER ? mldfi_fd_write_all(w->fd, data, (size_t)bytes, err)
                           : mldf_buffer_append(&w->buffer, data, (size_t)bytes, err);
}

mldf_status mldfi_tar_writer_compress(struct tar_writer *w, tar_compression kind, mldf_error *err) {
    if (w->position > 0 || w->squeeze)
        return mldfi_fail(err, MLDF_E_STATE, "the archive has begun");
    return kind == TAR_PLAIN ? MLDF_OK : mldfi_tar_squeeze_new(&w->squeeze, kind, send, w, err);
}

/* Bytes of the archive. */
static mldf_status put(struct tar_writer *w, const void *data, uint64_t bytes, mldf_error *err) {
    w->position += bytes;
    return w->squeeze ? mldfi_tar_squeeze_write(w->squeeze, data, bytes, err) : send(w, data, bytes, err);
}

static mldf_status pad(struct tar_writer *w, uint64_t to, mldf_error *err) {
    static const uint8_t zeros[TAR_RECORD];
    uint64_t rest = w->position % to;
    return rest ? put(w, zeros, to - rest, err) : MLDF_OK;
}

/* ---- Headers -------------------------------------------------------------------------------------------------------------- */

static void octal(uint8_t *at, int digits, uint64_t value) {
    for (int i = digits - 1; i >= 0; i--, value >>= 3)
        at[i] = (uint8_t)('0' + (value & 7));
}

static mldf_status put_header(struct tar_writer *w, const char *prefix, size_t prefix_bytes, const char *name,
                              size_t name_bytes, uint64_t size, char type, mldf_error *err) {
    uint8_t h[TAR_BLOCK] = {0};
    uint64_t sum = 0;
    memcpy(h, name, name_bytes);
    memcpy(h + 345, prefix, prefix_bytes);
    octal(h + 100, 7, 0644);
    octal(h + 108, 7, 0);
    octal(h + 116, 7, 0);
    octal(h + 124, 11, size);
    octal(h + 136, 11, 0);
    memset(h + 148, ' ', 8);
    h[156] = (uint8_t)type;
    memcpy(h + 257,
           "ustar\0"
           "00",
           8);
    octal(h + 329, 7, 0);
    octal(h + 337, 7, 0);
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += h[i];
    octal(h + 148, 6, sum);
    h[154] = 0;
    return put(w, h, sizeof h, err);
}

/* "LENGTH KEY=VALUE\n" where LENGTH counts its own digits. */
static mldf_status pax_record(mldf_buffer *out, const char *key, const char *value, mldf_error *err) {
    size_t rest = strlen(key) + strlen(value) + 3, length = rest;
    for (;;) {
        char digits[24];
        size_t now = rest + (size_t)snprintf(digits, sizeof digits, "%zu", length);
        if (now == length)
            break;
        length = now;
    }
    return mldfi_buffer_printf(out, err, "%zu %s=%s\n", length, key, value);
}

static mldf_status put_pax(struct tar_writer *w, const char *path, bool size_too, uint64_t size, mldf_error *err) {
    mldf_buffer records = MLDF_BUFFER_INIT;
    char digits[24];
    mldf_status status = path ? pax_record(&records, "path", path, err) : MLDF_OK;
    (void)snprintf(digits, sizeof digits, "%llu", ULL(size));
    if (status >= 0 && size_too)
        status = pax_record(&records, "size", digits, err);
    if (status >= 0)
        status = put_header(w, "", 0, "././@PaxHeader", 14, records.size, 'x', err);
    if (status >= 0)
        status = put(w, records.data, records.size, err);
    if (status >= 0)
        status = pad(w, TAR_BLOCK, err);
    mldf_buffer_free(&records);
    return status;
}

/* Cuts a name at a slash so that at most 155 bytes are before it and at most 100 after. */
static bool cut_name(const char *name, size_t bytes, size_t *prefix) {
    *prefix = 0;
    if (bytes <= 100)
        return true;
    for (size_t i = bytes - 101; i < bytes && i <= 155; i++)
        if (name[i] == '/' && i > 0 && i + 1 < bytes) {
            *prefix = i;
            return true;
        }
    return false;
}

static bool is_ascii(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text >= 0x80)
            return false;
    return true;
}

static mldf_status put_headers(struct tar_writer *w, const char *name, uint64_t size, mldf_error *err) {
    size_t bytes = strlen(name), prefix = 0;
    bool fits = is_ascii(name) && cut_name(name, bytes, &prefix), small = size <= OCTAL_MAX;
    mldf_status status = MLDF_OK;
    if (!fits || !small)
        status = put_pax(w, fits ? NULL : name, !small, size, err);
    if (status < 0)
        return status;
    if (!small)
        size = 0; /* the PAX record counts */
    if (!fits)
        return put_header(w, "", 0, name, bytes < 100 ? bytes : 100, size, '0', err);
    size_t from = prefix ? prefix + 1 : 0;
    return put_header(w, name, prefix, name + from, bytes - from, size, '0', err);
}

/* ---- The caller's side ------------------------------------------------------------------------------------------------------ */

static mldf_status ready(const struct tar_writer *w, mldf_error *err) {
    if (w->failed || w->finished)
        return mldfi_fail(err, MLDF_E_STATE, "the writer has %s", w->failed ? "failed before" : "finished");
    return MLDF_OK;
}

static mldf_status check_name(const char *name, mldf_error *err) {
    size_t length = strlen(name);
    if (length == 0 || length > NAME_MAX_BYTES || name[length - 1] == '/')
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a name of %zu bytes%s is none for a file", length,
                          length && name[length - 1] == '/' ? " with a slash at its end" : "");
    return MLDF_OK;
}

mldf_status mldfi_tar_writer_begin(struct tar_writer *w, const char *name, uint64_t bytes, mldf_error *err) {
    mldf_status status = ready(w, err);
    if (status < 0)
        return status;
    if ((status = check_name(name, err)) < 0)
        return status;
    if (w->left > 0)
        return mldfi_fail(err, MLDF_E_STATE, "%llu bytes of the member before %s are missing", ULL(w->left), name);
    status = put_headers(w, name, bytes, err);
    w->left = bytes;
    w->failed = status < 0;
    return status;
}

mldf_status mldfi_tar_writer_write(struct tar_writer *w, const void *data, uint64_t bytes, mldf_error *err) {
    TRY(ready(w, err));
    if (bytes > w->left)
        return mldfi_fail(err, MLDF_E_STATE, "%llu bytes for a member that has room for %llu", ULL(bytes),
                          ULL(w->left));
    mldf_status status = put(w, data, bytes, err);
    w->left -= bytes;
    if (status >= 0 && w->left == 0)
        status = pad(w, TAR_BLOCK, err);
    w->failed = status < 0;
    return status;
}

mldf_status mldfi_tar_writer_add(struct tar_writer *w, const char *name, const void *data, uint64_t bytes,
                                 mldf_error *err) {
    mldf_status status = mldfi_tar_writer_begin(w, name, bytes, err);
    return status < 0 ? status : mldfi_tar_writer_write(w, data, bytes, err);
}

/* Whoever unpacks the archive gets files below the folder that he chose, each where its name says: no "..", no "/" at the front, and no
 * other way to write the same place. "./" at the front is how tar names what it finds in ".". */
static const char *unsafe_path(const char *name) {
    const char *p = strncmp(name, "./", 2) == 0 ? name + 2 : name;
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return "with a control character";
    if (mldfi_utf8_valid_prefix(name, strlen(name)) != strlen(name))
        return "which is not UTF-8";
    if (*name == '/')
        return "that is absolute";
    for (;;) {
        size_t bytes = strcspn(p, "/");
        if (bytes == 2 && memcmp(p, "..", 2) == 0)
            return "with '..' in its path";
        if (bytes == 0 || (bytes == 1 && *p == '.'))
            return bytes ? "with '.' in its path" : "with an empty part in its path";
        if (!p[bytes])
            return NULL;
        p += bytes + 1;
    }
}

static mldf_status refuse_key(const char *key, const char *why, mldf_error *err) {
    char shown[120];
    size_t n = 0;
    for (; key[n] && n + 1 < sizeof shown; n++)
        shown[n] = (unsigned char)key[n] < 0x20 || key[n] == 0x7f ? '?' : key[n];
    shown[n] = 0;
    return mldfi_fail(err, MLDF_E_KEY, "the key '%s' %s cannot be the name of a file in a tar archive", shown, why);
}

mldf_status mldfi_tar_writer_check(struct tar_writer *w, const char *key, const char *extension, mldf_error *err) {
    w->name.size = 0;
    mldf_status status = mldfi_buffer_printf(&w->name, err, "%s.%s", key, extension);
    if (status >= 0)
        status = mldf_buffer_append(&w->name, "", 1, err);
    if (status < 0)
        return status;
    const char *name = (const char *)w->name.data;
    size_t key_bytes, extension_at;
    if (!mldfi_tar_split(name, w->name.size - 1, &key_bytes, &extension_at) || key_bytes != strlen(key))
        return mldfi_fail(err, MLDF_E_KEY,
                          "%s: a key for a tar archive has no dot after its last slash, and does not end there", key);
    const char *unsafe = unsafe_path(name);
    if (unsafe)
        return refuse_key(key, unsafe, err);
    return check_name(name, err);
}

mldf_status mldfi_tar_writer_part(struct tar_writer *w, const char *key, const char *extension, const void *data,
                                  uint64_t bytes, mldf_error *err) {
    struct exported file = {.data = data, .bytes = bytes};
    return mldfi_tar_writer_file(w, key, extension, &file, err);
}

mldf_status mldfi_tar_writer_file(struct tar_writer *w, const char *key, const char *extension,
                                  const struct exported *file, mldf_error *err) {
    static const uint8_t zeros[8];
    uint64_t bytes = file->head_bytes + file->bytes + file->pad_bytes;
    mldf_status status = mldfi_tar_writer_check(w, key, extension, err);
    if (status >= 0)
        status = mldfi_tar_writer_begin(w, (const char *)w->name.data, bytes, err);
    if (status >= 0 && file->head_bytes)
        status = mldfi_tar_writer_write(w, file->head, file->head_bytes, err);
    if (status >= 0 && file->bytes)
        status = mldfi_tar_writer_write(w, file->data, file->bytes, err);
    if (status >= 0 && file->pad_bytes)
        status = mldfi_tar_writer_write(w, zeros, file->pad_bytes, err);
    return status;
}

uint64_t mldfi_tar_writer_bytes(const struct tar_writer *w) {
    return w->finished ? w->sent : w->position;
}

static mldf_status finish(struct tar_writer *w, mldf_error *err) {
    static const uint8_t zeros[2 * TAR_BLOCK];
    mldf_status status = put(w, zeros, sizeof zeros, err);
    if (status >= 0)
        status = pad(w, TAR_RECORD, err);
    if (status >= 0 && w->squeeze)
        status = mldfi_tar_squeeze_finish(w->squeeze, err);
    if (status < 0)
        return status;
    if (!w->path)
        return flush_fd(w, err);
    status = mldfi_stage_flush(&w->out, err);
    if (status >= 0)
        status = mldfi_file_sync(&w->file, err);
    return status < 0 ? status : mldfi_file_publish(&w->file, w->path, w->overwrite, err);
}

mldf_status mldfi_tar_writer_finish(struct tar_writer *w, mldf_error *err) {
    TRY(ready(w, err));
    if (w->left > 0)
        return mldfi_fail(err, MLDF_E_STATE, "%llu bytes of the last member are missing", ULL(w->left));
    mldf_status status = finish(w, err);
    w->failed = status < 0;
    w->finished = status >= 0;
    return status;
}
