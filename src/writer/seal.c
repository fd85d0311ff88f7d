/* encrypt_all: the finished file, still under its temporary name, gets its tables and prefix encrypted in place, and an envelope at its end. The
 * layout is in src/format/envelope.c, the reader in src/reader/open_envelope.c. Memory: one piece, and 16 bytes for each. */
#include <stdlib.h>
#include <string.h>

#include "codec/crypt.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "writer/writer.h"

/* Reads a range that lies in the tail or in the prefix: they are sealed as one run of bytes, the tail first. */
static mldf_status read_run(const mldf_writer *writer, const struct envelope *e, uint64_t at, uint8_t *out,
                            size_t bytes, mldf_error *err) {
    uint64_t in_tail = at < e->tail_bytes ? e->tail_bytes - at : 0;
    size_t first = in_tail < bytes ? (size_t)in_tail : bytes;
    mldf_status status = first ? mldfi_file_read(&writer->file, e->tail_ptr + at, out, first, err) : MLDF_OK;
    if (status >= 0 && first < bytes)
        status = mldfi_file_read(&writer->file, at + first - e->tail_bytes, out + first, bytes - first, err);
    return status;
}

static mldf_status seal_pieces(mldf_writer *writer, const struct envelope *e, uint8_t *piece, uint8_t *tags,
                               mldf_error *err) {
    uint64_t total = e->tail_bytes + e->prefix_bytes;
    mldf_status status = MLDF_OK;
    for (uint64_t done = 0, k = 0; done < total && status >= 0; done += FORMAT_ENVELOPE_PIECE, k++) {
        uint64_t left = total - done;
        size_t bytes = left < FORMAT_ENVELOPE_PIECE ? (size_t)left : FORMAT_ENVELOPE_PIECE;
        const struct crypt_piece place = {e->nonce, k, e->tail_bytes, e->prefix_bytes};
        status = read_run(writer, e, done, piece, bytes, err);
        if (status >= 0)
            status = mldfi_crypt_seal_piece(writer->crypt, &place, piece, bytes, tags + k * FORMAT_ENVELOPE_TAG, err);
        if (status >= 0)
            status = mldfi_file_write(&writer->file, e->tail_ptr + done, piece, bytes, err);
    }
    return status;
}

/* Tags, envelope, and zeros with an outer header where the prefix was. */
static mldf_status write_outside(mldf_writer *writer, const struct envelope *e, const struct header *inner,
                                 const uint8_t *tags, uint64_t *file_bytes, mldf_error *err) {
    uint64_t end = e->tail_ptr + e->tail_bytes + e->prefix_bytes, tag_bytes = mldfi_envelope_tags(e);
    uint64_t at = mldfi_align_up(end + tag_bytes, 8);
    uint8_t record[FORMAT_ENVELOPE_BYTES], zeros[8] = {0};
    struct header outer = {.version_major = inner->version_major,
                           .version_minor = inner->version_minor,
                           .flags = FORMAT_FLAG_LITTLE_ENDIAN | FORMAT_FLAG_ENCRYPTED | FORMAT_FLAG_SEALED,
                           .page_size = inner->page_size,
                           .data_ptr = inner->data_ptr,
                           .directory_ptr = at};
    mldfi_envelope_encode(e, record);
    mldf_status status = mldfi_file_write(&writer->file, end, tags, (size_t)tag_bytes, err);
    if (status >= 0 && at > end + tag_bytes)
        status = mldfi_file_write(&writer->file, end + tag_bytes, zeros, (size_t)(at - end - tag_bytes), err);
    if (status >= 0)
        status = mldfi_file_write(&writer->file, at, record, sizeof record, err);
    uint8_t *front = status >= 0 ? mldfi_alloc_zero(1, (size_t)e->prefix_bytes, err) : NULL;
    if (!front)
        return status < 0 ? status : MLDF_E_MEMORY;
    memcpy(front, mldfi_magic, FORMAT_MAGIC_BYTES);
    mldfi_header_encode(&outer, front + FORMAT_HEADER_OFFSET);
    status = mldfi_file_write(&writer->file, 0, front, (size_t)e->prefix_bytes, err);
    free(front);
    *file_bytes = at + sizeof record;
    return status;
}

mldf_status mldfi_seal_file(mldf_writer *writer, const struct header *header, uint64_t *file_bytes, mldf_error *err) {
    struct envelope e = {.tail_ptr = header->metadata_ptr,
                         .tail_bytes = *file_bytes - header->metadata_ptr,
                         .prefix_bytes =
                             header->field_desc_ptr + (uint64_t)FORMAT_DESCRIPTOR_BYTES * header->num_fields};
    mldfi_crypt_section(writer->crypt, e.section);
    mldfi_crypt_nonce(e.nonce);
    uint8_t *piece = mldfi_alloc(FORMAT_ENVELOPE_PIECE, err), *tags = mldfi_alloc((size_t)mldfi_envelope_tags(&e), err);
    mldf_status status = piece && tags ? seal_pieces(writer, &e, piece, tags, err) : MLDF_E_MEMORY;
    if (status >= 0)
        status = write_outside(writer, &e, header, tags, file_bytes, err);
    free(piece);
    free(tags);
    return status < 0 ? status : mldfi_file_sync(&writer->file, err);
}
