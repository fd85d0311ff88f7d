/* Hints to the system about what the next jobs will read: the payloads of their samples, or the parts of them that will be read, sorted and joined
 * where they are neighbours, so that the disk sees few large reads instead of many page faults; and, on request, what is behind and may be forgotten. A job is planned
 * before it is opened, so the reads are on their way while the jobs before it are worked on.
 *
 * A hint costs about as much as a small sample takes to load. So for mapped files a few pages are looked at now and then: when all of them
 * are in memory, there are no hints. Where the files will fit into memory, small ranges are left to the system, which reads more around each
 * fault and so has everything in memory sooner (50,000 samples of 3 KiB in random order: 0.2 s instead of 1.3 s); where they will not, what is
 * read around is wasted, so faults are told to read nothing but their page. */
#include <stdlib.h>

#include "loader/loader.h"
#include "os/advise.h"
#include "os/direct.h"
#include "reader/foreign.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { LOOK_PAGES = 64, LOOK_EVERY = 64, GAP_BYTES = 16 << 10, SMALL_RANGE = 32 << 10 };

/* ---- Is it in memory? ---------------------------------------------------------------------------------------------------------------- */

static uint64_t roll(struct prefetch *p) {
    p->dice = p->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); /* Knuth's MMIX */
    return p->dice >> 16;
}

static bool range_of(const mldf_reader *reader, uint64_t sample, size_t field, struct range *out) {
    uint8_t record[16];
    if (field == SIZE_MAX)
        return false;
    if (reader->foreign.ops)
        return reader->foreign.ops->range &&
               reader->foreign.ops->range(reader->foreign.state, sample, field, &out->offset, &out->bytes);
    const struct schema_field *f = &reader->schema->fields[field];
    size_t head = f->info.flags & MLDF_FIELD_SIZE64 ? 16 : 12;
    if (!mldfi_field_has_payload(f) ||
        mldfi_reader_copy(reader, mldfi_record_at(reader, sample, f), record, head, NULL) < 0)
        return false;
    mldfi_record_payload(f, record, &out->offset, &out->bytes);
    return out->bytes && mldfi_range_inside(out->offset, out->bytes, reader->end);
}

/* The reader's field that a field of the plan is read from. */
static size_t field_of(const struct dataset *dataset, size_t reader, size_t field) {
    return dataset->made_by_view ? dataset->view->fields[reader]
                                 : dataset->fields[reader * dataset->field_count + field].field;
}

/* Where values are, not anywhere in the file: padding is never read, so it need not be in memory. */
static bool look(const mldf_loader *loader, struct prefetch *p) {
    const struct dataset *dataset = &loader->dataset;
    size_t fields;
    const size_t *used = mldfi_plan_fields(loader->plan, &fields);
    for (size_t i = 0; i < LOOK_PAGES && fields; i++) {
        size_t index = roll(p) % dataset->count;
        const mldf_reader *reader = dataset->readers[index];
        uint64_t samples = mldf_reader_sample_count(reader);
        struct range range = {0, 0, 0};
        if (!reader->mapped)
            return false;
        if (reader->file.fd >= 0 && samples &&
            range_of(reader, roll(p) % samples, field_of(dataset, index, used[roll(p) % fields]), &range) &&
            !mldfi_map_is_resident(&reader->map, range.offset))
            return false;
    }
    return true;
}

static void set_patterns(const mldf_loader *loader, bool hinted) {
    for (size_t i = 0; i < loader->dataset.count; i++) {
        const mldf_reader *reader = loader->dataset.readers[i];
        bool in_order = !loader->options.own_order && loader->order->kind == MLDF_ORDER_SEQUENTIAL;
        os_pattern pattern = OS_PATTERN_NORMAL;
        if (hinted && in_order)
            pattern = OS_PATTERN_SEQUENTIAL;
        else if (hinted && !loader->prefetch.fits)
            pattern = OS_PATTERN_RANDOM;
        if (reader->mapped && reader->file.fd >= 0)
            mldfi_map_pattern(&reader->map, pattern);
    }
}

