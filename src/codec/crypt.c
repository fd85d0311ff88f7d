/* Encryption with libsodium. One idea: a random key for each file, wrapped by the user's secret, from which the subkeys
 * come, so that changing the secret touches 48 bytes and no payload.
 *
 *     key (32 bytes), or Argon2id(passphrase, salt) --unwraps--> file key --derives--> payload, mac, dictionary and table keys
 *
 * A payload is bound to its file, sample and field, the dictionary to its file; the tables and sections are authenticated by
 * one keyed hash.
 * crypt_none.c stands in for this file in a build without libsodium; crypt_layout.h has the bytes of section 9. */
#if defined(MLDF_HAVE_SODIUM)
#include "codec/crypt.h"

#include <sodium.h>
#include <string.h>

#include "codec/crypt_layout.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

_Static_assert(NONCE_BYTES == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, "nonce");
_Static_assert(TAG_BYTES == crypto_aead_xchacha20poly1305_ietf_ABYTES, "tag");
_Static_assert(WRAPPED_BYTES == MLDF_KEY_BYTES + TAG_BYTES, "wrapped key");
_Static_assert(SALT_BYTES == crypto_pwhash_argon2id_SALTBYTES, "salt");
_Static_assert(MLDFI_CRYPT_OVERHEAD == NONCE_BYTES + TAG_BYTES, "overhead of a payload");
_Static_assert((int)MLDFI_CRYPT_NONCE == (int)NONCE_BYTES, "nonce of chunks");
_Static_assert((int)MLDFI_CRYPT_CHUNK_STORED == (int)MLDFI_CRYPT_CHUNK + TAG_BYTES, "a chunk and its tag");
_Static_assert((int)MLDFI_CRYPT_MAC_OFFSET == (int)SECTION_MAC, "place of the mac");
_Static_assert(SECTION_MAC + MLDFI_CRYPT_MAC_BYTES == MLDFI_CRYPT_SECTION_BYTES, "section 9");

/* ad of a payload: file_id 16, sample u64, field u16 */
enum { PAYLOAD_AD_BYTES = FILE_ID_BYTES + 8 + 2 };
/* ad of a chunk: that, the chunk's number u64, how many there are u64 */
enum { CHUNK_AD_BYTES = PAYLOAD_AD_BYTES + 16 };
/* ad of the dictionary: file_id 16, number of its section u32 */
enum { DICTIONARY_AD_BYTES = FILE_ID_BYTES + 4, DICTIONARY_SECTION = 15 };

/* ad of a piece of the tables: file_id 16, then u64 number, tail bytes, prefix bytes */
enum { PIECE_AD_BYTES = FILE_ID_BYTES + 24 };

/* In memory from sodium_malloc: locked, between guard pages, wiped when freed, read-only once complete. */
struct crypt {
    uint8_t payload_key[32];
    uint8_t mac_key[32];
    uint8_t dictionary_key[32];
    uint8_t table_key[32];
    uint8_t section[MLDFI_CRYPT_SECTION_BYTES]; /* with a zero mac */
};

struct crypt_mac {
    crypto_generichash_state state;
};

/* Keys on their way; also from sodium_malloc. */
struct scratch {
    uint8_t wrapping_key[32];
    uint8_t file_key[32];
};

bool mldfi_crypt_available(void) {
    return true;
}

static mldf_status fail_secret_memory(mldf_error *err) {
    return mldfi_fail(err, MLDF_E_MEMORY, "no memory for keys");
}

/* One of the two, of the right size. Neither: `none`. */
static mldf_status check_secret(const mldf_secret *secret, mldf_status none, mldf_error *err) {
    if (!secret || (!secret->key && !secret->passphrase))
        return mldfi_fail_at(err, none, 0, "neither a key nor a passphrase was given");
    if (secret->key && secret->passphrase)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "both a key and a passphrase were given");
    if (secret->key && secret->key_bytes != MLDF_KEY_BYTES)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "a key of %zu bytes; it must have %d", secret->key_bytes,
                          (int)MLDF_KEY_BYTES);
    if (secret->passphrase && secret->passphrase_bytes == 0)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "the passphrase is empty");
    if (sodium_init() < 0)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "libsodium does not start");
    return MLDF_OK;
}

