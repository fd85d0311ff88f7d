/* SHA-256 against FIPS 180-4's examples, and at every length around the padding. */
#include "check.h"
#include "mldf/base.h"

static const char *hex(const void *data, size_t bytes) {
    static char out[65];
    uint8_t digest[32];
    mldf_sha256(data, bytes, digest);
    for (size_t i = 0; i < 32; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
    return out;
}

static void known_digests(void) {
    static char million[1000000];
    memset(million, 'a', sizeof million);
    CHECK_EQ_STR("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", hex(NULL, 0));
    CHECK_EQ_STR("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", hex("abc", 3));
    CHECK_EQ_STR("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
                 hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56));
    CHECK_EQ_STR("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", hex(million, sizeof million));
}

/* Digest of the digests of "aaa..." of 0 to 130 bytes; from Python's hashlib. */
static void every_length_around_the_padding(void) {
    char text[131];
    uint8_t all[131 * 32];
    memset(text, 'a', sizeof text);
    for (size_t n = 0; n <= 130; n++)
        mldf_sha256(text, n, all + 32 * n);
    CHECK_EQ_STR("f908a43fc8456c583aacde0fb2627959f8513dc76d0c03979b7f945a7dd78f22", hex(all, sizeof all));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(known_digests);
    RUN(every_length_around_the_padding);
    return check_end();
}
