/* The input is a kept index of an archive of 64 KiB: as it is, and with its magic, version and checksum made right. Whatever it says, nothing
 * outside the archive is read. */
#include <stdlib.h>
#include <string.h>

#include "interop/tar_sidecar.h"
#include "util/bytes.h"
#include "util/crc32c.h"

enum { INPUT_MAX = 1 << 18, ARCHIVE = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint32_t sink;

static void read_all(const uint8_t *data, size_t size, const uint8_t *tar) {
    struct tar_index index;
    struct tar_binding binding;
    mldf_error err;
    if (mldfi_tar_sidecar_decode(&index, data, size, tar, ARCHIVE, &binding, &err) < 0)
        return;
    uint32_t crc = mldfi_tar_sidecar_probe(&index);
    for (size_t i = 0; i < index.part_count; i++)
        crc = mldfi_crc32c(crc, tar + index.parts[i].offset, (size_t)index.parts[i].bytes);
    for (size_t i = 0; i < index.sample_count; i++) {
        const char *key = (const char *)index.keys.data + index.samples[i].key_at;
        if (mldfi_tar_index_find(&index, key, index.samples[i].key_bytes) > i)
            abort();
        if (index.samples[i].first_part + index.samples[i].part_count > index.part_count)
            abort();
    }
    mldf_buffer again = MLDF_BUFFER_INIT;
    if (mldfi_tar_sidecar_encode(&index, &binding, &again, &err) >= 0 &&
        (again.size != size || memcmp(again.data, data, size) != 0))
        abort(); /* what is accepted is what would be written */
    mldf_buffer_free(&again);
    mldfi_tar_index_free(&index);
    sink = crc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t front[12] = {0x89, 'M', 'L', 'D', 'F', 'T', 'I', '\n', 1, 0, 0, 0};
    if (size > INPUT_MAX)
        return 0;
    uint8_t *tar = calloc(1, ARCHIVE), *copy = malloc(size ? size : 1);
    if (tar && copy) {
        read_all(data, size, tar);
        memcpy(copy, data, size);
        if (size >= 76) {
            memcpy(copy, front, sizeof front);
            mldfi_store_u32(copy + size - 4, mldfi_crc32c(0, copy, size - 4));
        }
        read_all(copy, size, tar);
    }
    free(tar);
    free(copy);
    return 0;
}