/* The key that wraps the file key, as section 9 says. */
static mldf_status wrapping_key(uint8_t out[32], const uint8_t *section, const mldf_secret *secret, mldf_error *err) {
    if (secret->key) {
        memcpy(out, secret->key, MLDF_KEY_BYTES);
        return MLDF_OK;
    }
    uint64_t opslimit = mldfi_load_u64(section + SECTION_OPSLIMIT);
    uint64_t memlimit = mldfi_load_u64(section + SECTION_MEMLIMIT);
    if (crypto_pwhash(out, 32, secret->passphrase, secret->passphrase_bytes, section + SECTION_SALT, opslimit,
                      (size_t)memlimit, crypto_pwhash_ALG_ARGON2ID13) != 0)
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory for the passphrase's key derivation, which takes %llu bytes",
                          (unsigned long long)memlimit);
    return MLDF_OK;
}

static void derive(struct crypt *crypt, const uint8_t file_key[32]) {
    (void)crypto_kdf_derive_from_key(crypt->payload_key, 32, 1, "MLDFkeys", file_key);
    (void)crypto_kdf_derive_from_key(crypt->mac_key, 32, 2, "MLDFkeys", file_key);
    (void)crypto_kdf_derive_from_key(crypt->dictionary_key, 32, 3, "MLDFkeys", file_key);
    (void)crypto_kdf_derive_from_key(crypt->table_key, 32, 4, "MLDFkeys", file_key);
}

/* ---- A new file ------------------------------------------------------------------------------------------------- */

static void fill_section(uint8_t *section, const mldf_secret *secret) {
    memset(section, 0, MLDFI_CRYPT_SECTION_BYTES);
    mldfi_store_u32(section + SECTION_ALGORITHM, ALGORITHM_XCHACHA20_POLY1305);
    randombytes_buf(section + SECTION_FILE_ID, FILE_ID_BYTES);
    randombytes_buf(section + SECTION_NONCE, NONCE_BYTES);
    if (secret->key)
        return;
    mldfi_store_u32(section + SECTION_KDF, KDF_ARGON2ID13);
    randombytes_buf(section + SECTION_SALT, SALT_BYTES);
    mldfi_store_u64(section + SECTION_OPSLIMIT, crypto_pwhash_OPSLIMIT_INTERACTIVE);
    mldfi_store_u64(section + SECTION_MEMLIMIT, crypto_pwhash_MEMLIMIT_INTERACTIVE);
}

static mldf_status make_keys(struct crypt *crypt, struct scratch *keys, const mldf_secret *secret, mldf_error *err) {
    uint8_t *section = crypt->section;
    fill_section(section, secret);
    mldf_status status = wrapping_key(keys->wrapping_key, section, secret, err);
    if (status != MLDF_OK)
        return status;
    randombytes_buf(keys->file_key, sizeof keys->file_key);
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt(section + SECTION_WRAPPED, NULL, keys->file_key,
                                                     sizeof keys->file_key, section + SECTION_FILE_ID, FILE_ID_BYTES,
                                                     NULL, section + SECTION_NONCE, keys->wrapping_key);
    derive(crypt, keys->file_key);
    return MLDF_OK;
}

/* ---- A file that exists ----------------------------------------------------------------------------------------- */

