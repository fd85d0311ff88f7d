/* Encryption: the layout of section 9 byte by byte, the key hierarchy done again by hand, and everything that must fail. */
#include "check.h"
#include "codec/crypt.h"
#include "util/bytes.h"

#if defined(MLDF_HAVE_SODIUM)
#include <sodium.h>
#include <stdlib.h>

static const uint8_t key_bytes[32] = "0123456789abcdef0123456789abcdeF";
static const mldf_secret by_key = {key_bytes, 32, NULL, 0};
static const mldf_secret by_phrase = {NULL, 0, "correct horse", 13};

static void section_has_the_pinned_layout(void) {
    struct crypt *crypt;
    uint8_t a[160], b[160], zero[32] = {0};
    mldf_error err;
    REQUIRE_OK(mldfi_crypt_new(&crypt, &by_key, &err), &err);
    mldfi_crypt_section(crypt, a);
    CHECK_EQ_U64(1, mldfi_load_u32(a));
    CHECK_EQ_U64(0, mldfi_load_u32(a + 4));
    CHECK_MEM_EQ(zero, a + 24, 32); /* salt, opslimit and memlimit are a passphrase's */
    CHECK_MEM_EQ(zero, a + 128, 32);
    mldfi_crypt_free(crypt);
    REQUIRE_OK(mldfi_crypt_new(&crypt, &by_phrase, &err), &err);
    mldfi_crypt_section(crypt, b);
    CHECK_EQ_U64(1, mldfi_load_u32(b + 4));
    CHECK_EQ_U64(crypto_pwhash_OPSLIMIT_INTERACTIVE, mldfi_load_u64(b + 40));
    CHECK_EQ_U64(crypto_pwhash_MEMLIMIT_INTERACTIVE, mldfi_load_u64(b + 48));
    CHECK(memcmp(a + 8, b + 8, 16) != 0);
    CHECK(memcmp(a + 56, b + 56, 24) != 0);
    CHECK(memcmp(a + 80, b + 80, 48) != 0);
    mldfi_crypt_free(crypt);
    mldfi_crypt_free(NULL);
}

static void payload_opens_by_hand_with_the_keys_of_the_specification(void) {
    struct crypt *crypt;
    uint8_t section[160], file_key[32], payload_key[32], mac_key[32], ad[26], stored[5 + 40], plain[5], mac[32],
        want[32];
    struct crypt_mac *running;
    mldf_error err;
    REQUIRE_OK(mldfi_crypt_new(&crypt, &by_key, &err), &err);
    mldfi_crypt_section(crypt, section);
    REQUIRE_EQ_INT(0, crypto_aead_xchacha20poly1305_ietf_decrypt(file_key, NULL, NULL, section + 80, 48, section + 8,
                                                                 16, section + 56, key_bytes));
    crypto_kdf_derive_from_key(payload_key, 32, 1, "MLDFkeys", file_key);
    crypto_kdf_derive_from_key(mac_key, 32, 2, "MLDFkeys", file_key);
    REQUIRE_OK(mldfi_crypt_seal(crypt, 0x0102030405060708, 0x0a0b, "hello", 5, stored, &err), &err);
    memcpy(ad, section + 8, 16);
    memcpy(ad + 16, "\x08\x07\x06\x05\x04\x03\x02\x01\x0b\x0a", 10);
    REQUIRE_EQ_INT(
        0, crypto_aead_xchacha20poly1305_ietf_decrypt(plain, NULL, NULL, stored + 24, 21, ad, 26, stored, payload_key));
    CHECK_MEM_EQ("hello", plain, 5);
    REQUIRE_OK(mldfi_crypt_mac_begin(&running, crypt, &err), &err);
    mldfi_crypt_mac_add(running, "tab", 3);
    mldfi_crypt_mac_add(running, NULL, 0);
    mldfi_crypt_mac_add(running, "les", 3);
    mldfi_crypt_mac_end(running, mac);
    crypto_generichash(want, 32, (const uint8_t *)"tables", 6, mac_key, 32);
    CHECK_MEM_EQ(want, mac, 32);
    CHECK(mldfi_crypt_mac_equal(want, mac));
    mac[31] ^= 1;
    CHECK(!mldfi_crypt_mac_equal(want, mac));
    mldfi_crypt_mac_end(NULL, NULL);
    mldfi_crypt_free(crypt);
}

