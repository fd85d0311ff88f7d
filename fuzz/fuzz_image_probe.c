/* fuzz_image_probe: any bytes are probed, stripped and taken by an image field without harm. */
#define MLDF_NODISCARD /* what comes out is not looked at, only whether it comes out */
#include "field/field.h"
#include "image_common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mldf_image_info info = MLDF_IMAGE_INFO_INIT;
    mldf_error err;
    mldf_buffer out = MLDF_BUFFER_INIT;
    if (mldf_image_probe(data, size, &info, &err) == MLDF_OK) {
        if (info.width == 0 || info.height == 0 || info.channels == 0 || info.channels > 4 || info.orientation > 8)
            abort();
        if (info.exif_bytes && (info.exif_offset > size || info.exif_bytes > size - info.exif_offset))
            abort();
        if (info.icc_bytes && (info.icc_offset > size || info.icc_bytes > size))
            abort();
    }
    (void)mldf_image_strip(data, size, size ? data[size - 1] & 7 : 0, &out, &err);
    size_t before = out.size;
    mldf_status icc = mldf_image_icc(data, size, &out, &err);
    if ((icc == MLDF_OK) != (out.size > before))
        abort();
    mldf_buffer_free(&out);

    /* The first 24 bytes as a record, the rest as its payload. */
    mldf_value value;
    if (size >= 24) {
        const struct type_core *type = &mldfi_builtin_type(MLDF_IMAGE)->type;
        mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
        mldf_image_shape shape;
        o.max_pixels = 1 << 16;
        o.orient = true;
        memset(&value, 0, sizeof value);
        mldf_status status = type->decode(NULL, NULL, data, data + 24, size - 24, NULL, &value, &err);
        value.record = data;
        value.record_bytes = 24;
        if (status == MLDF_OK && mldf_image_value_shape(&value, &o, &shape, &err) == MLDF_OK) {
            void *pixels = malloc(shape.bytes ? shape.bytes : 1);
            if (pixels)
                (void)mldf_image_value_decode(NULL, &value, &o, pixels, shape.bytes, &err);
            free(pixels);
        }
    }
    return 0;
}
