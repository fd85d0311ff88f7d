/* fuzz_image_jpeg: a jpeg image of any bytes decodes or fails, whole and in part; its metadata
 * can be dropped, and it becomes baseline. */
#define MLDF_NODISCARD /* what comes out is not looked at, only whether it comes out */
#include "image_common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_image(data, size, MLDF_IMAGE_MODE_JPEG);
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_image_info info = MLDF_IMAGE_INFO_INIT;
    mldf_error err;
    if (mldf_image_probe(data, size, &info, &err) == MLDF_OK && info.mode == MLDF_IMAGE_MODE_JPEG &&
        (uint64_t)info.width * info.height <= 1 << 18) {
        (void)mldf_image_strip(data, size, data[size - 1] & 7, &out, &err);
        (void)mldf_image_to_baseline(data, size, data[size - 1] & 7, &out, &err);
    }
    mldf_buffer_free(&out);
    return 0;
}