static mldf_status check_section(const uint8_t *section, mldf_error *err) {
    uint32_t algorithm = mldfi_load_u32(section + SECTION_ALGORITHM), kdf = mldfi_load_u32(section + SECTION_KDF);
    uint64_t opslimit = mldfi_load_u64(section + SECTION_OPSLIMIT);
    uint64_t memlimit = mldfi_load_u64(section + SECTION_MEMLIMIT);
    if (algorithm != ALGORITHM_XCHACHA20_POLY1305)
        return mldfi_fail_at(err, MLDF_E_FEATURE, SECTION_ALGORITHM, "unknown encryption algorithm %u",
                             (unsigned)algorithm);
    if (kdf > KDF_ARGON2ID13)
        return mldfi_fail_at(err, MLDF_E_FEATURE, SECTION_KDF, "unknown key derivation %u", (unsigned)kdf);
    if (kdf == KDF_RAW_KEY)
        return MLDF_OK;
    if (opslimit == 0 || opslimit > OPSLIMIT_MAX)
        return mldfi_fail_at(err, MLDF_E_LIMIT, SECTION_OPSLIMIT, "key derivation of %llu passes; 1 to %d are allowed",
                             (unsigned long long)opslimit, (int)OPSLIMIT_MAX);
    if (memlimit < MEMLIMIT_MIN || memlimit > MEMLIMIT_MAX)
        return mldfi_fail_at(err, MLDF_E_LIMIT, SECTION_MEMLIMIT, "key derivation in %llu bytes; %d to %d are allowed",
                             (unsigned long long)memlimit, (int)MEMLIMIT_MIN, (int)MEMLIMIT_MAX);
    return MLDF_OK;
}

static mldf_status check_kind(const uint8_t *section, const mldf_secret *secret, mldf_error *err) {
    bool raw = mldfi_load_u32(section + SECTION_KDF) == KDF_RAW_KEY;
    if (raw && !secret->key)
        return mldfi_fail_at(err, MLDF_E_KEY_WRONG, SECTION_KDF, "the file opens with a key, not with a passphrase");
    if (!raw && !secret->passphrase)
        return mldfi_fail_at(err, MLDF_E_KEY_WRONG, SECTION_KDF, "the file opens with a passphrase, not with a key");
    return MLDF_OK;
}

static mldf_status unwrap_keys(struct crypt *crypt, struct scratch *keys, const mldf_secret *secret, mldf_error *err) {
    const uint8_t *section = crypt->section;
    mldf_status status = wrapping_key(keys->wrapping_key, section, secret, err);
    if (status != MLDF_OK)
        return status;
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(keys->file_key, NULL, NULL, section + SECTION_WRAPPED, WRAPPED_BYTES,
                                                   section + SECTION_FILE_ID, FILE_ID_BYTES, section + SECTION_NONCE,
                                                   keys->wrapping_key) != 0)
        return mldfi_fail_at(err, MLDF_E_KEY_WRONG, SECTION_WRAPPED, "the %s does not open this file",
                             secret->key ? "key" : "passphrase");
    derive(crypt, keys->file_key);
    return MLDF_OK;
}

/* section NULL: a new file. */
static mldf_status build(struct crypt **out, const uint8_t *section, const mldf_secret *secret, mldf_error *err) {
    struct crypt *crypt = sodium_malloc(sizeof *crypt);
    struct scratch *keys = sodium_malloc(sizeof *keys);
    mldf_status status;
    if (!crypt || !keys) {
        status = fail_secret_memory(err);
    } else if (section) {
        memcpy(crypt->section, section, MLDFI_CRYPT_SECTION_BYTES);
        memset(crypt->section + SECTION_MAC, 0, MLDFI_CRYPT_MAC_BYTES);
        status = unwrap_keys(crypt, keys, secret, err);
    } else {
        status = make_keys(crypt, keys, secret, err);
    }
    sodium_free(keys);
    if (status != MLDF_OK) {
        sodium_free(crypt);
        return status;
    }
    (void)sodium_mprotect_readonly(crypt);
    *out = crypt;
    return MLDF_OK;
}

mldf_status mldfi_crypt_new(struct crypt **out, const mldf_secret *secret, mldf_error *err) {
    *out = NULL;
    mldf_status status = check_secret(secret, MLDF_E_ARGUMENT, err);
    return status == MLDF_OK ? build(out, NULL, secret, err) : status;
}

