/* The input is a TBL file; version 2 also with its header's CRC made right, so that mutations get past it. Everything is read and
 * verified. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "interop/tbl.h"
#include "util/bytes.h"

enum { SAMPLES_MAX = 200, INPUT_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;
static void touch(const uint8_t *p, uint64_t bytes) {
    uint8_t sum = 0;
    for (uint64_t i = 0; i < bytes; i++)
        sum ^= p[i];
    sink = sum;
}

static void read_all(const uint8_t *data, size_t size) {
    struct tbl *tbl;
    mldf_error err;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    if (mldfi_tbl_open(&tbl, data, size, &err) < 0)
        return;
    for (uint64_t i = 0; i < mldfi_tbl_info(tbl)->count && i < SAMPLES_MAX; i++) {
        const uint8_t *p;
        uint64_t bytes;
        struct tbl_metadata m;
        if (mldfi_tbl_payload(tbl, i, i & 1, &scratch, &p, &bytes, &err) == MLDF_OK)
            touch(p, bytes);
        if (mldfi_tbl_find_metadata(tbl, i, &m, &err) == MLDF_OK)
            touch(m.data, m.bytes);
    }
    if (mldfi_tbl_info(tbl)->count <= SAMPLES_MAX)
        (void)mldfi_tbl_verify(tbl, NULL, NULL, NULL, &err);
    mldfi_tbl_close(tbl);
    mldf_buffer_free(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > INPUT_MAX)
        return 0;
    read_all(data, size);
    if (size < TBL_V2_HEADER || data[3] != 2)
        return 0;
    uint8_t *copy = malloc(size);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    mldfi_store_u32(copy + 44, 0);
    mldfi_store_u32(copy + 44, (uint32_t)crc32(0, copy, TBL_V2_HEADER));
    read_all(copy, size);
    free(copy);
    return 0;
}
