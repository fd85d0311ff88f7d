/* A file that is appended to while others open and read it: every opening sees a whole state, the old or the new one. */
#include <pthread.h>

#include "made.h"

enum { APPENDS = 25, STEP = 20 };

static const char *path;
static atomic_bool finished;
static atomic_uint openings[2]; /* of each reader */
static atomic_bool failed;

struct look {
    mldf_backend backend;
    atomic_uint *openings;
};

static void *keep_reading(void *argument) {
    const struct look *look = argument;
    uint64_t before = 0;
    while (!atomic_load(&finished)) {
        mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
        mldf_reader *r;
        mldf_error err = {0};
        options.backend = look->backend;
        options.verify = true;
        if (mldf_reader_open(path, &options, &r, &err) < 0) {
            check_fail(__FILE__, __LINE__, "opening: %s", err.message);
            atomic_store(&failed, true);
            break;
        }
        uint64_t n = mldf_reader_sample_count(r);
        if (n < before || n % STEP != 0)
            check_fail(__FILE__, __LINE__, "%" PRIu64 " samples after %" PRIu64, n, before);
        before = n;
        for (uint64_t i = 0; i < n; i += 7)
            if (!made_is(r, i, i, &err))
                check_fail(__FILE__, __LINE__, "sample %" PRIu64 " of %" PRIu64 ": %s", i, n, err.message);
        mldf_reader_close(r);
        atomic_fetch_add(look->openings, 1u);
    }
    return NULL;
}

static void readers_see_whole_states_during_appends(void) {
    static struct look looks[2] = {{MLDF_BACKEND_MAP, &openings[0]}, {MLDF_BACKEND_READ, &openings[1]}};
    pthread_t threads[2];
    path = check_tmp("live.mldf");
    made_file(path, &(struct made){.samples = STEP, .keys = true});
    for (size_t i = 0; i < 2; i++)
        REQUIRE(pthread_create(&threads[i], NULL, keep_reading, &looks[i]) == 0);
    for (int i = 0; i < APPENDS; i++) {
        made_file(path, &(struct made){.samples = STEP, .keys = true, .append = true});
        if (i % 8 == 0) /* now and then all have seen the file since; otherwise they race */
            for (size_t k = 0; k < 2; k++) {
                unsigned before = atomic_load(&openings[k]);
                CHECK_SOON(atomic_load(&openings[k]) > before || atomic_load(&failed));
            }
    }
    atomic_store(&finished, true);
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CHECK(!atomic_load(&failed));
    mldf_reader *r;
    mldf_error err;
    REQUIRE_OK(mldf_reader_open(path, NULL, &r, &err), &err);
    CHECK_EQ_U64((APPENDS + 1) * STEP, mldf_reader_sample_count(r));
    mldf_reader_close(r);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(readers_see_whole_states_during_appends);
    return check_end();
}
