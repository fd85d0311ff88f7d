/* Image records for formats that do not have them: what the image's own bytes say. See open_any.h. */
#include <string.h>

#include "interop/open_any.h"
#include "util/bytes.h"

enum { AT_SIZE = 8, AT_HEIGHT = 12, AT_WIDTH = 14, AT_CHANNELS = 16, AT_MODE, AT_BITS, AT_COLOR, AT_ORIENTATION };

void mldfi_image_record_raw(uint8_t record[IMAGE_RECORD_BYTES], uint64_t ptr, uint64_t bytes, uint32_t width,
                            uint32_t height, uint8_t channels) {
    memset(record, 0, IMAGE_RECORD_BYTES);
    mldfi_store_u64(record, ptr);
    mldfi_store_u32(record + AT_SIZE, (uint32_t)bytes);
    mldfi_store_u16(record + AT_HEIGHT, (uint16_t)height);
    mldfi_store_u16(record + AT_WIDTH, (uint16_t)width);
    record[AT_CHANNELS] = channels;
    record[AT_MODE] = MLDF_IMAGE_MODE_RAW;
    record[AT_BITS] = 8;
}

void mldfi_image_record_make(uint8_t record[IMAGE_RECORD_BYTES], uint64_t ptr, const void *data, uint64_t bytes) {
    mldf_image_info info;
    memset(record, 0, IMAGE_RECORD_BYTES);
    mldfi_store_u64(record, ptr);
    mldfi_store_u32(record + AT_SIZE, (uint32_t)bytes);
    record[AT_MODE] = MLDF_IMAGE_MODE_OTHER;
    if (mldf_image_probe(data, (size_t)bytes, &info, NULL) != MLDF_OK || info.width > UINT16_MAX ||
        info.height > UINT16_MAX)
        return;
    mldfi_store_u16(record + AT_HEIGHT, (uint16_t)info.height);
    mldfi_store_u16(record + AT_WIDTH, (uint16_t)info.width);
    record[AT_CHANNELS] = info.channels;
    record[AT_MODE] = (uint8_t)info.mode;
    record[AT_BITS] = info.bits;
    record[AT_COLOR] = (uint8_t)info.color;
    record[AT_ORIENTATION] = info.orientation;
}

void mldfi_image_record_sides(uint8_t record[IMAGE_RECORD_BYTES], uint16_t width, uint16_t height) {
    if (record[AT_MODE] != MLDF_IMAGE_MODE_OTHER)
        return;
    mldfi_store_u16(record + AT_HEIGHT, height);
    mldfi_store_u16(record + AT_WIDTH, width);
}