static void a_section_made_by_hand_opens(void) {
    uint8_t section[160] = {1}, wrapping[32], file_key[32], payload_key[32], ad[26] = {0}, stored[3 + 40] = {0},
            plain[3];
    struct crypt *crypt;
    mldf_error err;
    REQUIRE(sodium_init() >= 0);
    section[4] = 1;
    memset(section + 8, 0x11, 16);
    memset(section + 24, 0x22, 16);
    mldfi_store_u64(section + 40, 1);
    mldfi_store_u64(section + 48, 8192);
    memset(section + 56, 0x33, 24);
    memset(section + 128, 0x44, 32);
    memset(file_key, 0x55, 32);
    REQUIRE_EQ_INT(
        0, crypto_pwhash(wrapping, 32, "correct horse", 13, section + 24, 1, 8192, crypto_pwhash_ALG_ARGON2ID13));
    crypto_aead_xchacha20poly1305_ietf_encrypt(section + 80, NULL, file_key, 32, section + 8, 16, NULL, section + 56,
                                               wrapping);
    crypto_kdf_derive_from_key(payload_key, 32, 1, "MLDFkeys", file_key);
    memset(ad, 0x11, 16);
    ad[16] = 9;
    crypto_aead_xchacha20poly1305_ietf_encrypt(stored + 24, NULL, (const uint8_t *)"abc", 3, ad, 26, NULL, stored,
                                               payload_key);
    REQUIRE_OK(mldfi_crypt_open(&crypt, section, &by_phrase, &err), &err);
    CHECK_OK(mldfi_crypt_open_payload(crypt, 9, 0, stored, sizeof stored, plain, &err), &err);
    CHECK_MEM_EQ("abc", plain, 3);
    mldfi_crypt_free(crypt);
}

static void payloads_come_back_and_are_bound_to_their_place(void) {
    struct crypt *writer, *reader, *other;
    uint8_t section[160], plain[300], back[300], stored[340], again[340];
    uint64_t state = check_seed();
    mldf_error err;
    const mldf_secret *secrets[] = {&by_key, &by_phrase};
    for (int s = 0; s < 2; s++) {
        REQUIRE_OK(mldfi_crypt_new(&writer, secrets[s], &err), &err);
        REQUIRE_OK(mldfi_crypt_new(&other, &by_key, &err), &err);
        mldfi_crypt_section(writer, section);
        memset(section + 128, 7, 32); /* the mac does not take part in opening */
        REQUIRE_OK(mldfi_crypt_open(&reader, section, secrets[s], &err), &err);
        for (size_t bytes = 0; bytes <= sizeof plain; bytes += 37) {
            check_rand_bytes(&state, plain, bytes);
            REQUIRE_OK(mldfi_crypt_seal(writer, 5, 2, plain, bytes, stored, &err), &err);
            REQUIRE_OK(mldfi_crypt_seal(writer, 5, 2, plain, bytes, again, &err), &err);
            CHECK(memcmp(stored, again, bytes + 40) != 0); /* a new nonce every time */
            CHECK_OK(mldfi_crypt_open_payload(reader, 5, 2, stored, bytes + 40, back, &err), &err);
            CHECK_MEM_EQ(plain, back, bytes);
            CHECK_STATUS(MLDF_E_TAMPERED, mldfi_crypt_open_payload(reader, 6, 2, stored, bytes + 40, back, &err), &err);
            CHECK_STATUS(MLDF_E_TAMPERED, mldfi_crypt_open_payload(reader, 5, 3, stored, bytes + 40, back, &err), &err);
            CHECK_STATUS(MLDF_E_TAMPERED, mldfi_crypt_open_payload(other, 5, 2, stored, bytes + 40, back, &err), &err);
            CHECK_STATUS(MLDF_E_TAMPERED, mldfi_crypt_open_payload(reader, 5, 2, stored, bytes + 39, back, &err), &err);
        }
        CHECK_STATUS(MLDF_E_TAMPERED, mldfi_crypt_open_payload(reader, 5, 2, stored, 39, back, &err), &err);
        CHECK_STATUS(MLDF_E_TAMPERED, mldfi_crypt_open_payload(reader, 5, 2, stored, 0, back, &err), &err);
        mldfi_crypt_free(writer);
        mldfi_crypt_free(reader);
        mldfi_crypt_free(other);
    }
}

