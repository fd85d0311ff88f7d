/* Opening a file whose tables are encrypted too (the writer's encrypt_all): a private view of it is made in which the tables are decrypted in
 * place, and that is an ordinary encrypted file. It costs the time and the memory of all tables, and a key; the file itself is not touched. Only
 * what is decrypted is ever writable, so that a file larger than the memory opens.
 *
 *     private mapping of the file:  [outer header ...   data   encrypted tables | prefix | tags | envelope]
 *     after unsealing:              [prefix            data   tables ]  end = tail_ptr + tail_bytes
 *
 * open.c comes next. */
#include <inttypes.h>
#include <string.h>

#include "codec/crypt.h"
#include "reader/open.h"
#include "util/bytes.h"
#include "util/error.h"

/* The pieces of tables and prefix, one after the other, each under its tag. */
static mldf_status unseal(const mldf_reader *reader, const struct crypt *crypt, const struct envelope *e,
                          uint8_t *bytes, mldf_error *err) {
    uint64_t total = e->tail_bytes + e->prefix_bytes;
    const uint8_t *tags = bytes + e->tail_ptr + total;
    for (uint64_t done = 0, k = 0; done < total; done += FORMAT_ENVELOPE_PIECE, k++) {
        uint64_t left = total - done;
        size_t piece = left < FORMAT_ENVELOPE_PIECE ? (size_t)left : FORMAT_ENVELOPE_PIECE;
        const struct crypt_piece place = {e->nonce, k, e->tail_bytes, e->prefix_bytes};
        mldf_status status = mldfi_crypt_open_piece(crypt, &place, bytes + e->tail_ptr + done, piece,
                                                    tags + k * FORMAT_ENVELOPE_TAG, err);
        if (status < 0)
            return mldfi_reader_fail(reader, err, status, e->tail_ptr + done,
                                     "the encrypted tables do not authenticate at byte %" PRIu64, e->tail_ptr + done);
    }
    memmove(bytes, bytes + e->tail_ptr + e->tail_bytes, (size_t)e->prefix_bytes);
    return MLDF_OK;
}

/* What is decrypted, and the prefix's place: can be written to, or no longer. */
static mldf_status let_write(const mldf_reader *reader, const struct envelope *e, uint8_t *bytes, bool writable,
                             mldf_error *err) {
    mldf_status status =
        mldfi_map_protect(bytes, e->tail_ptr, e->tail_ptr + e->tail_bytes + e->prefix_bytes, writable, err);
    if (status >= 0)
        status = mldfi_map_protect(bytes, 0, e->prefix_bytes, writable, err);
    return status < 0 ? mldfi_reader_name_error(reader, err, status) : MLDF_OK;
}

static mldf_status read_envelope(struct opening *opening, uint64_t at, struct envelope *out) {
    const mldf_reader *reader = opening->reader;
    uint8_t bytes[FORMAT_ENVELOPE_BYTES];
    if (reader->physical_bytes < FORMAT_ENVELOPE_BYTES || at != reader->physical_bytes - FORMAT_ENVELOPE_BYTES)
        return mldfi_reader_fail(reader, opening->err, MLDF_E_TRUNCATED, reader->physical_bytes,
                                 "the file has %" PRIu64 " bytes, but the envelope at byte %" PRIu64
                                 " that ends it has %d: it was cut",
                                 reader->physical_bytes, at, (int)FORMAT_ENVELOPE_BYTES);
    mldf_status status = mldfi_reader_copy(reader, at, bytes, sizeof bytes, opening->err);
    if (status >= 0)
        status = mldfi_envelope_decode(bytes, at, out, opening->err);
    return status < 0 ? mldfi_reader_name_error(reader, opening->err, status) : MLDF_OK;
}

/* The reader on a private copy of its bytes; what was there before is let go. */
static mldf_status use_private(struct opening *opening, uint8_t **bytes) {
    mldf_reader *reader = opening->reader;
    struct os_map copy;
    mldf_status status = reader->file.fd >= 0
                             ? mldfi_map_private(&copy, &reader->file, reader->physical_bytes, bytes, opening->err)
                             : mldfi_map_copy(&copy, reader->map.data, reader->physical_bytes, bytes, opening->err);
    if (status < 0)
        return mldfi_reader_name_error(reader, opening->err, status);
    if (reader->owns_map)
        mldfi_map_close(&reader->map);
    reader->map = copy;
    reader->owns_map = reader->mapped = true;
    reader->backend = MLDF_BACKEND_MAP;
    return MLDF_OK;
}

/* at: byte of the envelope's copy of section 9. */
static mldf_status unlock(const struct opening *opening, const struct envelope *e, uint64_t at, struct crypt **out) {
    const mldf_reader *reader = opening->reader;
    mldf_error why;
    mldf_status status = mldfi_crypt_open(out, e->section, opening->secret, &why);
    if (status == MLDF_E_KEY_MISSING)
        return mldfi_reader_fail(reader, opening->err, status, at,
                                 "the file is encrypted with all its tables, and no key was given");
    if (status < 0 && opening->err) {
        *opening->err = why;
        if (why.offset != MLDF_NONE)
            opening->err->offset = at + why.offset;
        return mldfi_reader_name_error(reader, opening->err, status);
    }
    return status;
}

mldf_status mldfi_open_envelope(struct opening *opening) {
    mldf_reader *reader = opening->reader;
    uint8_t prefix[FORMAT_PREFIX_BYTES], *bytes;
    struct header outer;
    struct envelope envelope;
    struct crypt *crypt = NULL;
    if (reader->physical_bytes < sizeof prefix)
        return MLDF_OK;
    mldf_status status = mldfi_reader_copy(reader, 0, prefix, sizeof prefix, opening->err);
    if (status < 0)
        return status;
    mldfi_header_load(prefix + FORMAT_HEADER_OFFSET, &outer);
    if (memcmp(prefix, mldfi_magic, FORMAT_MAGIC_BYTES) != 0 || outer.version_major != 1 ||
        !(outer.flags & FORMAT_FLAG_SEALED))
        return MLDF_OK;
    if ((outer.flags & FORMAT_FLAG_REFUSE & ~FORMAT_FLAG_SEALED) || !(outer.flags & FORMAT_FLAG_ENCRYPTED))
        return MLDF_OK; /* the checks of the header refuse it */
    if ((status = read_envelope(opening, outer.directory_ptr, &envelope)) < 0)
        return status;
    if ((status = unlock(opening, &envelope, outer.directory_ptr + FORMAT_ENVELOPE_SECTION, &crypt)) < 0)
        return status;
    status = use_private(opening, &bytes);
    if (status >= 0)
        status = let_write(reader, &envelope, bytes, true, opening->err);
    if (status >= 0)
        status = unseal(reader, crypt, &envelope, bytes, opening->err);
    if (status >= 0)
        status = let_write(reader, &envelope, bytes, false, opening->err);
    mldfi_crypt_free(crypt);
    if (status < 0)
        return status;
    reader->sealed_bytes = reader->physical_bytes;
    reader->physical_bytes = reader->end = envelope.tail_ptr + envelope.tail_bytes;
    return MLDF_OK;
}
