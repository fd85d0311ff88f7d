/* fuzz_fast_jpeg: a payload of the fast JPEG store of any bytes decodes or fails, whole and in part, the same way with every instruction set, and
 * becomes a JPEG or fails. An input that begins with 0xff is a JPEG: what is packed of it gives its bytes and its pixels. One that begins with
 * another odd byte is what a payload is made of, so that random bits get past the checks of sizes: sampling, sides, codes, then lengths of entries
 * and bits. Images are small: many inputs find more than many pixels. */
#include <stdlib.h>
#include <string.h>

#include "codec/fast_jpeg.h"
#include "codec/image.h"
#include "field/image_fast.h"
#include "field/image_type.h"
#include "field/image_view.h"
#include "kernel/kernels.h"
#include "util/bytes.h"

enum { ENTRY_BITS = 12, LEAST_INPUT = 16, MOST_SIDE = 96, MOST_PIXELS = 1 << 14 };

/* A record around the input's bits. The caller frees it. */
static uint8_t *build(const uint8_t *data, size_t size, size_t *bytes) {
    struct fast_grid g;
    unsigned sampling = data[1] % FAST_SAMPLINGS, segment = data[2] % 7;
    mldfi_fast_grid(&g, (enum fast_sampling)sampling, 1 + data[3] % MOST_SIDE, 1 + data[4] % MOST_SIDE, segment);
    uint64_t entries = mldfi_fast_positions_count(&g) - 1, bits = 0, at = 0;
    size_t index = (size_t)(entries * ENTRY_BITS + 7) / 8, fixed = FAST_FIXED + 64;
    const uint8_t *from = data + LEAST_INPUT;
    size_t left = size - LEAST_INPUT;
    uint8_t *lengths = calloc(index + 8, 1);
    for (uint64_t i = 0; i < entries; i++, at += ENTRY_BITS) {
        uint64_t length = left ? from[i % left] * (i % 3 ? 1u : 7u) : 1;
        bits += length;
        mldfi_store_u64(lengths + (at >> 3), mldfi_load_u64(lengths + (at >> 3)) | length << (at & 7));
    }
    size_t stream = (size_t)(bits + 7) / 8;
    *bytes = fixed + index + stream + FAST_LEAST_HEADER;
    uint8_t *d = calloc(*bytes, 1); /* exact: a byte read behind it is found */
    d[0] = FAST_VERSION;
    d[1] = FAST_SET;
    d[2] = (uint8_t)sampling;
    d[3] = sampling == FAST_GRAY ? FAST_NO_COLOUR : data[5] & 1;
    d[4] = (uint8_t)segment;
    for (unsigned i = 0; i < FAST_STREAMS; i++) {
        bool used = mldfi_fast_entries(&g, i) > 0;
        d[6 + i] = used ? data[6 + i] % FAST_CODES : 0;
        d[12 + i] = used ? ENTRY_BITS : 0;
    }
    mldfi_store_u16(d + 18, (uint16_t)g.width);
    mldfi_store_u16(d + 20, (uint16_t)g.height);
    mldfi_store_u32(d + 22, FAST_LEAST_HEADER);
    mldfi_store_u32(d + 30, (uint32_t)index);
    mldfi_store_u64(d + 34, bits);
    memset(d + FAST_FIXED, data[12], 64);
    memcpy(d + fixed, lengths, index);
    for (size_t i = 0; left && i < stream; i++)
        d[fixed + index + i] = from[i % left] ^ (uint8_t)(i / left);
    free(lengths);
    return d;
}

/* The decoder of an instruction set, or NULL. It lives as long as the process: its tables depend on no input, and making them takes most of the time.
 * What its images need has exactly the size that was asked for, since nothing of it is kept. */
static mldf_image_decoder *decoder_of(size_t isa) {
    static mldf_image_decoder *all[ISA_COUNT];
    const struct kernels *kernels = mldfi_kernels((enum isa)isa);
    bool same_loops = isa > ISA_PORTABLE && isa != ISA_AVX2 && isa != ISA_NEON;
    mldf_error err;
    if (!kernels || same_loops)
        return NULL;
    if (!all[isa] && mldf_image_decoder_new(&all[isa], &err) == MLDF_OK)
        mldfi_image_decoder_use(all[isa], kernels);
    return all[isa];
}

static mldf_image_options options_of(const mldf_image_info *image, uint8_t choice) {
    static const int channels[] = {0, 1, 3, 4};
    mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
    o.channels = channels[choice & 3];
    o.scale = 1 << (choice >> 2 & 3);
    o.region = choice & 16;
    uint32_t scale = (uint32_t)o.scale;
    o.x = image->width / 3 / scale;
    o.y = image->height / 3 / scale;
    o.width = image->width / 4 / scale + 1;
    o.height = image->height / 4 / scale + 1;
    return o;
}