static void every_flipped_bit_of_a_payload_is_found(void) {
    struct crypt *crypt;
    uint8_t stored[20 + 40], back[20];
    mldf_error err;
    REQUIRE_OK(mldfi_crypt_new(&crypt, &by_key, &err), &err);
    REQUIRE_OK(mldfi_crypt_seal(crypt, 1, 1, "twenty bytes of text", 20, stored, &err), &err);
    for (size_t bit = 0; bit < sizeof stored * 8; bit++) {
        stored[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK_STATUS(MLDF_E_TAMPERED, mldfi_crypt_open_payload(crypt, 1, 1, stored, sizeof stored, back, &err), &err);
        stored[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    CHECK_OK(mldfi_crypt_open_payload(crypt, 1, 1, stored, sizeof stored, back, &err), &err);
    mldfi_crypt_free(crypt);
}

/* ---- Chunks --------------------------------------------------------------------------------------------------------- */

enum { CHUNK = 65536, SEALED_CHUNK = CHUNK + 16 };

static void sizes_of_payloads_in_chunks(void) {
    static const uint64_t plain[] = {1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 1, UINT64_C(1) << 40};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        uint64_t chunks = (plain[i] + CHUNK - 1) / CHUNK, stored = mldfi_crypt_sealed_bytes(plain[i], true);
        CHECK_EQ_U64(24 + plain[i] + 16 * chunks, stored);
        CHECK_EQ_U64(chunks, mldfi_crypt_chunk_count(stored));
        CHECK_EQ_U64(plain[i], mldfi_crypt_value_bytes(stored, true));
    }
    for (uint64_t stored = 0; stored <= 40; stored++)
        CHECK_EQ_U64(0, mldfi_crypt_value_bytes(stored, true));
    for (uint64_t more = 1; more <= 16; more++) /* a last chunk without a byte */
        CHECK_EQ_U64(0, mldfi_crypt_value_bytes(24 + SEALED_CHUNK + more, true));
    CHECK_EQ_U64(CHUNK + 1, mldfi_crypt_value_bytes(24 + SEALED_CHUNK + 17, true));
}

static void chunks_open_alone_and_only_in_their_place(void) {
    enum { BYTES = 2 * CHUNK + 100, COUNT = 3 };
    struct crypt *crypt;
    mldf_error err;
    uint8_t *plain = malloc(BYTES), *stored = malloc(BYTES + 24 + 16 * COUNT), *out = malloc(BYTES);
    REQUIRE(plain && stored && out);
    for (size_t i = 0; i < BYTES; i++)
        plain[i] = (uint8_t)(i * 31 + i / 977);
    REQUIRE_OK(mldfi_crypt_new(&crypt, &by_key, &err), &err);
    REQUIRE_OK(mldfi_crypt_seal_chunks(crypt, 7, 3, plain, BYTES, stored, &err), &err);
    const uint8_t *chunks = stored + 24;
    for (uint64_t first = 0; first < COUNT; first++)
        for (uint64_t count = 1; first + count <= COUNT; count++) {
            struct crypt_chunks which = {7, 3, first, count, COUNT};
            uint64_t end = first + count == COUNT ? BYTES : (first + count) * CHUNK;
            memset(out, 0, BYTES);
            CHECK_OK(mldfi_crypt_open_chunks(crypt, &which, stored, chunks + first * SEALED_CHUNK,
                                             (size_t)(end - first * CHUNK + 16 * count), out, &err),
                     &err);
            CHECK(memcmp(plain + first * CHUNK, out, (size_t)(end - first * CHUNK)) == 0);
        }
    /* The second chunk elsewhere: in another payload, in another place of this one, or as if there were more or fewer. */
    static const struct crypt_chunks wrong[] = {{8, 3, 1, 1, COUNT}, {7, 4, 1, 1, COUNT}, {7, 3, 0, 1, COUNT},
                                                {7, 3, 2, 1, COUNT}, {7, 3, 1, 1, 2},     {7, 3, 1, 1, 4}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_STATUS(MLDF_E_TAMPERED,
                     mldfi_crypt_open_chunks(crypt, &wrong[i], stored, chunks + SEALED_CHUNK, SEALED_CHUNK, out, &err),
                     &err);
        CHECK_EQ_U64(wrong[i].first, err.offset);
    }
    struct crypt_chunks right = {7, 3, 2, 1, COUNT};
    for (size_t cut = 1; cut < 116; cut += 7) /* and shorter than it was */
        CHECK_STATUS(MLDF_E_TAMPERED,
                     mldfi_crypt_open_chunks(crypt, &right, stored, chunks + 2 * SEALED_CHUNK, 116 - cut, out, &err),
                     &err);
    mldfi_crypt_free(crypt);
    free(plain);
    free(stored);
    free(out);
}

static void new_refuses_secrets_that_are_none(void) {
    static const mldf_secret neither = {0}, both = {key_bytes, 32, "x", 1}, short_key = {key_bytes, 31, NULL, 0},
                             long_key = {key_bytes, 33, NULL, 0}, empty = {NULL, 0, "", 0};
    const mldf_secret *bad[] = {NULL, &neither, &both, &short_key, &long_key, &empty};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct crypt *crypt = (struct crypt *)(uintptr_t)1;
        mldf_error err;
        CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_crypt_new(&crypt, bad[i], &err), &err);
        CHECK(crypt == NULL);
    }
}

