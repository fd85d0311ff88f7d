/* zstd for payloads: the 8-byte prefix {u32 raw-size low, u24 raw-size high, u8 codec}, then the bytes. Handles belong to one
 * thread each; a dictionary is shared. */
#ifndef MLDF_CODEC_ZSTD_H
#define MLDF_CODEC_ZSTD_H

#include "mldf/base.h"

enum { MLDFI_PREFIX_BYTES = 8, MLDFI_CODEC_STORED = 0, MLDFI_CODEC_ZSTD = 1 };
/* Raw sizes are below 2^56. */
#define MLDFI_PREFIX_MAX_RAW ((UINT64_C(1) << 56) - 1)
void mldfi_prefix_encode(uint8_t out[8], uint64_t raw_bytes, uint8_t codec);
void mldfi_prefix_decode(const uint8_t in[8], uint64_t *raw_bytes, uint8_t *codec);

struct
    zstd_dictionary; /* digested for decompression, and for compression at the levels asked for (made on first use by the owner of a compressor) */
mldf_status mldfi_zstd_dictionary_new(struct zstd_dictionary **out, const void *bytes, size_t size, mldf_error *err);
void mldfi_zstd_dictionary_free(struct zstd_dictionary *dictionary);
/* Trains a dictionary of at most 110 KiB; MLDF_END when the samples are too few to learn from, whatever the memory. Deterministic. */
mldf_status mldfi_zstd_train(const void *samples, const size_t *sizes, size_t count, mldf_buffer *out, mldf_error *err);

struct zstd_compressor;
mldf_status mldfi_zstd_compressor_new(struct zstd_compressor **out, const struct zstd_dictionary *dictionary,
                                      mldf_error *err);
void mldfi_zstd_compressor_free(struct zstd_compressor *compressor);
/* Appends prefix + bytes: codec zstd when that is smaller than raw, stored otherwise. One frame with its content size. */
mldf_status mldfi_zstd_compress(struct zstd_compressor *compressor, int level, const void *raw, size_t raw_bytes,
                                mldf_buffer *out, mldf_error *err);

/* Decompresses exactly raw_bytes into dst. Offsets in err count from the payload's first byte. */
struct zstd_decompressor;
mldf_status mldfi_zstd_decompressor_new(struct zstd_decompressor **out, mldf_error *err);
void mldfi_zstd_decompressor_free(struct zstd_decompressor *decompressor);
mldf_status mldfi_zstd_decompress(struct zstd_decompressor *decompressor, const struct zstd_dictionary *dictionary,
                                  const void *frame, size_t frame_bytes, void *dst, size_t raw_bytes, mldf_error *err);
/* Bytes of the frame that `data` begins with; 0: it is not a whole one. */
size_t mldfi_zstd_frame_bytes(const void *data, size_t bytes);
#endif