mldf_status mldfi_crypt_open(struct crypt **out, const uint8_t section[160], const mldf_secret *secret,
                             mldf_error *err) {
    *out = NULL;
    mldf_status status = check_section(section, err);
    if (status == MLDF_OK)
        status = check_secret(secret, MLDF_E_KEY_MISSING, err);
    if (status == MLDF_OK)
        status = check_kind(section, secret, err);
    return status == MLDF_OK ? build(out, section, secret, err) : status;
}

void mldfi_crypt_free(struct crypt *crypt) {
    sodium_free(crypt);
}

void mldfi_crypt_section(const struct crypt *crypt, uint8_t section[160]) {
    memcpy(section, crypt->section, MLDFI_CRYPT_SECTION_BYTES);
}

/* ---- Payloads --------------------------------------------------------------------------------------------------- */

static void payload_ad(const struct crypt *crypt, uint64_t sample, uint16_t field, uint8_t ad[PAYLOAD_AD_BYTES]) {
    memcpy(ad, crypt->section + SECTION_FILE_ID, FILE_ID_BYTES);
    mldfi_store_u64(ad + FILE_ID_BYTES, sample);
    mldfi_store_u16(ad + FILE_ID_BYTES + 8, field);
}

mldf_status mldfi_crypt_seal(const struct crypt *crypt, uint64_t sample, uint16_t field, const void *plain,
                             size_t bytes, uint8_t *dst, mldf_error *err) {
    uint8_t ad[PAYLOAD_AD_BYTES];
    if (bytes > crypto_aead_xchacha20poly1305_ietf_MESSAGEBYTES_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "a payload of %zu bytes is too large to encrypt", bytes);
    payload_ad(crypt, sample, field, ad);
    randombytes_buf(dst, NONCE_BYTES);
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt(dst + NONCE_BYTES, NULL, plain, bytes, ad, sizeof ad, NULL, dst,
                                                     crypt->payload_key);
    return MLDF_OK;
}

mldf_status mldfi_crypt_open_payload(const struct crypt *crypt, uint64_t sample, uint16_t field, const uint8_t *stored,
                                     size_t stored_bytes, uint8_t *dst, mldf_error *err) {
    uint8_t ad[PAYLOAD_AD_BYTES], nothing;
    if (stored_bytes < MLDFI_CRYPT_OVERHEAD)
        return mldfi_fail_at(err, MLDF_E_TAMPERED, 0, "an encrypted payload of %zu bytes; the least is %d",
                             stored_bytes, (int)MLDFI_CRYPT_OVERHEAD);
    payload_ad(crypt, sample, field, ad);
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(dst ? dst : &nothing, NULL, NULL, stored + NONCE_BYTES,
                                                   stored_bytes - NONCE_BYTES, ad, sizeof ad, stored,
                                                   crypt->payload_key) != 0)
        return mldfi_fail_at(err, MLDF_E_TAMPERED, 0, "the encrypted payload does not authenticate");
    return MLDF_OK;
}

/* ---- Chunks ------------------------------------------------------------------------------------------------------- */

/* What differs from chunk to chunk: the last eight bytes of the nonce, plus the number of the chunk, and the end of the associated data. */
struct chunk_seal {
    uint8_t ad[CHUNK_AD_BYTES], nonce[NONCE_BYTES];
    uint64_t tail;
};

static void begin_chunks(const struct crypt *crypt, uint64_t sample, uint16_t field, uint64_t total,
                         const uint8_t *nonce, struct chunk_seal *s) {
    payload_ad(crypt, sample, field, s->ad);
    mldfi_store_u64(s->ad + PAYLOAD_AD_BYTES + 8, total);
    memcpy(s->nonce, nonce, NONCE_BYTES);
    s->tail = mldfi_load_u64(nonce + NONCE_BYTES - 8);
}

static void set_chunk(struct chunk_seal *s, uint64_t chunk) {
    mldfi_store_u64(s->ad + PAYLOAD_AD_BYTES, chunk);
    mldfi_store_u64(s->nonce + NONCE_BYTES - 8, s->tail + chunk);
}

