/* A run of samples through the plan, on one thread and without the lock: measuring and running, pairs, and what is done with a sample that
 * is bad. A slot belongs to one unit, so its seat, its lengths and its row of the batch are written here freely; what is the job's own
 * (failure, list of bad samples, `again`) takes the lock. */
#include <stdlib.h>
#include <string.h>

#include "field/type.h"
#include "items/steps.h"
#include "loader/loader.h"
#include "os/file.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* ---- The feed: values of the positions that the worker is at ---------------------------------------------------------------------- */

/* NULL: the worker is not there. */
static inline const struct seat *seat_at(const struct worker *worker, uint64_t position) {
    for (size_t i = 0; i < worker->seat_count; i++)
        if (worker->seats[i]->position == position)
            return worker->seats[i];
    return NULL;
}

static uint64_t feed_index(void *user, uint64_t position) {
    const struct worker *worker = user;
    const struct seat *seat = seat_at(worker, position);
    return seat ? mldfi_dataset_row(&worker->loader->dataset, seat) : MLDF_NONE; /* feed_get says why */
}

__attribute__((cold)) static mldf_status no_seat(uint64_t position, mldf_error *err) {
    return mldfi_fail(err, MLDF_E_STATE, "the plan asks for position %llu, which is not worked on",
                      (unsigned long long)position);
}

/* What a call of the feed means. */
struct feed_place {
    const struct seat *seat;
    const mldf_reader *reader;
    const struct bound_field *bound;
};
static inline bool feed_place(const struct worker *worker, uint64_t position, size_t field, struct feed_place *out) {
    const struct dataset *dataset = &worker->loader->dataset;
    const struct seat *seat = seat_at(worker, position);
    if (!seat)
        return false;
    *out = (struct feed_place){seat, dataset->readers[seat->reader],
                               &dataset->fields[seat->reader * dataset->field_count + field]};
    return true;
}

static mldf_status feed_cut(struct worker *worker, const struct seat *seat, bool record, mldf_buffer *scratch,
                            mldf_value *out, mldf_error *err) {
    const struct dataset *dataset = &worker->loader->dataset;
    return mldfi_item_value(dataset->view, dataset->readers, &seat->item, record, &worker->items, scratch, out, err);
}

/* Values of several rows, and which of them are outside the group. */
static mldf_status feed_window(struct worker *worker, const struct feed_place *place, bool record, mldf_buffer *scratch,
                               mldf_value *out, mldf_error *err) {
    const struct dataset *dataset = &worker->loader->dataset;
    size_t window = place->bound->window;
    if (place->bound->way == WAY_PAD)
        return mldfi_steps_pad(dataset->view, &place->seat->item, window, scratch, out, err);
    return mldfi_steps_value(dataset->view, dataset->readers, &place->seat->item, window, record, &worker->items,
                             scratch, out, err);
}

/* The reader's row that a value is read from: of a group's video its first one. */
static uint64_t row_of(const struct worker *worker, const struct feed_place *place) {
    double seconds[STEPS_FRAMES];
    uint64_t row = place->seat->sample;
    if (place->bound->way == WAY_FRAMES)
        (void)mldfi_steps_frames(worker->loader->dataset.view, &place->seat->item, place->bound->window, &row, seconds,
                                 NULL);
    return row;
}

/* Frames at the times of the window's rows. A time that no row has comes out as one that no frame has. */
static bool piece_frames(const struct worker *worker, const struct feed_place *place, struct plan_piece *out) {
    const struct mldf_view *view = worker->loader->dataset.view;
    uint64_t row;
    *out = (struct plan_piece){.frames = view->steps->fields[place->bound->window].count,
                               .tolerance = view->steps->tolerance};
    out->failed = mldfi_steps_frames(view, &place->seat->item, place->bound->window, &row, out->seconds, &out->why) < 0;
    return true;
}
_Static_assert((int)PIECE_FRAMES == (int)STEPS_FRAMES, "a piece has room for all frames of a window");

