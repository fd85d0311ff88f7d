/* Encryption of payloads and authentication of tables with libsodium; every function gives MLDF_E_UNSUPPORTED in a build
 * without it. The layout of section 9 and the key hierarchy are in docs/spec/format.md. */
#ifndef MLDF_CODEC_CRYPT_H
#define MLDF_CODEC_CRYPT_H

#include "mldf/base.h"

enum {
    MLDFI_CRYPT_SECTION_BYTES = 160,
    MLDFI_CRYPT_OVERHEAD = 40 /* nonce 24 + tag 16 */,
    MLDFI_CRYPT_MAC_BYTES = 32,
    MLDFI_CRYPT_MAC_OFFSET = 128,
    /* A payload in chunks: nonce 24, then each chunk with its tag. */
    MLDFI_CRYPT_NONCE = 24,
    MLDFI_CRYPT_CHUNK = 1 << 16,
    MLDFI_CRYPT_CHUNK_STORED = MLDFI_CRYPT_CHUNK + 16
};

/* Bytes of a payload that is sealed, > 0; and back: 0 where so many stored bytes cannot be one. */
static inline uint64_t mldfi_crypt_sealed_bytes(uint64_t bytes, bool chunked) {
    return bytes + MLDFI_CRYPT_OVERHEAD + (chunked ? (bytes - 1) / MLDFI_CRYPT_CHUNK * 16 : 0);
}
static inline uint64_t mldfi_crypt_chunk_count(uint64_t stored) {
    return (stored - MLDFI_CRYPT_NONCE - 1) / MLDFI_CRYPT_CHUNK_STORED + 1;
}
static inline uint64_t mldfi_crypt_value_bytes(uint64_t stored, bool chunked) {
    if (stored <= MLDFI_CRYPT_OVERHEAD)
        return 0;
    if (!chunked)
        return stored - MLDFI_CRYPT_OVERHEAD;
    uint64_t last = (stored - MLDFI_CRYPT_NONCE - 1) % MLDFI_CRYPT_CHUNK_STORED + 1;
    return last <= 16 ? 0 : stored - MLDFI_CRYPT_NONCE - 16 * mldfi_crypt_chunk_count(stored);
}

bool mldfi_crypt_available(void);

struct crypt; /* file id and the subkeys; locked memory; shared by threads */
/* A new random file key, wrapped by the secret. */
mldf_status mldfi_crypt_new(struct crypt **out, const mldf_secret *secret, mldf_error *err);
/* From section 9: MLDF_E_FEATURE (algorithm, kdf), MLDF_E_LIMIT (cost of the kdf), MLDF_E_KEY_MISSING, MLDF_E_KEY_WRONG, all with
 * the offset counted from the section's first byte. MLDF_E_ARGUMENT: a key that has not 32 bytes, an empty passphrase, both. */
mldf_status mldfi_crypt_open(struct crypt **out, const uint8_t section[160], const mldf_secret *secret,
                             mldf_error *err);
void mldfi_crypt_free(struct crypt *crypt);
/* Section 9 with a zero mac. */
void mldfi_crypt_section(const struct crypt *crypt, uint8_t section[160]);

/* dst holds bytes + MLDFI_CRYPT_OVERHEAD. */
mldf_status mldfi_crypt_seal(const struct crypt *crypt, uint64_t sample, uint16_t field, const void *plain,
                             size_t bytes, uint8_t *dst, mldf_error *err);
/* dst holds stored_bytes - MLDFI_CRYPT_OVERHEAD. MLDF_E_TAMPERED when it does not authenticate. */
mldf_status mldfi_crypt_open_payload(const struct crypt *crypt, uint64_t sample, uint16_t field, const uint8_t *stored,
                                     size_t stored_bytes, uint8_t *dst, mldf_error *err);

/* The same in chunks. dst holds mldfi_crypt_sealed_bytes(bytes, true). */
mldf_status mldfi_crypt_seal_chunks(const struct crypt *crypt, uint64_t sample, uint16_t field, const void *plain,
                                    size_t bytes, uint8_t *dst, mldf_error *err);
/* A payload in chunks, of which some are opened: [first, first + count) of `total`, which is those of the whole payload. stored: they end to end,
 * stored_bytes long. dst holds what they hold. MLDF_E_TAMPERED: err->offset is the chunk that does not authenticate. */
struct crypt_chunks {
    uint64_t sample;
    uint16_t field;
    uint64_t first, count, total;
};
mldf_status mldfi_crypt_open_chunks(const struct crypt *crypt, const struct crypt_chunks *which,
                                    const uint8_t nonce[24], const uint8_t *stored, size_t stored_bytes, uint8_t *dst,
                                    mldf_error *err);

/* The zstd dictionary, as section 15 holds it; out is replaced. Sealing takes a new nonce each time. MLDF_E_TAMPERED when it does not
 * authenticate. */
mldf_status mldfi_crypt_seal_dictionary(const struct crypt *crypt, const void *plain, size_t bytes, mldf_buffer *out,
                                        mldf_error *err);
mldf_status mldfi_crypt_open_dictionary(const struct crypt *crypt, const uint8_t *stored, size_t stored_bytes,
                                        mldf_buffer *out, mldf_error *err);

/* Tables that are encrypted too, in pieces, in place; a tag for each. The associated data say which piece of how many bytes it is. */
struct crypt_piece {
    const uint8_t *nonce; /* 24 bytes, new for each file state; the number of the piece is added to its last 8 */
    uint64_t number, tail_bytes, prefix_bytes;
};
void mldfi_crypt_nonce(uint8_t nonce[24]);
mldf_status mldfi_crypt_seal_piece(const struct crypt *crypt, const struct crypt_piece *piece, uint8_t *data,
                                   size_t bytes, uint8_t tag[16], mldf_error *err);
/* MLDF_E_TAMPERED when it does not authenticate. */
mldf_status mldfi_crypt_open_piece(const struct crypt *crypt, const struct crypt_piece *piece, uint8_t *data,
                                   size_t bytes, const uint8_t tag[16], mldf_error *err);

struct crypt_mac; /* running keyed BLAKE2b */
mldf_status mldfi_crypt_mac_begin(struct crypt_mac **out, const struct crypt *crypt, mldf_error *err);
void mldfi_crypt_mac_add(struct crypt_mac *mac, const void *data, size_t bytes);
void mldfi_crypt_mac_end(struct crypt_mac *mac, uint8_t out[32]); /* frees it; out NULL: only that */
bool mldfi_crypt_mac_equal(const uint8_t a[32], const uint8_t b[32]);

#endif
