/* base64: RFC 4648's examples both ways, and what is none. */
#include "check.h"
#include "util/base64.h"
#include "util/buffer.h"

static void base64_is_decoded_or_refused(void) {
    static const struct {
        const char *text, *want;
    } good[] = {{"", ""},
                {"TQ==", "M"},
                {"TQ", "M"},
                {"TWE=", "Ma"},
                {"TWFu", "Man"},
                {"TWFuTWE", "ManMa"},
                {"+/+/", "\xfb\xff\xbf"}};
    static const char *const bad[] = {"T", "TQ=", "TQ===", "T?==", "TR==", "=", "TWFuT"};
    mldf_buffer out = MLDF_BUFFER_INIT;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        out.size = 0;
        CHECK(mldfi_base64_decode(good[i].text, strlen(good[i].text), &out));
        CHECK_BYTES_EQ(good[i].want, strlen(good[i].want), out.data, out.size);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!mldfi_base64_decode(bad[i], strlen(bad[i]), &out));
    mldf_buffer_free(&out);
}

static void encoding_is_undone_by_decoding(void) {
    static const char *const want[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
    mldf_buffer text = MLDF_BUFFER_INIT, back = MLDF_BUFFER_INIT;
    mldf_error err;
    uint64_t state = check_seed();
    for (size_t i = 0; i < 7; i++) {
        text.size = 0;
        CHECK_OK(mldfi_base64_encode((const uint8_t *)"foobar", i, &text, &err), &err);
        CHECK_BYTES_EQ(want[i], strlen(want[i]), text.data, text.size);
    }
    for (size_t n = 0; n < 300; n++) {
        uint8_t data[300];
        for (size_t i = 0; i < n; i++)
            data[i] = (uint8_t)check_rand(&state);
        text.size = back.size = 0;
        CHECK_OK(mldfi_base64_encode(data, n, &text, &err), &err);
        CHECK_EQ_U64((n + 2) / 3 * 4, text.size);
        CHECK(mldfi_base64_decode((const char *)text.data, text.size, &back));
        CHECK_BYTES_EQ(data, n, back.data, back.size);
    }
    mldf_buffer_free(&text);
    mldf_buffer_free(&back);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(base64_is_decoded_or_refused);
    RUN(encoding_is_undone_by_decoding);
    return check_end();
}