/* A recording is cut by its decoder. */
static bool feed_piece(void *user, uint64_t position, size_t field, struct plan_piece *out) {
    struct feed_place place;
    if (!feed_place(user, position, field, &place))
        return false;
    if (place.bound->way == WAY_FRAMES)
        return piece_frames(user, &place, out);
    if (place.bound->way != WAY_PIECE)
        return false;
    const struct item_place *item = &place.seat->item;
    *out = (struct plan_piece){.from = item->from, .have = item->have, .steps = item->odd ? MLDF_NONE : item->steps};
    return true;
}

static mldf_status null_value(mldf_value *out) {
    *out = (mldf_value){.kind = MLDF_KIND_NULL};
    return MLDF_OK;
}

/* The entry of the row's value that the item is. */
static mldf_status feed_element(struct worker *worker, const struct feed_place *place, mldf_buffer *scratch,
                                mldf_value *out, mldf_error *err) {
    return mldfi_item_element(place->reader, place->bound->field, &place->seat->item, &worker->items.aside, scratch,
                              out, err);
}

static mldf_status feed_get(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                            mldf_error *err) {
    struct feed_place place;
    if (!feed_place(user, position, field, &place))
        return no_seat(position, err);
    switch (place.bound->way) {
    case WAY_DIRECT:
        return mldfi_reader_get_direct(place.reader, place.seat->sample, place.bound->of, scratch, out, err);
    case WAY_CUT:
        return feed_cut(user, place.seat, false, scratch, out, err);
    case WAY_ELEMENT:
        return feed_element(user, &place, scratch, out, err);
    case WAY_STACK:
    case WAY_PAD:
        return feed_window(user, &place, false, scratch, out, err);
    case WAY_NONE:
        return null_value(out);
    default:
        return mldfi_reader_get_packed(place.reader, row_of(user, &place), place.bound->field, scratch, out, err);
    }
}

static mldf_status feed_record(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                               mldf_error *err) {
    struct feed_place place;
    if (!feed_place(user, position, field, &place))
        return no_seat(position, err);
    switch (place.bound->way) {
    case WAY_DIRECT: /* a mapping has the payload at hand */
        return mldfi_reader_get_direct(place.reader, place.seat->sample, place.bound->of, scratch, out, err);
    case WAY_CUT:
        return feed_cut(user, place.seat, true, scratch, out, err);
    case WAY_ELEMENT:
        return feed_element(user, &place, scratch, out, err);
    case WAY_STACK:
    case WAY_PAD:
        return feed_window(user, &place, true, scratch, out, err);
    case WAY_NONE:
        return null_value(out);
    default:
        return mldfi_reader_record(place.reader, row_of(user, &place), place.bound->field, scratch, out, err);
    }
}

static mldf_status feed_range(void *user, uint64_t position, size_t field, uint64_t offset, uint64_t bytes,
                              mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    struct feed_place place;
    if (!feed_place(user, position, field, &place))
        return no_seat(position, err);
    if (place.bound->way == WAY_NONE)
        return null_value(out);
    return mldf_reader_get_range(place.reader, row_of(user, &place), place.bound->field, offset, bytes, scratch, out,
                                 err);
}

static mldf_status feed_stored(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                               const struct schema_field **of, mldf_error *err) {
    struct feed_place place;
    if (!feed_place(user, position, field, &place))
        return no_seat(position, err);
    if (place.bound->way == WAY_NONE)
        return null_value(out);
    *of = place.bound->of;
    return mldf_reader_get_stored(place.reader, place.seat->sample, place.bound->field, scratch, out, err);
}

static const struct plan_feed feed = {.get = feed_get,
                                      .record = feed_record,
                                      .range = feed_range,
                                      .stored = feed_stored,
                                      .piece = feed_piece,
                                      .index = feed_index};

/* ---- The feed of values that the view makes -------------------------------------------------------------------------------------- */

static mldf_status made_value(struct worker *worker, uint64_t position, size_t field, bool record, mldf_buffer *scratch,
                              mldf_value *out, mldf_error *err) {
    const struct dataset *dataset = &worker->loader->dataset;
    const struct seat *seat = seat_at(worker, position);
    return seat ? mldfi_item_computed(dataset->view, dataset->readers, &seat->item, field, record, &worker->items,
                                      scratch, out, err)
                : no_seat(position, err);
}

