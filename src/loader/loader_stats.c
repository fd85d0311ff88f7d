/* Where the time went. Whole units are always timed; the steps inside them only now and then (one unit in eight), and what was seen there
 * is taken for all. The verdict says in one line what holds things up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/loader.h"
#include "os/file.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/options.h"

/* The step that takes most of the work; NULL: nothing was timed. */
static const mldf_step_time *hardest(const mldf_loader_stats *stats) {
    const mldf_step_time *most = NULL;
    for (size_t i = 0; i < stats->step_count; i++)
        if (!most || stats->steps[i].seconds > most->seconds)
            most = &stats->steps[i];
    return most && most->seconds > 0 ? most : NULL;
}

/* Less work than this says nothing: the first batches pay for pages and code that are not in memory yet. */
#define JUDGED_SECONDS 0.5

static double all_work(const mldf_loader_stats *stats) {
    double work = 0;
    for (size_t i = 0; i < stats->step_count; i++)
        work += stats->steps[i].seconds;
    return work;
}

static bool is_decode(const char *name) {
    const char *colon = strrchr(name, ':');
    return colon && strcmp(colon, ": decode") == 0;
}

void mldfi_stats_judge(const mldf_loader *loader, mldf_loader_stats *out) {
    const mldf_step_time *step = hardest(out);
    char once[48] = "";
    double share = out->seconds > 0 ? out->wait_loader / out->seconds : 0;
    bool crowded = out->threads > 0 && out->threads >= mldfi_cpu_count();
    const char *more = crowded ? "all CPUs are busy;" : out->threads == 0 ? "use threads or" : "add threads or";
    if (step)
        mldfi_plan_step_once(loader->plan, (size_t)(step - out->steps), once, sizeof once);
    if (out->batches == 0) {
        snprintf(out->verdict, sizeof out->verdict, "nothing was loaded yet");
    } else if (all_work(out) < JUDGED_SECONDS && (share >= 0.1 || out->seconds < JUDGED_SECONDS)) {
        snprintf(out->verdict, sizeof out->verdict,
                 "no verdict: %.3f s of work is too little; a larger file or more epochs give one", all_work(out));
    } else if (share < 0.1) {
        snprintf(out->verdict, sizeof out->verdict,
                 "consumer-bound: the loader keeps up; next waited %.0f %% of the time", 100 * share);
    } else if (!step) {
        snprintf(out->verdict, sizeof out->verdict, "loader-bound: %s do less for each sample", more);
    } else if (strcmp(step->name, "read") == 0) {
        snprintf(out->verdict, sizeof out->verdict, "read-bound: %s",
                 loader->order->kind == MLDF_ORDER_RANDOM && !loader->options.own_order
                     ? "use the quasi-random order, or faster storage"
                     : "faster storage, or more memory for the page cache");
    } else if (is_decode(step->name)) {
        snprintf(out->verdict, sizeof out->verdict, "decode-bound: %s store smaller images", more);
    } else if (once[0]) {
        snprintf(out->verdict, sizeof out->verdict, "bound by %.60s: %s do %s once when packing", step->name, more,
                 once);
    } else {
        snprintf(out->verdict, sizeof out->verdict, "bound by %.60s: %s do less for each sample", step->name, more);
    }
}

mldf_status mldf_loader_get_stats(mldf_loader *loader, mldf_loader_stats *out, mldf_error *err) {
    TRY(mldfi_loader_check(loader, "stats", err));
    if (!out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "statistics need a place");
    TRY(mldfi_check_result("mldf_loader_stats", out, err));
    size_t steps = mldfi_plan_step_count(loader->plan);
    if (!loader->tally.shown && !(loader->tally.shown = mldfi_alloc_zero(steps + 1, sizeof(mldf_step_time), err)))
        return MLDF_E_MEMORY;
    pthread_mutex_lock(&loader->lock);
    const struct tally *tally = &loader->tally;
    mldf_loader_stats now = {.samples = tally->samples,
                             .batches = tally->batches,
                             .bad_samples = tally->bad,
                             .bytes_read = tally->bytes,
                             .seconds = tally->seconds,
                             .wait_consumer = tally->wait_consumer,
                             .wait_loader = tally->wait_loader,
                             .threads = (int)loader->thread_count,
                             .step_count = steps,
                             .steps = tally->shown};
    if (tally->epoch_started > 0)
        now.seconds += mldfi_time() - tally->epoch_started;
    double scale = tally->timed > 0 ? tally->busy / tally->timed : 0;
    for (size_t i = 0; i < steps; i++)
        tally->shown[i] = (mldf_step_time){mldfi_plan_step_name(loader->plan, i), tally->steps[i] * scale};
    pthread_mutex_unlock(&loader->lock);
    mldfi_stats_judge(loader, &now);
    mldfi_give_result(out, &now, sizeof now);
    return MLDF_OK;
}