static void open_tells_a_missing_key_from_a_wrong_one(void) {
    static const uint8_t wrong_bytes[32] = {1};
    static const mldf_secret neither = {0}, wrong_key = {wrong_bytes, 32, NULL, 0},
                             wrong_phrase = {NULL, 0, "incorrect", 9}, short_key = {wrong_bytes, 5, NULL, 0};
    struct crypt *crypt, *opened;
    uint8_t section[160], phrase_section[160];
    mldf_error err;
    REQUIRE_OK(mldfi_crypt_new(&crypt, &by_key, &err), &err);
    mldfi_crypt_section(crypt, section);
    mldfi_crypt_free(crypt);
    REQUIRE_OK(mldfi_crypt_new(&crypt, &by_phrase, &err), &err);
    mldfi_crypt_section(crypt, phrase_section);
    mldfi_crypt_free(crypt);
    CHECK_STATUS(MLDF_E_KEY_MISSING, mldfi_crypt_open(&opened, section, NULL, &err), &err);
    CHECK_EQ_U64(0, err.offset);
    CHECK_STATUS(MLDF_E_KEY_MISSING, mldfi_crypt_open(&opened, section, &neither, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_crypt_open(&opened, section, &short_key, &err), &err);
    CHECK_STATUS(MLDF_E_KEY_WRONG, mldfi_crypt_open(&opened, section, &wrong_key, &err), &err);
    CHECK_EQ_U64(80, err.offset);
    CHECK(opened == NULL);
    CHECK_STATUS(MLDF_E_KEY_WRONG, mldfi_crypt_open(&opened, phrase_section, &wrong_phrase, &err), &err);
    CHECK_EQ_U64(80, err.offset);
    CHECK_STATUS(MLDF_E_KEY_WRONG, mldfi_crypt_open(&opened, section, &by_phrase, &err), &err);
    CHECK_EQ_U64(4, err.offset);
    CHECK_STATUS(MLDF_E_KEY_WRONG, mldfi_crypt_open(&opened, phrase_section, &by_key, &err), &err);
    CHECK_EQ_U64(4, err.offset);
    /* File id, nonce and wrapped key take part in the unwrapping. */
    static const size_t places[] = {8, 23, 56, 79, 80, 127};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        section[places[i]] ^= 0x80;
        CHECK_STATUS(MLDF_E_KEY_WRONG, mldfi_crypt_open(&opened, section, &by_key, &err), &err);
        section[places[i]] ^= 0x80;
    }
}