mldf_status mldfi_crypt_seal_chunks(const struct crypt *crypt, uint64_t sample, uint16_t field, const void *plain,
                                    size_t bytes, uint8_t *dst, mldf_error *err) {
    const uint8_t *from = plain;
    struct chunk_seal s;
    (void)err;
    randombytes_buf(dst, NONCE_BYTES);
    begin_chunks(crypt, sample, field, (bytes - 1) / MLDFI_CRYPT_CHUNK + 1, dst, &s);
    dst += NONCE_BYTES;
    for (uint64_t i = 0, done = 0; done < bytes; i++, done += MLDFI_CRYPT_CHUNK, dst += MLDFI_CRYPT_CHUNK_STORED) {
        uint64_t left = bytes - done, now = left < MLDFI_CRYPT_CHUNK ? left : MLDFI_CRYPT_CHUNK;
        set_chunk(&s, i);
        (void)crypto_aead_xchacha20poly1305_ietf_encrypt(dst, NULL, from + done, now, s.ad, sizeof s.ad, NULL, s.nonce,
                                                         crypt->payload_key);
    }
    return MLDF_OK;
}

mldf_status mldfi_crypt_open_chunks(const struct crypt *crypt, const struct crypt_chunks *which,
                                    const uint8_t nonce[24], const uint8_t *stored, size_t stored_bytes, uint8_t *dst,
                                    mldf_error *err) {
    struct chunk_seal s;
    begin_chunks(crypt, which->sample, which->field, which->total, nonce, &s);
    for (uint64_t i = 0; i < which->count; i++) {
        size_t now = stored_bytes < MLDFI_CRYPT_CHUNK_STORED ? stored_bytes : MLDFI_CRYPT_CHUNK_STORED;
        set_chunk(&s, which->first + i);
        if (now <= TAG_BYTES || crypto_aead_xchacha20poly1305_ietf_decrypt(
                                    dst, NULL, NULL, stored, now, s.ad, sizeof s.ad, s.nonce, crypt->payload_key) != 0)
            return mldfi_fail_at(err, MLDF_E_TAMPERED, which->first + i, "a chunk does not authenticate");
        stored += now;
        stored_bytes -= now;
        dst += now - TAG_BYTES;
    }
    return MLDF_OK;
}

/* ---- The dictionary --------------------------------------------------------------------------------------------- */

static void dictionary_ad(const struct crypt *crypt, uint8_t ad[DICTIONARY_AD_BYTES]) {
    memcpy(ad, crypt->section + SECTION_FILE_ID, FILE_ID_BYTES);
    mldfi_store_u32(ad + FILE_ID_BYTES, DICTIONARY_SECTION);
}

mldf_status mldfi_crypt_seal_dictionary(const struct crypt *crypt, const void *plain, size_t bytes, mldf_buffer *out,
                                        mldf_error *err) {
    uint8_t ad[DICTIONARY_AD_BYTES];
    TRY(mldfi_buffer_resize(out, bytes + MLDFI_CRYPT_OVERHEAD, err));
    dictionary_ad(crypt, ad);
    randombytes_buf(out->data, NONCE_BYTES);
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt(out->data + NONCE_BYTES, NULL, plain, bytes, ad, sizeof ad, NULL,
                                                     out->data, crypt->dictionary_key);
    return MLDF_OK;
}

mldf_status mldfi_crypt_open_dictionary(const struct crypt *crypt, const uint8_t *stored, size_t stored_bytes,
                                        mldf_buffer *out, mldf_error *err) {
    uint8_t ad[DICTIONARY_AD_BYTES];
    if (stored_bytes <= MLDFI_CRYPT_OVERHEAD)
        return mldfi_fail_at(err, MLDF_E_TAMPERED, 0, "an encrypted dictionary of %zu bytes; the least is %d",
                             stored_bytes, (int)MLDFI_CRYPT_OVERHEAD + 1);
    TRY(mldfi_buffer_resize(out, stored_bytes - MLDFI_CRYPT_OVERHEAD, err));
    dictionary_ad(crypt, ad);
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(out->data, NULL, NULL, stored + NONCE_BYTES,
                                                   stored_bytes - NONCE_BYTES, ad, sizeof ad, stored,
                                                   crypt->dictionary_key) != 0)
        return mldfi_fail_at(err, MLDF_E_TAMPERED, 0, "the encrypted dictionary does not authenticate");
    return MLDF_OK;
}

