/* Table streams: what was pushed is read back, in memory and out of it, and memory stays bounded. */
#include "check.h"
#include "writer/spill.h"

static uint8_t byte_of(uint64_t stream, uint64_t at) {
    return (uint8_t)((at * 31 + stream * 7) ^ (at >> 8));
}

static void push_many(struct spill_stream *streams, size_t count, uint64_t bytes_each, uint64_t *state) {
    mldf_error err;
    uint8_t piece[5000];
    uint64_t pushed[8] = {0};
    for (bool more = true; more;) {
        more = false;
        for (size_t s = 0; s < count; s++) {
            size_t part = 1 + check_rand(state) % sizeof piece;
            if (part > bytes_each - pushed[s])
                part = (size_t)(bytes_each - pushed[s]);
            for (size_t i = 0; i < part; i++)
                piece[i] = byte_of(s, pushed[s] + i);
            CHECK_OK(mldfi_stream_push(&streams[s], piece, part, &err), &err);
            pushed[s] += part;
            more |= pushed[s] < bytes_each;
        }
    }
}

static void check_random_reads(const struct spill_stream *stream, size_t which, uint64_t bytes, uint64_t *state) {
    mldf_error err;
    uint8_t piece[9000];
    for (int i = 0; i < 300; i++) {
        uint64_t at = check_rand(state) % bytes;
        size_t part = check_rand(state) % sizeof piece;
        if (part > bytes - at)
            part = (size_t)(bytes - at);
        REQUIRE_STATUS(MLDF_OK, mldfi_stream_read(stream, at, piece, part, &err), &err);
        for (size_t k = 0; k < part; k++)
            if (piece[k] != byte_of(which, at + k)) {
                check_fail(__FILE__, __LINE__, "stream %zu, byte %llu differs", which, (unsigned long long)(at + k));
                return;
            }
    }
}

static void streams_come_back(uint64_t bytes_each, bool spills) {
    struct spill spill;
    struct spill_stream streams[3];
    mldf_error err;
    char target[512];
    uint64_t state = check_seed();
    snprintf(target, sizeof target, "%s/target", check_tmpdir());
    REQUIRE_STATUS(MLDF_OK, mldfi_spill_init(&spill, target, &err), &err);
    for (size_t s = 0; s < 3; s++)
        mldfi_stream_init(&streams[s], &spill);
    push_many(streams, 3, bytes_each, &state);
    CHECK_EQ_INT(spills, spill.file.fd >= 0);
    CHECK(spill.buffered <= SPILL_LIMIT);
    for (size_t s = 0; s < 3; s++) {
        CHECK_EQ_U64(bytes_each, mldfi_stream_bytes(&streams[s]));
        check_random_reads(&streams[s], s, bytes_each, &state);
    }
    mldfi_spill_free(&spill);
}

static void short_streams_stay_in_memory(void) {
    streams_come_back(100000, false);
}
static void long_streams_go_through_the_file(void) {
    streams_come_back(20 << 20, true);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(short_streams_stay_in_memory);
    RUN(long_streams_go_through_the_file);
    return check_end();
}