static mldf_status made_get(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                            mldf_error *err) {
    return made_value(user, position, field, false, scratch, out, err);
}

static mldf_status made_record(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                               mldf_error *err) {
    return made_value(user, position, field, true, scratch, out, err);
}

/* Straight into the batch. */
static mldf_status made_into(void *user, uint64_t position, size_t field, void *dst, mldf_error *err) {
    struct worker *worker = user;
    const struct dataset *dataset = &worker->loader->dataset;
    const struct seat *seat = seat_at(worker, position);
    return seat ? mldfi_item_compute(dataset->view, dataset->readers, &seat->item, field, &worker->items, dst, err)
                : no_seat(position, err);
}

static const struct plan_feed made_feed = {
    .get = made_get, .record = made_record, .into = made_into, .index = feed_index};

static void free_targets(struct worker *worker) {
    free(worker->targets[0]);
    free(worker->targets[1]);
    free(worker->lengths);
    free(worker->ranges.items);
    free(worker->times);
}

mldf_status mldfi_crew_worker_begin(mldf_loader *loader, struct worker *worker, mldf_error *err) {
    size_t outputs = loader->outputs + 1;
    worker->loader = loader;
    worker->feed = loader->dataset.made_by_view ? made_feed : feed;
    worker->feed.user = worker;
    if (!loader->dataset.cut_in_source)
        worker->feed.piece = NULL;
    worker->targets[0] = mldfi_alloc_zero(outputs, sizeof(struct plan_target), err);
    worker->targets[1] = mldfi_alloc_zero(outputs, sizeof(struct plan_target), err);
    worker->lengths = mldfi_alloc_zero(outputs, sizeof *worker->lengths, err);
    worker->times = mldfi_alloc_zero(mldfi_plan_step_count(loader->plan) + 1, sizeof *worker->times, err);
    if (!worker->targets[0] || !worker->targets[1] || !worker->lengths || !worker->times)
        return MLDF_E_MEMORY;
    return mldfi_worker_new(loader->plan, &worker->plan, err);
}

void mldfi_crew_worker_end(struct worker *worker) {
    if (worker->plan)
        mldfi_worker_free(worker->plan);
    mldf_buffer_free(&worker->probe);
    mldfi_item_cache_free(&worker->items);
    free_targets(worker);
}

/* ---- When something is wrong -------------------------------------------------------------------------------------------------------- */

/* The job fails; of several failures the one of the first slot is told, whoever came first. */
static void fail(struct worker *worker, struct job *job, size_t index, const mldf_error *err) {
    mldf_loader *loader = worker->loader;
    pthread_mutex_lock(&loader->lock);
    if (index < job->failed_slot) {
        job->failed_slot = index;
        job->failure = *err;
    }
    if (job->limit > job->claimed)
        job->limit = job->claimed; /* runs are claimed in order: all slots before this one are on their way */
    pthread_mutex_unlock(&loader->lock);
}

/* The byte of the file: what decodes counts from the value's first byte, and of a value that is not stored as it is only its place can be
 * told. */
static void name_byte(const mldf_reader *reader, uint64_t sample, mldf_error *err) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    const uint8_t *row;
    uint64_t ptr = MLDF_NONE, bytes, within = err->offset;
    size_t field = mldfi_schema_lookup(reader->schema, err->field);
    err->offset = MLDF_NONE;
    if (field == SIZE_MAX || reader->foreign.ops)
        return;
    const struct schema_field *f = &reader->schema->fields[field];
    if (mldfi_field_has_payload(f) && mldfi_reader_row(reader, sample, &scratch, &row, NULL) >= 0) {
        mldfi_record_payload(f, row + f->info.row_offset, &ptr, &bytes);
        bool as_it_is = !reader->encrypted && !(f->info.flags & MLDF_FIELD_COMPRESSED);
        err->offset = as_it_is && within < bytes ? ptr + within : ptr;
    }
    mldf_buffer_free(&scratch);
}

