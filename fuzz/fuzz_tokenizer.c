/* The input is what the program of an "exec:" tokenizer writes. Its first byte says what it was asked: 0 its hello; 1 to 127, ids of so many documents;
 * from 128, the text of ids. What is taken must keep its promises: counts that sum up, special ids in the vocabulary. */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/tokenizer_protocol.h"
#include "util/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *data;
    size_t left;
};

static void require(int good) {
    if (!good)
        abort();
}

static mldf_status take(void *user, void *dst, size_t bytes, mldf_error *err) {
    struct input *in = user;
    if (bytes > in->left)
        return mldfi_fail(err, MLDF_E_IO, "the input ends");
    if (bytes)
        memcpy(dst, in->data, bytes);
    in->data += bytes;
    in->left -= bytes;
    return MLDF_OK;
}

static void hello(const uint8_t *data, size_t size) {
    mldf_tokenizer t;
    mldf_error err;
    memset(&t, 0, sizeof t);
    t.info = (mldf_tokenizer_info){t.name, NULL, 0, -1, -1, -1, "text", false};
    mldf_status status = mldfi_protocol_hello(&t, (const char *)data, size, &err);
    require(status == MLDF_OK || status == MLDF_E_IO || status == MLDF_E_MEMORY);
    if (status == MLDF_OK) {
        require(t.name[0] && t.info.vocabulary >= 1 && t.info.vocabulary <= UINT64_C(1) << 31);
        require(t.info.eos < (int64_t)t.info.vocabulary && t.info.bos < (int64_t)t.info.vocabulary);
        require(!t.info.sha256 || strlen(t.info.sha256) == 64);
    }
}

static void ids(struct protocol_source *source, size_t documents) {
    enum { BYTES = 64 };
    static const char text[BYTES + 1] = "0123456789012345678901234567890123456789012345678901234567890123";
    const char *texts[128];
    size_t bytes[128];
    uint32_t counts[128];
    uint64_t sum = 0;
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    for (size_t i = 0; i < documents; i++)
        texts[i] = text, bytes[i] = BYTES;
    struct tokenizer_texts asked = {texts, bytes, documents, documents * BYTES};
    mldf_status status = mldfi_protocol_ids(source, &asked, counts, &out, &err);
    for (size_t i = 0; status == MLDF_OK && i < documents; i++)
        sum += counts[i];
    require(status != MLDF_OK || sum * 4 == out.size);
    require(status != MLDF_E_RANGE || err.sample < documents);
    mldf_buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_error err;
    if (size == 0)
        return 0;
    struct input in = {data + 1, size - 1};
    struct protocol_source source = {take, &in};
    if (data[0] == 0)
        hello(data + 1, size - 1);
    else if (data[0] < 128)
        ids(&source, data[0]);
    else
        (void)mldfi_protocol_text(&source, data[0] - 127u, &text, &err);
    mldf_buffer_free(&text);
    return 0;
}
