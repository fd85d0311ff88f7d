/* Descriptors whose checksum is that of another spelling. Early versions of this library made such files: an append to a file of another
 * writer left the descriptors as they stood, but took their checksum (and the MAC of an encrypted file) of what they look like when this
 * library writes them. Where the checksum says exactly that, no byte is lost, and writing them so mends the file. */
#include "tool/repair.h"

#include "reader/foreign.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"
#include "writer/writer.h"

/* Do the checksums in section 1 belong to this descriptor table? */
static mldf_status sums_match(const mldf_reader *reader, const mldf_buffer *table, bool *out, mldf_error *err) {
    *out = table->size == reader->tables.descriptors.bytes;
    for (size_t at = 0, block = 0; at < table->size && *out; at += FORMAT_CRC_BLOCK, block++) {
        size_t part = table->size - at < FORMAT_CRC_BLOCK ? table->size - at : FORMAT_CRC_BLOCK;
        uint8_t word[4];
        TRY(mldfi_reader_copy(reader, reader->tables_section->ptr + FORMAT_TABLES_BYTES + 4 * block, word, sizeof word,
                              err));
        *out = mldfi_load_u32(word) == mldfi_crc32c(0, table->data + at, part);
    }
    return MLDF_OK;
}

mldf_status mldfi_repair_open_respelled(const char *path, const mldf_reader_options *options, mldf_reader **out,
                                        mldf_buffer *table, mldf_error *err) {
    mldf_reader *reader = NULL;
    mldf_error why;
    bool match = false;
    *out = NULL;
    mldf_status status = mldfi_reader_open_respelled(path, options, &reader, &why);
    if (status == MLDF_E_MEMORY && err)
        *err = why;
    if (status < 0)
        return status == MLDF_E_MEMORY ? status : MLDF_OK;
    status = mldfi_descriptor_table(reader->schema, table, err);
    if (status >= 0)
        status = sums_match(reader, table, &match, err);
    if (status < 0 || !match)
        mldf_reader_close(reader);
    else
        *out = reader;
    return status;
}

static mldf_status put_table(const struct os_file *file, uint64_t at, const mldf_buffer *table, mldf_error *err) {
    mldf_status status = mldfi_file_write(file, at, table->data, table->size, err);
    return status < 0 ? status : mldfi_file_sync(file, err);
}

mldf_status mldfi_repair_descriptors(const char *path, const struct os_file *file, const mldf_reader_options *options,
                                     bool *done, mldf_error *err) {
    mldf_buffer table = MLDF_BUFFER_INIT, before = MLDF_BUFFER_INIT;
    mldf_reader *reader = NULL, *opened = NULL;
    *done = false;
    mldf_status status = mldfi_repair_open_respelled(path, options, &reader, &table, err);
    if (reader) {
        uint64_t at = reader->tables.descriptors.ptr;
        status = mldfi_buffer_resize(&before, table.size, err);
        if (status >= 0)
            status = mldfi_file_read(file, at, before.data, before.size, err);
        if (status >= 0 && (status = put_table(file, at, &table, err)) >= 0) {
            *done = mldfi_reader_open_native(path, options, &opened, NULL) >= 0;
            mldf_reader_close(opened);
            if (!*done)
                status = put_table(file, at, &before, err);
        }
    }
    mldf_reader_close(reader);
    mldf_buffer_free(&table);
    mldf_buffer_free(&before);
    return status;
}
