/* CRC-32C: known answers, and every variant against a bit-by-bit reference. */
#include "check.h"
#include "util/crc32c.h"

static uint32_t reference(uint32_t crc, const uint8_t *p, size_t bytes) {
    crc = ~crc;
    for (; bytes > 0; p++, bytes--) {
        crc ^= *p;
        for (int i = 0; i < 8; i++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    }
    return ~crc;
}

static size_t variants(mldfi_crc32c_fn out[3]) {
    size_t count = 0;
    out[count++] = mldfi_crc32c;
    out[count++] = mldfi_crc32c_portable;
    if (mldfi_crc32c_hardware())
        out[count++] = mldfi_crc32c_hardware();
    return count;
}

static void crc32c_gives_the_published_answers(void) {
    uint8_t zeros[32] = {0}, ones[32], up[32], down[32];
    /* From RFC 3720, B.4: an iSCSI read command. */
    static const uint8_t iscsi[48] = {0x01, 0xc0, 0, 0, 0, 0, 0,    0, 0,    0, 0, 0,    0, 0, 0, 0,
                                      0x14, 0,    0, 0, 0, 0, 0x04, 0, 0,    0, 0, 0x14, 0, 0, 0, 0x18,
                                      0x28, 0,    0, 0, 0, 0, 0,    0, 0x02, 0, 0, 0,    0, 0, 0, 0};
    mldfi_crc32c_fn crc[3];
    size_t count = variants(crc);
    memset(ones, 0xFF, sizeof ones);
    for (int i = 0; i < 32; i++) {
        up[i] = (uint8_t)i;
        down[i] = (uint8_t)(31 - i);
    }
    for (size_t v = 0; v < count; v++) {
        CHECK_EQ_U64(0, crc[v](0, NULL, 0));
        CHECK_EQ_U64(0xC1D04330u, crc[v](0, "a", 1));
        CHECK_EQ_U64(0xE3069283u, crc[v](0, "123456789", 9));
        CHECK_EQ_U64(0x8A9136AAu, crc[v](0, zeros, 32));
        CHECK_EQ_U64(0x62A8AB43u, crc[v](0, ones, 32));
        CHECK_EQ_U64(0x46DD794Eu, crc[v](0, up, 32));
        CHECK_EQ_U64(0x113FDB5Cu, crc[v](0, down, 32));
        CHECK_EQ_U64(0xD9963A56u, crc[v](0, iscsi, 48));
    }
}

static void crc32c_agrees_with_the_reference_at_every_length_and_alignment(void) {
    static uint8_t data[1024 + 16];
    uint64_t state = check_seed();
    mldfi_crc32c_fn crc[3];
    size_t count = variants(crc);
    check_rand_bytes(&state, data, sizeof data);
    for (size_t align = 0; align < 16; align++) {
        for (size_t bytes = 0; bytes <= 1024; bytes++) {
            uint32_t start = (uint32_t)check_rand(&state);
            uint32_t want = reference(start, data + align, bytes);
            for (size_t v = 0; v < count; v++)
                CHECK_EQ_U64(want, crc[v](start, data + align, bytes));
        }
    }
}

static void crc32c_agrees_with_the_reference_on_long_buffers(void) {
    enum { BYTES = 200000 };
    uint8_t *data = malloc(BYTES);
    uint64_t state = check_seed();
    mldfi_crc32c_fn crc[3];
    size_t count = variants(crc);
    REQUIRE(data != NULL);
    check_rand_bytes(&state, data, BYTES);
    for (int round = 0; round < 60; round++) {
        size_t from = check_rand_below(&state, 64), bytes = check_rand_below(&state, BYTES - 64);
        uint32_t start = (uint32_t)check_rand(&state);
        uint32_t want = reference(start, data + from, bytes);
        for (size_t v = 0; v < count; v++)
            CHECK_EQ_U64(want, crc[v](start, data + from, bytes));
    }
    /* Around the sizes where the hardware variants change their step. */
    static const size_t edges[] = {768, 1536, 12288, 12288 + 768, 24576};
    for (size_t e = 0; e < sizeof edges / sizeof edges[0]; e++)
        for (size_t bytes = edges[e] - 9; bytes <= edges[e] + 9; bytes++)
            for (size_t v = 0; v < count; v++)
                CHECK_EQ_U64(reference(0, data, bytes), crc[v](0, data, bytes));
    free(data);
}

static void crc32c_of_two_parts_continues(void) {
    static uint8_t data[30000];
    uint64_t state = check_seed();
    check_rand_bytes(&state, data, sizeof data);
    uint32_t whole = mldfi_crc32c(0, data, sizeof data);
    for (int round = 0; round < 100; round++) {
        size_t cut = check_rand_below(&state, sizeof data + 1);
        CHECK_EQ_U64(whole, mldfi_crc32c(mldfi_crc32c(0, data, cut), data + cut, sizeof data - cut));
        CHECK_EQ_U64(whole, mldfi_crc32c(mldfi_crc32c_portable(0, data, cut), data + cut, sizeof data - cut));
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(crc32c_gives_the_published_answers);
    RUN(crc32c_agrees_with_the_reference_at_every_length_and_alignment);
    RUN(crc32c_agrees_with_the_reference_on_long_buffers);
    RUN(crc32c_of_two_parts_continues);
    return check_end();
}
