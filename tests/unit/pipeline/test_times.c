/* Waiting for a file's pages counts as reading, whichever step would have touched them first. Here a page that is not in memory is one that
 * may not be read: the fault handler takes its time, as a disk would, and then allows it. What was slept is a lower bound of the time that must be
 * counted, on a machine of any speed. */
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "pipeline_images.h"

enum { ROOM = 1 << 20, PAUSE_MS = 2 };

static uint8_t *disk; /* ROOM bytes */
static size_t page;
static volatile sig_atomic_t faults;

static void on_fault(int number, siginfo_t *info, void *context) {
    struct timespec left = {0, PAUSE_MS * 1000000L};
    uintptr_t at = (uintptr_t)info->si_addr, first = (uintptr_t)disk;
    (void)context;
    if (at < first || at >= first + ROOM) { /* not ours: as it would have been */
        signal(number, SIG_DFL);
        return;
    }
    faults++;
    while (nanosleep(&left, &left) != 0)
        ;
    if (mprotect((void *)(at / page * page), page, PROT_READ) != 0)
        _exit(9);
}

static void evict(void) {
    CHECK_EQ_INT(0, mprotect(disk, ROOM, PROT_NONE));
    faults = 0;
}

static struct images all;
static const uint8_t *places[IMAGES];

static mldf_status get(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                       mldf_error *err) {
    mldf_status status = images_get(user, position, field, scratch, out, err);
    if (field == 0)
        out->data = places[position % IMAGES];
    return status;
}

/* Every image to a place of its own, at the beginning of a page. */
static void fill_disk(void) {
    size_t at = 0;
    CHECK_EQ_INT(0, mprotect(disk, ROOM, PROT_READ | PROT_WRITE));
    for (size_t i = 0; i < IMAGES; i++) {
        CHECK(at + all.data[i].size <= ROOM);
        memcpy(disk + at, all.data[i].data, all.data[i].size);
        places[i] = disk + at;
        at = (at + all.data[i].size + page - 1) / page * page;
    }
}

/* Faults of a run over all images from the sample `from` on; *read: seconds of the step "read". */
static int run(const char *text, uint64_t from, bool timing, double *read) {
    struct plan_options options = {.seed = 1};
    struct plan_feed feed = {.user = &all, .get = get};
    mldf_pipeline *pipeline = NULL;
    struct plan *plan = NULL;
    struct plan_worker *worker = NULL;
    mldf_error err = {0};
    static uint8_t room[64 * 64 * 3 * 4];
    CHECK_OK(mldf_pipeline_parse(NULL, text, strlen(text), &pipeline, &err), &err);
    CHECK_OK(mldfi_plan_new(pipeline, all.schema, all.bounds, &options, &plan, &err), &err);
    CHECK_OK(mldfi_worker_new(plan, &worker, &err), &err);
    CHECK_EQ_STR("read", mldfi_plan_step_name(plan, 0));
    mldfi_worker_timing(worker, timing);
    evict();
    for (uint64_t p = from; p < IMAGES; p++) {
        struct plan_target target = {room, {{0}}};
        CHECK_OK(mldfi_plan_run(plan, worker, &feed, 0, p, &target, &err), &err);
    }
    *read = mldfi_worker_times(worker)[0];
    mldfi_worker_free(worker);
    mldfi_plan_free(plan);
    mldf_pipeline_free(pipeline);
    return (int)faults;
}

static void waiting_for_pages_counts_as_reading(void) {
    static const char *const texts[] = {"image: resize([20, 30]) | chw(u8)\nlabel: drop",
                                        "image: random_resized_crop(24) | hflip | normalize(imagenet)\nlabel: drop"};
    for (size_t i = 0; i < 2; i++) {
        double read;
        int waits = run(texts[i], 0, true, &read);
        CHECK(waits >= IMAGES);
        CHECK(read >= waits * PAUSE_MS * 1e-3);
        CHECK(run(texts[i], 0, false, &read) >= IMAGES);
        CHECK_EQ_F64(0, read);
    }
}

/* Being timed must not make a crop of raw pixels read the whole image. */
static void only_what_is_used_is_waited_for(void) {
    double read;
    int plain = run("image: center_crop(8)\nlabel: drop", IMAGES - 1, false, &read);
    int timed = run("image: center_crop(8)\nlabel: drop", IMAGES - 1, true, &read);
    int pages = (int)((all.data[IMAGES - 1].size + page - 1) / page);
    if (pages >= 16) /* of 4 or 8 KiB */
        CHECK(timed < pages / 4);
    CHECK(timed >= plain && timed <= plain + 1);
    CHECK(read >= timed * PAUSE_MS * 1e-3);
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    check_begin(argc, argv);
    page = (size_t)sysconf(_SC_PAGESIZE);
    disk = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(disk != MAP_FAILED && images_begin(&all, 3, true));
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGBUS, &action, NULL) == 0);
    fill_disk();
    RUN(waiting_for_pages_counts_as_reading);
    RUN(only_what_is_used_is_waited_for);
    images_end(&all);
    munmap(disk, ROOM);
    return check_end();
}