/* What the plan does not know: the file and the sample. */
static void name_sample(const mldf_loader *loader, const struct seat *seat, mldf_error *err) {
    const mldf_reader *reader = loader->dataset.readers[seat->reader];
    if (err->sample != MLDF_NONE)
        return; /* the reader's own words */
    name_byte(reader, seat->sample, err);
    mldfi_reader_name_error(reader, err, err->status);
    mldfi_error_place(err, seat->sample, NULL);
}

static void name_error(const mldf_loader *loader, const struct seat *seat, mldf_error *err) {
    name_sample(loader, seat, err);
    if (loader->dataset.view)
        mldfi_error_prefix(err, "item %llu", (unsigned long long)seat->item.item);
}

enum verdict { RETRY, SKIPPED, FAILED };

/* The slot's sample gave this error: by the policy. index: of the slot, or of the one that needs it; wanted: the slot is the job's. */
static enum verdict deal(struct worker *worker, struct job *job, size_t index, struct slot *slot, bool wanted,
                         mldf_error *err) {
    mldf_loader *loader = worker->loader;
    mldf_error trouble;
    mldf_bad policy = loader->options.bad;
    name_error(loader, &slot->seat, err);
    bool bad = mldfi_is_bad(err->status);
    if (bad && wanted && mldfi_bad_note(loader, job, slot, err, &trouble) < 0) {
        fail(worker, job, index, &trouble);
        return FAILED;
    }
    if (!bad || policy == MLDF_BAD_RAISE) {
        fail(worker, job, index, err);
        return FAILED;
    }
    if (policy == MLDF_BAD_SKIP) {
        slot->skipped = true;
        return SKIPPED;
    }
    if (slot->tries == LOADER_TRIES) {
        mldfi_error_prefix(err, "%d substitutes were bad too; the last one", LOADER_TRIES);
        fail(worker, job, index, err);
        return FAILED;
    }
    if (mldfi_substitute(loader, job->epoch, slot, &trouble) < 0) {
        fail(worker, job, index, &trouble);
        return FAILED;
    }
    if (wanted)
        mldfi_bad_substitute(loader, job, slot);
    return RETRY;
}

/* The batch's lengths are no longer those that it was laid out for. */
static void do_again(struct worker *worker, struct job *job) {
    pthread_mutex_lock(&worker->loader->lock);
    job->again = true;
    pthread_mutex_unlock(&worker->loader->lock);
}

/* Nobody will take the job: whoever waits for its end waits for one sample at most. */
static bool is_halted(const struct worker *worker) {
    return atomic_load_explicit(&worker->loader->halt, memory_order_relaxed);
}

/* ---- Lengths ------------------------------------------------------------------------------------------------------------------------- */

static void sit(struct worker *worker, const struct seat *seat) {
    worker->seats[0] = seat;
    worker->seat_count = 1;
}

static mldf_status lengths_of(struct worker *worker, uint64_t epoch, const struct seat *seat,
                              struct plan_length *lengths, mldf_error *err) {
    sit(worker, seat);
    return mldfi_plan_prepare(worker->loader->plan, worker->plan, &worker->feed, epoch, seat->position, lengths, NULL,
                              err);
}

mldf_status mldfi_unit_length(struct worker *worker, uint64_t epoch, const struct seat *seat, size_t output,
                              struct plan_length *length, mldf_error *err) {
    mldf_error own;
    sit(worker, seat);
    mldf_status status = mldfi_plan_record_length(worker->loader->plan, worker->plan, &worker->feed, seat->position,
                                                  output, length, &own);
    if (status == MLDF_OK)
        return MLDF_OK;
    status = lengths_of(worker, epoch, seat, worker->lengths, &own);
    *length = status < 0 ? (struct plan_length){{0}} : worker->lengths[output];
    if (status >= 0 || mldfi_is_bad(status))
        return MLDF_OK;
    name_error(worker->loader, seat, &own);
    if (err)
        *err = own;
    return status;
}

