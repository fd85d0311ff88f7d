/* What goes through the pipes of an "exec:" tokenizer, little-endian; docs/tokenizers.md is the specification.
 *
 *     hello       one line of JSON: {"mldf_tokenizer":1, "name", "sha256"|null, "vocabulary", "bos", "eos", "pad", "specials", "decode"}
 *     encode      {u32 n, u32 0, u64 bytes, u32 length[n], UTF-8}
 *     answer      {u32 n, u32 0, u64 ids, u32 count[n], u32 ids[]}
 *     decode      {u32 n, u32 2, u64 ids, u32 count[n], u32 ids[]}         only when the hello says "decode": true
 *     answer      {u32 n, u32 2, u64 bytes, u32 length[n], UTF-8}
 *     refusal     {u32 index, u32 1, u64 bytes, message}                   of the document `index` of the request
 *
 * The functions here know no process: they read through a function, so that a fuzzer can be the program. */
#ifndef MLDF_TOKENIZER_PROTOCOL_H
#define MLDF_TOKENIZER_PROTOCOL_H

#include "tokenizer/tokenizer.h"

enum { PROTOCOL_HELLO_MAX = 64 << 10, PROTOCOL_MESSAGE_MAX = 64 << 10, PROTOCOL_HEAD = 16 };
enum { PROTOCOL_ENCODE = 0, PROTOCOL_REFUSAL = 1, PROTOCOL_DECODE = 2 };

/* Fills in t->info, name and sha256. MLDF_E_IO says what is wrong. */
mldf_status mldfi_protocol_hello(mldf_tokenizer *t, const char *line, size_t bytes, mldf_error *err);
mldf_status mldfi_protocol_encode(const struct tokenizer_texts *texts, mldf_buffer *out, mldf_error *err);
mldf_status mldfi_protocol_decode(const uint32_t *ids, size_t count, mldf_buffer *out, mldf_error *err);

struct protocol_source {
    mldf_status (*read)(void *user, void *dst, size_t bytes, mldf_error *err); /* exactly so many */
    void *user;
};
/* MLDF_E_IO: nonsense. MLDF_E_RANGE: a refusal, whose document is err->sample. */
mldf_status mldfi_protocol_ids(const struct protocol_source *source, const struct tokenizer_texts *asked,
                               uint32_t *counts, mldf_buffer *ids, mldf_error *err);
mldf_status mldfi_protocol_text(const struct protocol_source *source, size_t asked_ids, mldf_buffer *text,
                                mldf_error *err);

#endif
