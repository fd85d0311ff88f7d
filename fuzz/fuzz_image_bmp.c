/* fuzz_image_bmp: a bmp image of any bytes decodes or fails, whole and in part. */
#include "image_common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_image(data, size, MLDF_IMAGE_MODE_BMP);
    return 0;
}
