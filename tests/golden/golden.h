/* What the golden tests share: manifests as trees, SHA-256 (so that they need no library that the build may lack), keys. */
#ifndef MLDF_TESTS_GOLDEN_H
#define MLDF_TESTS_GOLDEN_H

#include "check.h"
#include "mldf/mldf.h"
#include "util/bytes.h"
#include "util/json.h"

/* ---- SHA-256 (FIPS 180-4), short rather than fast ------------------------------------------------------------------- */

static const uint32_t golden_k_[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t golden_rotate_(uint32_t x, unsigned n) {
    return x >> n | x << (32 - n);
}

static void golden_block_(uint32_t h[8], const uint8_t *p) {
    uint32_t w[64], s[8];
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (size_t i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (golden_rotate_(a, 7) ^ golden_rotate_(a, 18) ^ a >> 3) + w[i - 7] +
               (golden_rotate_(b, 17) ^ golden_rotate_(b, 19) ^ b >> 10);
    }
    memcpy(s, h, sizeof s);
    for (size_t i = 0; i < 64; i++) {
        uint32_t e = s[4], a = s[0];
        uint32_t t1 = s[7] + (golden_rotate_(e, 6) ^ golden_rotate_(e, 11) ^ golden_rotate_(e, 25)) +
                      ((e & s[5]) ^ (~e & s[6])) + golden_k_[i] + w[i];
        uint32_t t2 = (golden_rotate_(a, 2) ^ golden_rotate_(a, 13) ^ golden_rotate_(a, 22)) +
                      ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (size_t i = 0; i < 8; i++)
        h[i] += s[i];
}

CHECK_UNUSED static const char *golden_sha256(const void *data, size_t bytes, char out[65]) {
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const uint8_t *p = (const uint8_t *)data;
    uint8_t last[128] = {0};
    size_t whole = bytes / 64 * 64, rest = bytes - whole, padded = rest < 56 ? 64 : 128;
    for (size_t i = 0; i < whole; i += 64)
        golden_block_(h, p + i);
    if (rest)
        memcpy(last, p + whole, rest);
    last[rest] = 0x80;
    for (size_t i = 0; i < 8; i++)
        last[padded - 1 - i] = (uint8_t)((uint64_t)bytes * 8 >> (8 * i));
    for (size_t i = 0; i < padded; i += 64)
        golden_block_(h, last + i);
    for (size_t i = 0; i < 8; i++)
        snprintf(out + 8 * i, 9, "%08" PRIx32, h[i]);
    return out;
}

/* ---- JSON files ------------------------------------------------------------------------------------------------------ */

struct golden_json {
    struct json tree;
    char *text;
};

CHECK_UNUSED static bool golden_load(struct golden_json *out, const char *path) {
    size_t bytes;
    mldf_error err;
    memset(out, 0, sizeof *out);
    out->text = (char *)check_read_file(path, &bytes);
    if (!out->text) {
        check_fail(__FILE__, __LINE__, "%s cannot be read", path);
        return false;
    }
    if (mldfi_json_parse(&out->tree, out->text, bytes, &err) == MLDF_OK)
        return true;
    check_fail(__FILE__, __LINE__, "%s: %s", path, err.message);
    return false;
}

CHECK_UNUSED static void golden_free(struct golden_json *json) {
    mldfi_json_free(&json->tree);
    free(json->text);
}

/* Text of a member, copied into out; "" when it is null or missing. */
CHECK_UNUSED static const char *golden_text(const struct json *json, uint32_t object, const char *key, char *out,
                                            size_t room) {
    uint32_t at = mldfi_json_find(json, object, key);
    out[0] = 0;
    if (at != UINT32_MAX && json->nodes[at].kind == MLDFI_JSON_STRING)
        snprintf(out, room, "%.*s", (int)json->nodes[at].text_bytes, json->nodes[at].text);
    return out;
}

/* Number of a member, or MLDF_NONE when it is null or missing. */
CHECK_UNUSED static uint64_t golden_number(const struct json *json, uint32_t object, const char *key) {
    uint32_t at = mldfi_json_find(json, object, key);
    uint64_t value;
    return at != UINT32_MAX && mldfi_json_u64(json, at, &value) ? value : MLDF_NONE;
}

CHECK_UNUSED static bool golden_true(const struct json *json, uint32_t object, const char *key) {
    uint32_t at = mldfi_json_find(json, object, key);
    return at != UINT32_MAX && json->nodes[at].kind == MLDFI_JSON_TRUE;
}

/* ---- Keys -------------------------------------------------------------------------------------------------------------- */

struct golden_secret {
    uint8_t key[32];
    char passphrase[128];
    mldf_secret secret;
};

/* From a manifest's entry: "key" in hexadecimal, "passphrase" as it is. */
CHECK_UNUSED static mldf_secret golden_secret(const struct json *json, uint32_t entry, struct golden_secret *out) {
    char hex[65];
    memset(out, 0, sizeof *out);
    if (golden_text(json, entry, "key", hex, sizeof hex)[0]) {
        for (size_t i = 0; i < 32; i++) {
            char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
            out->key[i] = (uint8_t)strtoul(two, NULL, 16);
        }
        out->secret.key = out->key;
        out->secret.key_bytes = sizeof out->key;
    }
    if (golden_text(json, entry, "passphrase", out->passphrase, sizeof out->passphrase)[0]) {
        out->secret.passphrase = out->passphrase;
        out->secret.passphrase_bytes = strlen(out->passphrase);
    }
    return out->secret;
}

CHECK_UNUSED static bool golden_can_decrypt(void) {
    return strstr(mldf_build_features(), "sodium") != NULL;
}

#endif