mldf_status mldfi_unit_ranges(struct worker *worker, uint64_t epoch, const struct seat *seat,
                              struct plan_ranges *ranges) {
    sit(worker, seat);
    return mldfi_plan_prepare(worker->loader->plan, worker->plan, &worker->feed, epoch, seat->position, NULL, ranges,
                              NULL);
}

void mldfi_unit_measure(struct worker *worker, struct job *job, size_t from, size_t to) {
    mldf_error err;
    for (size_t i = from; i < to && !is_halted(worker); i++) {
        struct slot *slot = &job->slots[i];
        enum verdict verdict = RETRY;
        while (verdict == RETRY &&
               lengths_of(worker, job->epoch, &slot->seat, &job->lengths[i * worker->loader->outputs], &err) < 0)
            verdict = deal(worker, job, i, slot, true, &err);
        if (verdict == FAILED)
            return;
    }
}

/* ---- One sample ----------------------------------------------------------------------------------------------------------------------- */

static struct plan_length *job_lengths(const struct worker *worker, const struct job *job, size_t index) {
    return worker->loader->measures ? &job->lengths[index * worker->loader->outputs] : worker->lengths;
}

/* Lengths, where they were not measured before, and targets of a slot. */
static mldf_status aim(struct worker *worker, struct job *job, size_t index, struct plan_target *targets,
                       mldf_error *err) {
    mldf_loader *loader = worker->loader;
    struct plan_length *lengths = job_lengths(worker, job, index);
    if (loader->measures && !loader->two_phase) {
        TRY(lengths_of(worker, job->epoch, &job->slots[index].seat, lengths, err));
    }
    mldfi_batch_targets(job->batch, index, lengths, targets);
    return MLDF_OK;
}

/* side: of the plan's worker, which ran the sample. */
static void complete(struct worker *worker, struct job *job, size_t index, unsigned side) {
    const struct slot *slot = &job->slots[index];
    const struct dataset *dataset = &worker->loader->dataset;
    struct sample_numbers numbers = {mldfi_dataset_item(dataset, &slot->seat), mldfi_dataset_row(dataset, &slot->seat),
                                     slot->valid};
    mldfi_worker_lengths(worker->plan, side, job_lengths(worker, job, index));
    mldfi_batch_extras(job->batch, index, job_lengths(worker, job, index), &numbers, worker->plan, side);
}

static bool run_one(struct worker *worker, struct job *job, size_t index) {
    mldf_loader *loader = worker->loader;
    struct slot *slot = &job->slots[index];
    mldf_error err;
    for (;;) {
        mldf_status status = aim(worker, job, index, worker->targets[0], &err);
        if (status >= 0) {
            sit(worker, &slot->seat);
            status = mldfi_plan_run(loader->plan, worker->plan, &worker->feed, job->epoch, slot->seat.position,
                                    worker->targets[0], &err);
        }
        if (status >= 0) {
            if (loader->pool->extras)
                complete(worker, job, index, 0);
            return true;
        }
        enum verdict verdict = deal(worker, job, index, slot, true, &err);
        if (verdict != FAILED && loader->two_phase)
            do_again(worker, job);
        if (verdict != RETRY || loader->two_phase)
            return verdict != FAILED;
    }
}

/* ---- Pairs ------------------------------------------------------------------------------------------------------------------------------- */

/* The samples at an even position and the one behind it. A side that is not in this batch is read all the same: its values are mixed
 * into the other's, on whatever rank that is. */
struct couple {
    uint64_t even;
    size_t index[2]; /* slot; SIZE_MAX: not in this batch */
    struct slot mate[2];
    struct slot *side[2]; /* NULL: beyond the epoch's end */
};