static uint64_t total_bytes(const struct dataset *dataset) {
    uint64_t sum = 0;
    for (size_t i = 0; i < dataset->count; i++)
        if (!mldfi_add_u64(sum, dataset->readers[i]->physical_bytes, &sum))
            return UINT64_MAX;
    return sum;
}

void mldfi_prefetch_begin(mldf_loader *loader) {
    struct prefetch *p = &loader->prefetch;
    if (!loader->options.prefetch)
        return;
    bool before = p->on && !p->resident;
    p->on = true;
    p->resident = look(loader, p);
    p->fits = !loader->options.forget_behind && total_bytes(&loader->dataset) < mldfi_memory_bytes() / 2;
    p->countdown = LOOK_EVERY;
    if (before == p->resident)
        set_patterns(loader, !p->resident);
}

void mldfi_prefetch_end(mldf_loader *loader) {
    if (loader->prefetch.on && !loader->prefetch.resident)
        set_patterns(loader, false);
}

/* ---- Ranges of a job ------------------------------------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b) {
    const struct range *x = a, *y = b;
    if (x->reader != y->reader)
        return x->reader < y->reader ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void join(struct job *job) {
    size_t kept = 0;
    qsort(job->ranges, job->range_count, sizeof *job->ranges, by_place);
    for (size_t i = 0; i < job->range_count; i++) {
        struct range *last = kept ? &job->ranges[kept - 1] : NULL, next = job->ranges[i];
        if (last && last->reader == next.reader && next.offset <= last->offset + last->bytes + GAP_BYTES) {
            uint64_t end = next.offset + next.bytes;
            if (end > last->offset + last->bytes)
                last->bytes = end - last->offset;
        } else {
            job->ranges[kept++] = next;
        }
    }
    job->range_count = kept;
}

static bool add(struct job *job, struct range range) {
    if (mldfi_array_reserve(&job->ranges, &job->range_capacity, job->range_count + 1, sizeof range, NULL) < 0)
        return false;
    job->ranges[job->range_count++] = range;
    return true;
}

/* Are parts of its payloads read alone? */
static bool has_parts(const mldf_reader *reader, const struct schema_field *f) {
    return mldfi_reader_is_plain(reader, f) || mldfi_reader_is_chunked(reader, f);
}

/* Of the payload that *range is, the bytes that [offset, offset + bytes) of the value needs; without them *range stays. */
static bool cut(const mldf_reader *reader, size_t field, uint64_t offset, uint64_t bytes, struct range *range) {
    const struct schema_field *f = &reader->schema->fields[field];
    if (!mldfi_range_inside(offset, bytes, mldfi_reader_value_bytes(f, range->bytes)))
        return false;
    mldfi_reader_stored_part(f, range->bytes, &offset, &bytes);
    range->offset += offset;
    range->bytes = bytes;
    return true;
}

/* Is this field of the reader one whose parts are asked for? All that decides about them must be known from rows. */
static bool reads_parts(const mldf_loader *loader, uint32_t index, size_t field) {
    const struct dataset *dataset = &loader->dataset;
    const mldf_reader *reader = dataset->readers[index];
    size_t fields;
    const size_t *used = mldfi_plan_fields(loader->plan, &fields);
    if (!mldfi_plan_has_ranges(loader->plan, field))
        return false;
    for (size_t k = 0; k < fields; k++) {
        size_t its = dataset->fields[index * dataset->field_count + used[k]].field;
        if (!mldfi_plan_prepares(loader->plan, used[k]) || its == SIZE_MAX)
            continue;
        const struct schema_field *f = &reader->schema->fields[its];
        if (reader->draft || mldfi_field_is_made(f) || !has_parts(reader, f))
            return false;
    }
    return true;
}