/* ---- Tables that are encrypted too ------------------------------------------------------------------------------ */

void mldfi_crypt_nonce(uint8_t nonce[24]) {
    randombytes_buf(nonce, NONCE_BYTES);
}

/* Nonce and associated data of a piece. */
static void place_piece(const struct crypt *crypt, const struct crypt_piece *piece, uint8_t nonce[NONCE_BYTES],
                        uint8_t ad[PIECE_AD_BYTES]) {
    memcpy(nonce, piece->nonce, NONCE_BYTES);
    mldfi_store_u64(nonce + NONCE_BYTES - 8, mldfi_load_u64(nonce + NONCE_BYTES - 8) + piece->number);
    memcpy(ad, crypt->section + SECTION_FILE_ID, FILE_ID_BYTES);
    mldfi_store_u64(ad + FILE_ID_BYTES, piece->number);
    mldfi_store_u64(ad + FILE_ID_BYTES + 8, piece->tail_bytes);
    mldfi_store_u64(ad + FILE_ID_BYTES + 16, piece->prefix_bytes);
}

mldf_status mldfi_crypt_seal_piece(const struct crypt *crypt, const struct crypt_piece *piece, uint8_t *data,
                                   size_t bytes, uint8_t tag[16], mldf_error *err) {
    uint8_t nonce[NONCE_BYTES], ad[PIECE_AD_BYTES];
    (void)err;
    place_piece(crypt, piece, nonce, ad);
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt_detached(data, tag, NULL, data, bytes, ad, sizeof ad, NULL, nonce,
                                                              crypt->table_key);
    return MLDF_OK;
}

mldf_status mldfi_crypt_open_piece(const struct crypt *crypt, const struct crypt_piece *piece, uint8_t *data,
                                   size_t bytes, const uint8_t tag[16], mldf_error *err) {
    uint8_t nonce[NONCE_BYTES], ad[PIECE_AD_BYTES];
    place_piece(crypt, piece, nonce, ad);
    if (crypto_aead_xchacha20poly1305_ietf_decrypt_detached(data, NULL, data, bytes, tag, ad, sizeof ad, nonce,
                                                            crypt->table_key) != 0)
        return mldfi_fail_at(err, MLDF_E_TAMPERED, 0, "the encrypted tables do not authenticate");
    return MLDF_OK;
}

/* ---- Tables and sections ---------------------------------------------------------------------------------------- */

mldf_status mldfi_crypt_mac_begin(struct crypt_mac **out, const struct crypt *crypt, mldf_error *err) {
    *out = sodium_malloc(sizeof **out);
    if (!*out)
        return fail_secret_memory(err);
    (void)crypto_generichash_init(&(*out)->state, crypt->mac_key, sizeof crypt->mac_key, MLDFI_CRYPT_MAC_BYTES);
    return MLDF_OK;
}

void mldfi_crypt_mac_add(struct crypt_mac *mac, const void *data, size_t bytes) {
    if (bytes)
        (void)crypto_generichash_update(&mac->state, data, bytes);
}

void mldfi_crypt_mac_end(struct crypt_mac *mac, uint8_t out[32]) {
    uint8_t unused[MLDFI_CRYPT_MAC_BYTES];
    if (!mac)
        return;
    (void)crypto_generichash_final(&mac->state, out ? out : unused, MLDFI_CRYPT_MAC_BYTES);
    sodium_free(mac);
}

bool mldfi_crypt_mac_equal(const uint8_t a[32], const uint8_t b[32]) {
    return sodium_memcmp(a, b, MLDFI_CRYPT_MAC_BYTES) == 0;
}
#else
typedef int mldfi_no_sodium; /* a translation unit must not be empty */
#endif
