/* The footer, 96 bytes behind the directory: the second copy of the header (header.c) and what says that the file is
 * whole.
 *
 *     0 header u8[64] · 64 file size u64 · 72 generation u32 · 76 CRC of the bytes 0 to 75 u32
 *     80 magic, zero-padded to 16 */
#include "format/format.h"
#include "util/bytes.h"
#include "util/crc32c.h"

static void closing_magic(uint8_t out[16]) {
    memset(out, 0, 16);
    memcpy(out, mldfi_magic, FORMAT_MAGIC_BYTES);
}

void mldfi_footer_encode(const struct footer *footer, uint8_t out[FORMAT_FOOTER_BYTES]) {
    memcpy(out, footer->header, FORMAT_HEADER_BYTES);
    mldfi_store_u64(out + 64, footer->file_size);
    mldfi_store_u32(out + 72, footer->generation);
    mldfi_store_u32(out + 76, mldfi_crc32c(0, out, 76));
    closing_magic(out + 80);
}

bool mldfi_footer_decode(const uint8_t in[FORMAT_FOOTER_BYTES], struct footer *out) {
    uint8_t magic[16];
    closing_magic(magic);
    if (memcmp(in + 80, magic, sizeof magic) != 0 || mldfi_load_u32(in + 76) != mldfi_crc32c(0, in, 76))
        return false;
    memcpy(out->header, in, FORMAT_HEADER_BYTES);
    out->file_size = mldfi_load_u64(in + 64);
    out->generation = mldfi_load_u32(in + 72);
    return true;
}