/* jpeg: NULL, or the file that was packed: its pixels are those of the payload. */
static void decode(const uint8_t *data, size_t size, const uint8_t *jpeg, size_t jpeg_size, uint8_t choice) {
    struct fast_layout layout;
    mldf_error err;
    if (mldfi_fast_parse(data, size, &layout, &err) < 0 ||
        (uint64_t)layout.grid.width * layout.grid.height > MOST_PIXELS)
        return;
    mldf_image_info image = {.width = layout.grid.width, .height = layout.grid.height};
    uint8_t record[IMAGE_RECORD] = {0};
    mldfi_store_u16(record + IMAGE_HEIGHT, (uint16_t)image.height);
    mldfi_store_u16(record + IMAGE_WIDTH, (uint16_t)image.width);
    record[IMAGE_CHANNELS] = (uint8_t)layout.grid.components;
    record[IMAGE_MODE] = MLDF_IMAGE_MODE_FAST_JPEG;
    record[IMAGE_BITS] = 8;
    mldf_value value = {
        .kind = MLDF_KIND_BYTES, .data = data, .bytes = size, .record = record, .record_bytes = IMAGE_RECORD};
    mldf_image_options o = options_of(&image, choice);
    mldf_image_shape shape;
    if (mldf_image_value_shape(&value, &o, &shape, &err) < 0)
        return;
    uint8_t *first = malloc((size_t)shape.bytes), *other = malloc((size_t)shape.bytes);
    mldf_status before = MLDF_OK;
    for (size_t isa = 0; isa < ISA_COUNT; isa++) {
        mldf_image_decoder *decoder = decoder_of(isa);
        if (!decoder)
            continue;
        mldf_status status =
            mldf_image_value_decode(decoder, &value, &o, isa ? other : first, (size_t)shape.bytes, &err);
        if (isa == 0)
            before = status;
        if (status != before || (isa && status == MLDF_OK && memcmp(first, other, (size_t)shape.bytes) != 0))
            abort();
        mldfi_fast_image_trim(decoder, 0);
    }
    if (jpeg && (before != MLDF_OK ||
                 (mldf_image_decode(NULL, jpeg, jpeg_size, &o, other, (size_t)shape.bytes, &err) == MLDF_OK &&
                  memcmp(first, other, (size_t)shape.bytes) != 0)))
        abort();
    free(first);
    free(other);
}

static void pack(const uint8_t *jpeg, size_t size, uint8_t choice) {
    mldf_buffer payload = MLDF_BUFFER_INIT, again = MLDF_BUFFER_INIT;
    enum fast_reason reason = FAST_DAMAGED;
    mldf_image_info info = MLDF_IMAGE_INFO_INIT;
    mldf_error err;
    if (mldf_image_probe(jpeg, size, &info, &err) < 0 || (uint64_t)info.width * info.height > MOST_PIXELS)
        return;
    if (mldfi_fast_pack(jpeg, size, 0, 1e9, &payload, &reason, &err) == MLDF_OK && reason == FAST_TAKEN) {
        uint8_t *exact = malloc(payload.size);
        memcpy(exact, payload.data, payload.size);
        decode(exact, payload.size, jpeg, size, choice);
        if (mldfi_fast_restore(exact, payload.size, MLDF_IMAGE_MAX_BYTES, &again, &err) < 0 || again.size != size ||
            memcmp(again.data, jpeg, size) != 0)
            abort();
        free(exact);
    }
    mldf_buffer_free(&payload);
    mldf_buffer_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mldf_buffer jpeg = MLDF_BUFFER_INIT;
    mldf_error err;
    if (size < LEAST_INPUT)
        return 0;
    if (data[0] == 0xff) {
        pack(data, size, data[size - 1]);
    } else if (data[0] & 1 && data[0] != FAST_VERSION) {
        size_t bytes;
        uint8_t *made = build(data, size, &bytes);
        decode(made, bytes, NULL, 0, data[13]);
        (void)mldfi_fast_restore(made, bytes, MLDF_IMAGE_MAX_BYTES, &jpeg, &err);
        free(made);
    } else {
        struct fast_layout layout;
        decode(data, size, NULL, 0, data[size - 1]);
        if (mldfi_fast_parse(data, size, &layout, &err) == MLDF_OK &&
            (uint64_t)layout.grid.width * layout.grid.height <= MOST_PIXELS)
            (void)mldfi_fast_restore(data, size, MLDF_IMAGE_MAX_BYTES, &jpeg, &err);
    }
    mldf_buffer_free(&jpeg);
    return 0;
}