static void open_refuses_costs_and_numbers_out_of_bounds(void) {
    static const struct {
        size_t offset;
        uint64_t value;
        mldf_status status;
    } cases[] = {{40, 0, MLDF_E_LIMIT},         {40, 17, MLDF_E_LIMIT}, {40, UINT64_MAX, MLDF_E_LIMIT},
                 {48, 8191, MLDF_E_LIMIT},      {48, 0, MLDF_E_LIMIT},  {48, (UINT64_C(1) << 30) + 1, MLDF_E_LIMIT},
                 {48, UINT64_MAX, MLDF_E_LIMIT}};
    struct crypt *crypt, *opened;
    uint8_t section[160], changed[160];
    mldf_error err;
    REQUIRE_OK(mldfi_crypt_new(&crypt, &by_phrase, &err), &err);
    mldfi_crypt_section(crypt, section);
    mldfi_crypt_free(crypt);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memcpy(changed, section, sizeof changed);
        mldfi_store_u64(changed + cases[i].offset, cases[i].value);
        CHECK_STATUS(cases[i].status, mldfi_crypt_open(&opened, changed, &by_phrase, &err), &err);
        CHECK_EQ_U64(cases[i].offset, err.offset);
    }
    memcpy(changed, section, sizeof changed);
    changed[0] = 2;
    CHECK_STATUS(MLDF_E_FEATURE, mldfi_crypt_open(&opened, changed, &by_phrase, &err), &err);
    CHECK_EQ_U64(0, err.offset);
    changed[0] = 1;
    changed[4] = 2;
    CHECK_STATUS(MLDF_E_FEATURE, mldfi_crypt_open(&opened, changed, &by_phrase, &err), &err);
    CHECK_EQ_U64(4, err.offset);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(section_has_the_pinned_layout);
    RUN(payload_opens_by_hand_with_the_keys_of_the_specification);
    RUN(a_section_made_by_hand_opens);
    RUN(payloads_come_back_and_are_bound_to_their_place);
    RUN(every_flipped_bit_of_a_payload_is_found);
    RUN(sizes_of_payloads_in_chunks);
    RUN(chunks_open_alone_and_only_in_their_place);
    RUN(new_refuses_secrets_that_are_none);
    RUN(open_tells_a_missing_key_from_a_wrong_one);
    RUN(open_refuses_costs_and_numbers_out_of_bounds);
    return check_end();
}
#else
static void without_libsodium_encryption_is_unsupported(void) {
    static const uint8_t section[160] = {1};
    static const mldf_secret secret = {section, 32, NULL, 0};
    struct crypt *crypt;
    mldf_error err;
    CHECK(!mldfi_crypt_available());
    CHECK_STATUS(MLDF_E_UNSUPPORTED, mldfi_crypt_new(&crypt, &secret, &err), &err);
    CHECK_CONTAINS("libsodium", TEXT(err));
    CHECK_STATUS(MLDF_E_UNSUPPORTED, mldfi_crypt_open(&crypt, section, &secret, &err), &err);
    CHECK(crypt == NULL);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(without_libsodium_encryption_is_unsupported);
    return check_end();
}
#endif