static mldf_status couple_begin(const mldf_loader *loader, struct job *job, struct couple *couple, mldf_error *err) {
    for (unsigned s = 0; s < 2; s++) {
        uint64_t position = couple->even + s;
        mldf_place place;
        couple->side[s] = couple->index[s] != SIZE_MAX ? &job->slots[couple->index[s]] : NULL;
        if (couple->side[s] || position >= loader->count)
            continue;
        couple->mate[s] = (struct slot){.valid = true};
        mldfi_order_many(loader->order, job->epoch, position, 1, &place);
        mldf_status status =
            mldfi_dataset_seat(&loader->dataset, job->epoch, position, &place, &couple->mate[s].seat, err);
        if (status < 0)
            return status;
        couple->side[s] = &couple->mate[s];
    }
    return MLDF_OK;
}

/* Room for one sample that nobody wants. */
static mldf_status aim_aside(struct worker *worker, uint64_t epoch, const struct seat *seat, mldf_error *err) {
    const struct batch_pool *pool = worker->loader->pool;
    mldf_status status = worker->loader->measures ? lengths_of(worker, epoch, seat, worker->lengths, err) : MLDF_OK;
    for (int pass = 0; pass < 2 && status >= 0; pass++) {
        size_t at = 0;
        for (size_t i = 0; i < pool->array_count; i++) {
            const struct array_plan *array = &pool->arrays[i];
            uint64_t bytes = array->inner * mldf_dtype_bytes(array->dtype);
            struct plan_length room = {{0}};
            if (array->kind > ARRAY_RAGGED)
                continue;
            if (array->kind != ARRAY_FIXED)
                room = mldfi_length_room(array->of, worker->lengths[array->output]);
            if ((array->kind != ARRAY_FIXED && !mldfi_mul_u64(bytes, mldfi_length_count(array->of, room), &bytes)) ||
                bytes > SIZE_MAX / 4)
                return mldfi_fail_memory(err, SIZE_MAX);
            if (pass)
                worker->targets[0][array->output] = (struct plan_target){worker->probe.data + at, room};
            at += (size_t)mldfi_align_up(bytes, 64);
        }
        if (pass == 0)
            status = mldf_buffer_reserve(&worker->probe, at ? at : 64, err);
    }
    return status;
}

/* Is it this side that is bad? Runs it alone, for its status. */
static mldf_status probe(struct worker *worker, const struct job *job, const struct slot *slot, mldf_error *err) {
    TRY(aim_aside(worker, job->epoch, &slot->seat, err));
    sit(worker, &slot->seat);
    return mldfi_plan_run_pair(worker->loader->plan, worker->plan, &worker->feed, job->epoch, slot->seat.position, true,
                               worker->targets[0], NULL, err);
}

/* Runs what is left of the couple. *culprit: the only side there is, or 2. */
static mldf_status couple_run(struct worker *worker, struct job *job, struct couple *couple, unsigned *culprit,
                              mldf_error *err) {
    const struct plan_target *targets[2] = {NULL, NULL};
    bool there[2];
    for (unsigned s = 0; s < 2; s++) {
        there[s] = couple->side[s] && !couple->side[s]->skipped;
        if (!there[s] || couple->index[s] == SIZE_MAX)
            continue;
        *culprit = s;
        TRY(aim(worker, job, couple->index[s], worker->targets[s], err));
        targets[s] = worker->targets[s];
    }
    const struct plan *plan = worker->loader->plan;
    if (!targets[0] && !targets[1])
        return MLDF_OK;
    if (there[0] && there[1]) {
        *culprit = 2;
        worker->seats[0] = &couple->side[0]->seat;
        worker->seats[1] = &couple->side[1]->seat;
        worker->seat_count = 2;
        return mldfi_plan_run_pair(plan, worker->plan, &worker->feed, job->epoch, couple->even, false, targets[0],
                                   targets[1], err);
    }
    unsigned s = there[1];
    *culprit = s;
    sit(worker, &couple->side[s]->seat);
    return mldfi_plan_run_pair(plan, worker->plan, &worker->feed, job->epoch, couple->side[s]->seat.position, true,
                               targets[s], NULL, err);
}