/* The parts of a sample's payloads that will be read. A sample that cannot be prepared is bad, and needs no hint. */
static void gather_parts(struct worker *worker, struct job *job, const struct seat *seat) {
    const struct dataset *dataset = &worker->loader->dataset;
    if (mldfi_unit_ranges(worker, job->epoch, seat, &worker->ranges) < 0)
        return;
    for (size_t i = 0; i < worker->ranges.count; i++) {
        const struct plan_range *part = &worker->ranges.items[i];
        struct range range = {.reader = seat->reader};
        size_t its = dataset->fields[seat->reader * dataset->field_count + part->field].field;
        if (!reads_parts(worker->loader, seat->reader, part->field) ||
            !range_of(dataset->readers[seat->reader], seat->sample, its, &range) ||
            !cut(dataset->readers[seat->reader], its, part->offset, part->bytes, &range))
            continue;
        if (!add(job, range))
            return;
    }
}

/* Of an array that a view cuts, the first piece. */
static void narrow(const struct dataset *dataset, const struct seat *seat, size_t field, struct range *range) {
    const mldf_reader *reader = dataset->readers[seat->reader];
    uint64_t steps = mldfi_view_row_steps(dataset->view, seat->reader, seat->sample);
    const struct schema_field *f = &reader->schema->fields[field];
    uint64_t width = mldf_dtype_bytes(f->info.dtype); /* of a token; pow2 has no table of its rows' lengths */
    if (!has_parts(reader, f))
        return;
    if (!dataset->view->pow2) {
        if (!steps || steps == MLDF_NONE || seat->item.have > steps || seat->item.from > steps - seat->item.have)
            return;
        width = mldfi_reader_value_bytes(f, range->bytes) / steps;
    }
    (void)cut(reader, field, seat->item.from * width, seat->item.have * width, range);
}

/* The pieces of an item that the view puts together. */
static bool gather_pieces(const struct dataset *dataset, const struct seat *seat, struct job *job) {
    const mldf_view *view = dataset->view;
    mldf_piece piece = {seat->item.reader, seat->item.row, seat->item.from, seat->item.have};
    enum { MOST = 1024 }; /* what a hostile plan may claim of one item; the rest is read without a hint */
    for (size_t i = 0; i < MOST && (i == 0 || (seat->item.several && view->map->piece(view, &seat->item, i, &piece)));
         i++) {
        const mldf_reader *reader = dataset->readers[piece.reader];
        size_t its = view->fields[piece.reader];
        const struct schema_field *f = &reader->schema->fields[its];
        struct range range = {.reader = piece.reader};
        uint64_t width = mldf_dtype_bytes(f->info.dtype), from, bytes;
        if (!range_of(reader, piece.row, its, &range))
            continue;
        bool tokens =
            f->info.type_id != MLDF_MULTIMODAL; /* otherwise a piece is counted in them, and its bytes are not */
        if (tokens && has_parts(reader, f) && width && mldfi_mul_u64(piece.from, width, &from) &&
            mldfi_mul_u64(piece.length, width, &bytes))
            (void)cut(reader, its, from, bytes, &range);
        if (!add(job, range))
            return false;
    }
    return true;
}

static void gather(struct worker *worker, struct job *job) {
    const mldf_loader *loader = worker->loader;
    size_t fields;
    const size_t *used = mldfi_plan_fields(loader->plan, &fields);
    const struct dataset *dataset = &loader->dataset;
    job->range_count = 0;
    for (size_t i = 0; i < job->count; i++) {
        const struct seat *seat = &job->slots[i].seat;
        bool parts = false;
        if (dataset->made_by_view) {
            if (!gather_pieces(dataset, seat, job))
                break;
            continue;
        }
        for (size_t k = 0; k < fields; k++) {
            struct range range = {.reader = seat->reader};
            size_t its = dataset->fields[seat->reader * dataset->field_count + used[k]].field;
            if (reads_parts(loader, seat->reader, used[k])) {
                parts = true;
                continue;
            }
            if (!range_of(dataset->readers[seat->reader], seat->sample, its, &range))
                continue;
            if (used[k] == dataset->cut)
                narrow(dataset, seat, its, &range);
            if (!add(job, range))
                break;
        }
        if (parts)
            gather_parts(worker, job, seat);
    }
    if (job->range_count)
        join(job);
}

