/* The ordered pool: jobs come out in the order in which they went in, whoever ran them and however long it took. */
#include "check.h"
#include "os/ordered_pool.h"

struct job {
    uint64_t number, square;
    unsigned wait;
};

/* What a thread keeps: how many jobs it ran. */
struct worker {
    uint64_t jobs;
};

static void run(void *worker, void *slot) {
    struct job *job = slot;
    ((struct worker *)worker)->jobs++;
    if (job->wait)
        usleep(job->wait);
    job->square = job->number * job->number;
}

static void jobs_come_out_in_order(void) {
    uint64_t seed = check_seed();
    for (unsigned threads = 0; threads <= 5; threads++) {
        struct job slots[7] = {0};
        struct pool *pool;
        mldf_error err;
        uint64_t in = 0, out = 0;
        struct worker workers[5] = {0};
        struct pool_work work = {run, slots, 7, sizeof slots[0], workers, sizeof workers[0]};
        REQUIRE_OK(mldfi_pool_new(&pool, threads, &work, &err), &err);
        CHECK(mldfi_pool_oldest(pool) == NULL);
        while (out < 500) {
            struct job *job = in < 500 ? mldfi_pool_slot(pool) : NULL;
            if (job && check_rand_below(&seed, 5)) {
                *job = (struct job){.number = in++, .wait = (unsigned)check_rand_below(&seed, 200)};
                mldfi_pool_submit(pool);
                continue;
            }
            if (check_rand_below(&seed, 2) && !mldfi_pool_wait_ms(pool, 1))
                continue;
            job = mldfi_pool_oldest(pool);
            if (!job)
                continue;
            CHECK_EQ_U64(out, job->number);
            CHECK_EQ_U64(out * out, job->square);
            out++;
            mldfi_pool_release(pool);
        }
        CHECK(mldfi_pool_oldest(pool) == NULL);
        CHECK(mldfi_pool_wait_ms(pool, 0));
        mldfi_pool_free(pool);
        uint64_t jobs = 0;
        for (size_t i = 0; i < 5; i++)
            jobs += workers[i].jobs;
        CHECK_EQ_U64(500, jobs);
    }
}

static void a_pool_with_work_left_can_be_freed(void) {
    struct job slots[4] = {0};
    struct pool *pool;
    mldf_error err;
    struct worker workers[2] = {0};
    struct pool_work work = {run, slots, 4, sizeof slots[0], workers, sizeof workers[0]};
    REQUIRE_OK(mldfi_pool_new(&pool, 2, &work, &err), &err);
    for (int i = 0; i < 4; i++) {
        struct job *job = mldfi_pool_slot(pool);
        REQUIRE(job != NULL);
        job->wait = 2000;
        mldfi_pool_submit(pool);
    }
    CHECK(mldfi_pool_slot(pool) == NULL);
    mldfi_pool_free(pool);
    mldfi_pool_free(NULL);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(jobs_come_out_in_order);
    RUN(a_pool_with_work_left_can_be_freed);
    return check_end();
}
