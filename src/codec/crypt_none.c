/* What crypt.h offers in a build without libsodium: a clear no. crypt.c is the real thing. */
#if !defined(MLDF_HAVE_SODIUM)
#include "codec/crypt.h"

#include <string.h>

#include "util/error.h"

static mldf_status refuse(mldf_error *err) {
    return mldfi_fail(err, MLDF_E_UNSUPPORTED, "this build has no libsodium: encryption is not available");
}

bool mldfi_crypt_available(void) {
    return false;
}

mldf_status mldfi_crypt_new(struct crypt **out, const mldf_secret *secret, mldf_error *err) {
    (void)secret;
    *out = NULL;
    return refuse(err);
}

mldf_status mldfi_crypt_open(struct crypt **out, const uint8_t section[160], const mldf_secret *secret,
                             mldf_error *err) {
    (void)section, (void)secret;
    *out = NULL;
    return refuse(err);
}

void mldfi_crypt_free(struct crypt *crypt) {
    (void)crypt;
}

void mldfi_crypt_section(const struct crypt *crypt, uint8_t section[160]) {
    (void)crypt;
    memset(section, 0, MLDFI_CRYPT_SECTION_BYTES);
}

mldf_status mldfi_crypt_seal(const struct crypt *crypt, uint64_t sample, uint16_t field, const void *plain,
                             size_t bytes, uint8_t *dst, mldf_error *err) {
    (void)crypt, (void)sample, (void)field, (void)plain, (void)bytes, (void)dst;
    return refuse(err);
}

mldf_status mldfi_crypt_open_payload(const struct crypt *crypt, uint64_t sample, uint16_t field, const uint8_t *stored,
                                     size_t stored_bytes, uint8_t *dst, mldf_error *err) {
    (void)crypt, (void)sample, (void)field, (void)stored, (void)stored_bytes, (void)dst;
    return refuse(err);
}

mldf_status mldfi_crypt_seal_chunks(const struct crypt *crypt, uint64_t sample, uint16_t field, const void *plain,
                                    size_t bytes, uint8_t *dst, mldf_error *err) {
    (void)crypt, (void)sample, (void)field, (void)plain, (void)bytes, (void)dst;
    return refuse(err);
}

mldf_status mldfi_crypt_open_chunks(const struct crypt *crypt, const struct crypt_chunks *which,
                                    const uint8_t nonce[24], const uint8_t *stored, size_t stored_bytes, uint8_t *dst,
                                    mldf_error *err) {
    (void)crypt, (void)which, (void)nonce, (void)stored, (void)stored_bytes, (void)dst;
    return refuse(err);
}

mldf_status mldfi_crypt_seal_dictionary(const struct crypt *crypt, const void *plain, size_t bytes, mldf_buffer *out,
                                        mldf_error *err) {
    (void)crypt, (void)plain, (void)bytes, (void)out;
    return refuse(err);
}

mldf_status mldfi_crypt_open_dictionary(const struct crypt *crypt, const uint8_t *stored, size_t stored_bytes,
                                        mldf_buffer *out, mldf_error *err) {
    (void)crypt, (void)stored, (void)stored_bytes, (void)out;
    return refuse(err);
}

void mldfi_crypt_nonce(uint8_t nonce[24]) {
    memset(nonce, 0, 24);
}

mldf_status mldfi_crypt_seal_piece(const struct crypt *crypt, const struct crypt_piece *piece, uint8_t *data,
                                   size_t bytes, uint8_t tag[16], mldf_error *err) {
    (void)crypt, (void)piece, (void)data, (void)bytes, (void)tag;
    return refuse(err);
}

mldf_status mldfi_crypt_open_piece(const struct crypt *crypt, const struct crypt_piece *piece, uint8_t *data,
                                   size_t bytes, const uint8_t tag[16], mldf_error *err) {
    (void)crypt, (void)piece, (void)data, (void)bytes, (void)tag;
    return refuse(err);
}

mldf_status mldfi_crypt_mac_begin(struct crypt_mac **out, const struct crypt *crypt, mldf_error *err) {
    (void)crypt;
    *out = NULL;
    return refuse(err);
}

void mldfi_crypt_mac_add(struct crypt_mac *mac, const void *data, size_t bytes) {
    (void)mac, (void)data, (void)bytes;
}

void mldfi_crypt_mac_end(struct crypt_mac *mac, uint8_t out[32]) {
    (void)mac;
    if (out)
        memset(out, 0, MLDFI_CRYPT_MAC_BYTES);
}

bool mldfi_crypt_mac_equal(const uint8_t a[32], const uint8_t b[32]) {
    return memcmp(a, b, MLDFI_CRYPT_MAC_BYTES) == 0;
}
#else
typedef int mldfi_has_sodium; /* a translation unit must not be empty */
#endif
