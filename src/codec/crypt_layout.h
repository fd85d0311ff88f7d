/* Section 9 as bytes: where its members stand. docs/spec/format.md is the authority. */
#ifndef MLDF_CODEC_CRYPT_LAYOUT_H
#define MLDF_CODEC_CRYPT_LAYOUT_H

enum {
    SECTION_ALGORITHM = 0,
    SECTION_KDF = 4,
    SECTION_FILE_ID = 8,
    SECTION_SALT = 24,
    SECTION_OPSLIMIT = 40,
    SECTION_MEMLIMIT = 48,
    SECTION_NONCE = 56,
    SECTION_WRAPPED = 80,
    SECTION_MAC = 128,

    ALGORITHM_XCHACHA20_POLY1305 = 1,
    KDF_RAW_KEY = 0,
    KDF_ARGON2ID13 = 1,

    FILE_ID_BYTES = 16,
    SALT_BYTES = 16,
    NONCE_BYTES = 24,
    TAG_BYTES = 16,
    WRAPPED_BYTES = 48, /* file key 32 + tag 16 */

    OPSLIMIT_MAX = 16,
    MEMLIMIT_MIN = 8192,
    MEMLIMIT_MAX = 1 << 30
};

#endif
