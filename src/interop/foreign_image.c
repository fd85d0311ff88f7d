/* Image records for TBL and .beton, which have others: what the image's own bytes do not say. mldfi_image_keep (field/image_files.c) says the
 * rest. See open_any.h. */
#include <string.h>

#include "field/image_type.h"
#include "interop/open_any.h"
#include "util/bytes.h"

void mldfi_image_record_raw(uint8_t *record, uint64_t ptr, uint64_t bytes, uint32_t width, uint32_t height,
                            uint8_t channels) {
    memset(record, 0, IMAGE_RECORD);
    mldfi_store_u64(record, ptr);
    mldfi_store_u32(record + IMAGE_SIZE, (uint32_t)bytes);
    mldfi_store_u16(record + IMAGE_HEIGHT, (uint16_t)height);
    mldfi_store_u16(record + IMAGE_WIDTH, (uint16_t)width);
    record[IMAGE_CHANNELS] = channels;
    record[IMAGE_MODE] = MLDF_IMAGE_MODE_RAW;
    record[IMAGE_BITS] = 8;
}

void mldfi_image_record_sides(uint8_t *record, uint16_t width, uint16_t height) {
    if (record[IMAGE_MODE] != MLDF_IMAGE_MODE_OTHER)
        return;
    mldfi_store_u16(record + IMAGE_HEIGHT, height);
    mldfi_store_u16(record + IMAGE_WIDTH, width);
}