void mldfi_prefetch_job(struct worker *worker, struct job *job) {
    mldf_loader *loader = worker->loader;
    struct prefetch *p = &loader->prefetch;
    bool forget = loader->options.forget_behind;
    if (p->on && p->resident && --p->countdown == 0) {
        p->countdown = LOOK_EVERY;
        if (!(p->resident = look(loader, p)))
            set_patterns(loader, true);
    }
    bool hint = p->on && !p->resident;
    if (!hint && !forget)
        return;
    gather(worker, job);
    for (size_t i = 0; i < job->range_count && hint; i++) {
        const struct range *range = &job->ranges[i];
        const mldf_reader *reader = loader->dataset.readers[range->reader];
        if (reader->mapped && p->fits && range->bytes < SMALL_RANGE)
            continue;
        if (reader->mapped)
            mldfi_map_want(&reader->map, range->offset, range->bytes);
        else if (!reader->direct)
            mldfi_file_want(&reader->file, range->offset, range->bytes);
    }
}

void mldfi_prefetch_forget(mldf_loader *loader, struct job *job) {
    for (size_t i = 0; i < job->range_count && loader->options.forget_behind; i++) {
        const struct range *range = &job->ranges[i];
        const mldf_reader *reader = loader->dataset.readers[range->reader];
        if (reader->file.fd < 0)
            continue;
        if (reader->mapped)
            mldfi_map_forget(&reader->map, &reader->file, range->offset, range->bytes);
        else
            mldfi_file_forget(&reader->file, range->offset, range->bytes);
    }
    job->range_count = 0;
}

/* ---- Past the page cache ---------------------------------------------------------------------------------------------------------------- */

/* A copy of the reader that reads large values through a descriptor of its own. */
static mldf_status make_direct(struct dataset *dataset, size_t index, mldf_error *err) {
    struct direct_reader *direct = mldfi_alloc_zero(1, sizeof *direct, err);
    if (!direct)
        return MLDF_E_MEMORY;
    mldf_status status = mldfi_direct_open(&direct->descriptor, &dataset->readers[index]->file, err);
    if (status < 0) {
        free(direct);
        return status;
    }
    direct->reader = *dataset->readers[index];
    direct->reader.direct = &direct->descriptor;
    dataset->readers[index] = &direct->reader;
    direct->next = dataset->direct;
    dataset->direct = direct;
    return MLDF_OK;
}

mldf_status mldfi_direct_begin(mldf_loader *loader, mldf_error *err) {
    mldf_error why;
    for (size_t i = 0; i < loader->dataset.count && loader->options.direct; i++) {
        if (loader->dataset.readers[i]->mapped) {
            mldfi_warn(loader->options.context, "%s is mapped: direct reads need the read back end",
                       loader->dataset.readers[i]->path);
            continue;
        }
        mldf_status status = make_direct(&loader->dataset, i, &why);
        if (status == MLDF_E_UNSUPPORTED)
            mldfi_warn(loader->options.context, "%s; read through it instead", MLDF_ERROR_TEXT(&why));
        else if (status < 0)
            return err ? (*err = why, status) : status;
    }
    return MLDF_OK;
}

void mldfi_direct_end(mldf_loader *loader) {
    while (loader->dataset.direct) {
        struct direct_reader *direct = loader->dataset.direct;
        loader->dataset.direct = direct->next;
        mldfi_direct_close(&direct->descriptor);
        free(direct);
    }
}
