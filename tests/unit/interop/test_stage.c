/* Stages: the same bytes come out, whether they went into a file, into memory, or through a temporary file. */
#include "check.h"
#include "interop/staging.h"

/* Pushes pieces of all sizes, holes and patches, and keeps the same in memory. */
static void play(struct stage *stage, uint8_t *want, size_t *want_bytes, uint64_t seed) {
    static uint8_t piece[STAGE_BUFFER + 5000];
    mldf_error err;
    size_t at = 0;
    for (int i = 0; i < 40; i++) {
        size_t bytes = check_rand_below(&seed, i % 10 == 9 ? sizeof piece : 3000);
        check_rand_bytes(&seed, piece, bytes < 3000 ? bytes : 3000);
        CHECK_OK(mldfi_stage_push(stage, piece, bytes, &err), &err);
        memcpy(want + at, piece, bytes);
        at += bytes;
        size_t hole = check_rand_below(&seed, i % 7 == 6 ? 200000 : 100);
        CHECK_OK(mldfi_stage_skip(stage, hole, &err), &err);
        memset(want + at, 0, hole);
        at += hole;
        CHECK_EQ_U64(at, mldfi_stage_bytes(stage));
        size_t patch = check_rand_below(&seed, at < 500 ? at : 500), where = check_rand_below(&seed, at - patch + 1);
        if (i % 3 == 0) /* across the border between file and memory, if there is one */
            where = stage->flushed > patch / 2 && stage->flushed + patch < at ? stage->flushed - patch / 2 : where;
        check_rand_bytes(&seed, piece, patch);
        CHECK_OK(mldfi_stage_patch(stage, where, piece, patch, &err), &err);
        memcpy(want + where, piece, patch);
        uint8_t back[500];
        CHECK_OK(mldfi_stage_read(stage, where, back, patch, &err), &err);
        CHECK_MEM_EQ(want + where, back, patch);
    }
    *want_bytes = at;
}

static void bytes_come_out_as_they_went_in(void) {
    uint64_t seed = check_seed();
    uint8_t *want = malloc(32 << 20);
    for (int aside = 0; aside < 2; aside++) {
        struct os_file file = OS_FILE_NONE;
        struct stage stage = STAGE_NONE;
        mldf_error err;
        size_t bytes;
        const char *target = check_tmp("target");
        REQUIRE_OK(mldfi_file_create_beside(&file, target, &err), &err);
        if (aside)
            mldfi_stage_beside(&stage, target);
        else
            mldfi_stage_into(&stage, &file, 1000);
        play(&stage, want, &bytes, seed);
        if (aside)
            CHECK_OK(mldfi_stage_copy(&stage, &file, 1000, &err), &err);
        else
            CHECK_OK(mldfi_stage_flush(&stage, &err), &err);
        uint8_t *got = malloc(bytes);
        CHECK_OK(mldfi_file_read(&file, 1000, got, bytes, &err), &err);
        CHECK(memcmp(want, got, bytes) == 0);
        free(got);
        mldfi_stage_free(&stage);
        mldfi_file_discard(&file);
    }
    free(want);
}

static void few_bytes_make_no_temporary_file(void) {
    struct stage stage;
    mldf_error err;
    mldfi_stage_beside(&stage, "/nonexistent/folder/target");
    CHECK_OK(mldfi_stage_push(&stage, "abc", 3, &err), &err);
    CHECK_EQ_U64(3, mldfi_stage_bytes(&stage));
    static uint8_t large[STAGE_BUFFER];
    CHECK_STATUS(MLDF_E_NOT_FOUND, mldfi_stage_push(&stage, large, sizeof large, &err), &err);
    mldfi_stage_free(&stage);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(bytes_come_out_as_they_went_in);
    RUN(few_bytes_make_no_temporary_file);
    return check_end();
}