/* Deals with the sides that are bad. RETRY: the couple is run again; SKIPPED: the whole batch will be. */
static enum verdict couple_deal(struct worker *worker, struct job *job, struct couple *couple, unsigned culprit,
                                mldf_error *err) {
    size_t first = couple->index[0] != SIZE_MAX ? couple->index[0] : couple->index[1];
    bool found = false, again = false;
    for (unsigned s = 0; s < 2; s++) {
        struct slot *slot = couple->side[s];
        bool wanted = couple->index[s] != SIZE_MAX;
        mldf_error own = *err;
        if (!slot || slot->skipped || (culprit != 2 && culprit != s))
            continue;
        if (culprit == 2 && probe(worker, job, slot, &own) >= 0)
            continue;
        found = true;
        if (deal(worker, job, wanted ? couple->index[s] : first, slot, wanted, &own) == FAILED)
            return FAILED;
        again = again || (wanted && worker->loader->two_phase);
    }
    if (again)
        do_again(worker, job);
    if (found)
        return again ? SKIPPED : RETRY;
    name_error(worker->loader, &couple->side[0]->seat, err);
    fail(worker, job, first, err); /* each is good alone, together they are not: no sample's fault */
    return FAILED;
}

static bool run_couple(struct worker *worker, struct job *job, struct couple *couple) {
    mldf_error err;
    unsigned culprit = 2;
    if (couple_begin(worker->loader, job, couple, &err) < 0) {
        fail(worker, job, couple->index[0] != SIZE_MAX ? couple->index[0] : couple->index[1], &err);
        return false;
    }
    while (couple_run(worker, job, couple, &culprit, &err) < 0) {
        enum verdict verdict = couple_deal(worker, job, couple, culprit, &err);
        if (verdict != RETRY)
            return verdict != FAILED;
    }
    bool both = couple->side[0] && !couple->side[0]->skipped && couple->side[1] && !couple->side[1]->skipped;
    for (unsigned s = 0; s < 2; s++)
        if (couple->index[s] != SIZE_MAX && !couple->side[s]->skipped)
            complete(worker, job, couple->index[s], both ? s : 0); /* one alone is run as the first */
    return true;
}

/* ---- A run of slots ------------------------------------------------------------------------------------------------------------------- */

enum { ROWS_AHEAD = 4 };

/* The values of the slot that is next, and the rows of one behind it, on their way into the cache: in random order each would be waited for. */
static void look_ahead(const struct worker *worker, const struct job *job, size_t index, size_t to) {
    const struct dataset *dataset = &worker->loader->dataset;
    size_t fields;
    const size_t *used = mldfi_plan_fields(worker->loader->plan, &fields);
    for (size_t step = 1; step <= ROWS_AHEAD; step += ROWS_AHEAD - 1)
        for (size_t k = 0; k < fields && index + step < to; k++) {
            const struct seat *seat = &job->slots[index + step].seat;
            const struct bound_field *bound = &dataset->fields[seat->reader * dataset->field_count + used[k]];
            if (bound->way == WAY_READ || bound->way == WAY_DIRECT)
                mldfi_reader_prefetch(dataset->readers[seat->reader], seat->sample, bound->field, step == 1);
        }
}

void mldfi_unit_run(struct worker *worker, struct job *job, size_t from, size_t to) {
    const struct dataset *dataset = &worker->loader->dataset;
    bool good = true, cut = dataset->cut != SIZE_MAX && !dataset->cut_in_source, whole = !dataset->made_by_view;
    for (size_t i = from; !worker->loader->pairs && i < to && good && !is_halted(worker); i++) {
        if (cut && i + 1 < to)
            mldfi_item_prefetch(dataset->readers, &job->slots[i + 1].seat.item, &worker->items);
        if (whole)
            look_ahead(worker, job, i, to);
        good = run_one(worker, job, i);
    }
    for (size_t i = from; worker->loader->pairs && i < to && good && !is_halted(worker); i++) {
        uint64_t position = job->slots[i].seat.position;
        struct couple couple = {.even = position & ~(uint64_t)1, .index = {SIZE_MAX, SIZE_MAX}};
        couple.index[position & 1] = i;
        if (!(position & 1) && i + 1 < to && job->slots[i + 1].seat.position == position + 1)
            couple.index[1] = ++i;
        good = run_couple(worker, job, &couple);
    }
}
