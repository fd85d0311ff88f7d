/* The envelope of a file whose tables are encrypted too: the record that ends it, and the rules for its numbers.
 *
 *     magic · outer header · zeros · data pages · tables and prefix, encrypted · tags · envelope
 *
 * Decrypted in place, the file is an ordinary encrypted one of tail_ptr + tail_bytes bytes: src/reader/open_envelope.c. */
#include <inttypes.h>
#include <string.h>

#include "format/format.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"

static const uint8_t envelope_magic[8] = {'M', 'L', 'D', 'F', 'E', 'N', 'V', 0};

enum {
    AT_TAIL = 8,
    AT_TAIL_BYTES = 16,
    AT_PREFIX_BYTES = 24,
    AT_NONCE = 32,
    AT_SECTION = FORMAT_ENVELOPE_SECTION,
    AT_CRC = 228
};

uint64_t mldfi_envelope_tags(const struct envelope *e) {
    return FORMAT_ENVELOPE_TAG *
           ((e->tail_bytes + e->prefix_bytes + FORMAT_ENVELOPE_PIECE - 1) / FORMAT_ENVELOPE_PIECE);
}

void mldfi_envelope_encode(const struct envelope *e, uint8_t out[FORMAT_ENVELOPE_BYTES]) {
    memset(out, 0, FORMAT_ENVELOPE_BYTES);
    memcpy(out, envelope_magic, sizeof envelope_magic);
    mldfi_store_u64(out + AT_TAIL, e->tail_ptr);
    mldfi_store_u64(out + AT_TAIL_BYTES, e->tail_bytes);
    mldfi_store_u64(out + AT_PREFIX_BYTES, e->prefix_bytes);
    memcpy(out + AT_NONCE, e->nonce, sizeof e->nonce);
    memcpy(out + AT_SECTION, e->section, sizeof e->section);
    mldfi_store_u32(out + AT_CRC, mldfi_crc32c(0, out, AT_CRC));
}

/* Does everything lie where it must, in a file whose envelope begins at `at`? */
static bool makes_sense(const struct envelope *e, uint64_t at) {
    uint64_t most = at; /* every number is below it, so that no sum wraps */
    return e->tail_ptr < most && e->tail_bytes < most && e->prefix_bytes < most && e->tail_ptr % 64 == 0 &&
           e->prefix_bytes >= FORMAT_DESCRIPTOR_OFFSET + FORMAT_DESCRIPTOR_BYTES && e->prefix_bytes <= e->tail_ptr &&
           e->tail_bytes >= FORMAT_FOOTER_BYTES && at < UINT64_C(1) << 62 &&
           mldfi_align_up(e->tail_ptr + e->tail_bytes + e->prefix_bytes + mldfi_envelope_tags(e), 8) == at;
}

mldf_status mldfi_envelope_decode(const uint8_t in[FORMAT_ENVELOPE_BYTES], uint64_t at, struct envelope *out,
                                  mldf_error *err) {
    if (memcmp(in, envelope_magic, sizeof envelope_magic) != 0)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "no envelope at byte %" PRIu64 ", where the header says it is",
                             at);
    if (mldfi_load_u32(in + AT_CRC) != mldfi_crc32c(0, in, AT_CRC))
        return mldfi_fail_at(err, MLDF_E_CHECKSUM, at + AT_CRC, "the envelope at byte %" PRIu64 " is damaged", at);
    out->tail_ptr = mldfi_load_u64(in + AT_TAIL);
    out->tail_bytes = mldfi_load_u64(in + AT_TAIL_BYTES);
    out->prefix_bytes = mldfi_load_u64(in + AT_PREFIX_BYTES);
    memcpy(out->nonce, in + AT_NONCE, sizeof out->nonce);
    memcpy(out->section, in + AT_SECTION, sizeof out->section);
    if (!makes_sense(out, at))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at + AT_TAIL,
                             "the envelope says %" PRIu64 " + %" PRIu64 " encrypted bytes from byte %" PRIu64
                             ", which do not end before it at %" PRIu64,
                             out->tail_bytes, out->prefix_bytes, out->tail_ptr, at);
    return MLDF_OK;
}
