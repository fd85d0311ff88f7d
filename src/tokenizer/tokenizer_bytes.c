/* The tokenizer "bytes": ids are the bytes of the UTF-8 text. Needs nothing, loses nothing; byte-level models use it as it is. */
#include <stdio.h>
#include <string.h>

#include "tokenizer/tokenizer.h"
#include "util/buffer.h"
#include "util/error.h"

static mldf_status bytes_open(mldf_tokenizer *t, const char *argument, mldf_error *err) {
    if (*argument)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "bytes takes no argument");
    (void)snprintf(t->name, sizeof t->name, "bytes");
    t->info.vocabulary = 256;
    t->info.decodes = true;
    return MLDF_OK;
}

static mldf_status bytes_encode(mldf_tokenizer *t, const struct tokenizer_texts *texts, uint32_t *counts,
                                mldf_buffer *ids, const struct tokenizer_cancel *cancel, mldf_error *err) {
    uint8_t *to;
    (void)t;
    (void)cancel;
    TRY(mldfi_buffer_extend(ids, (size_t)texts->total * 4, &to, err));
    for (size_t i = 0; i < texts->count; i++) {
        counts[i] = (uint32_t)texts->bytes[i];
        for (size_t k = 0; k < texts->bytes[i]; k++, to += 4) {
            uint32_t id = (unsigned char)texts->texts[i][k];
            memcpy(to, &id, sizeof id);
        }
    }
    return MLDF_OK;
}

static mldf_status bytes_decode(mldf_tokenizer *t, const uint32_t *ids, size_t count, mldf_buffer *text,
                                mldf_error *err) {
    uint8_t *to;
    (void)t;
    mldf_status status = mldfi_buffer_extend(text, count, &to, err);
    for (size_t i = 0; status == MLDF_OK && i < count; i++)
        to[i] = (uint8_t)ids[i];
    return status;
}

static void bytes_close(mldf_tokenizer *t) {
    (void)t;
}

const struct tokenizer_type mldfi_tokenizer_bytes = {
    .name = "bytes",
    .identity = true,
    .open = bytes_open,
    .encode = bytes_encode,
    .decode = bytes_decode,
    .close = bytes_close,
};
