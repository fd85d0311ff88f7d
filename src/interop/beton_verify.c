/* Looking at everything a .beton file holds: values, the table, and the pages, which FFCV loads one at a time: a sample whose
 * blobs are in two of them cannot be read by it. */
#include "interop/beton_inner.h"
#include "util/bytes.h"
#include "util/error.h"

#define ULL(v) ((unsigned long long)(v))

struct verify {
    const struct beton *b;
    beton_problem_fn report;
    void *user;
    uint64_t problems;
    bool stopped;
};

static void problem(struct verify *v, const mldf_error *what) {
    v->problems++;
    if (v->report && !v->report(v->user, what))
        v->stopped = true;
}

/* The blob's page is the sample's page; *page is MLDF_NONE before the first. */
static void check_page(struct verify *v, uint64_t sample, const struct beton_field *f, const struct beton_value *value,
                       uint64_t *page) {
    mldf_error what;
    uint64_t size = v->b->info.page_size, first = value->ptr / size;
    uint64_t last = value->bytes ? (value->ptr + value->bytes - 1) / size : first;
    if (first != last)
        mldfi_fail_at(&what, MLDF_E_CORRUPT, value->ptr, "the blob of %llu bytes at %llu crosses a page boundary",
                      ULL(value->bytes), ULL(value->ptr));
    else if (*page != MLDF_NONE && *page != first)
        mldfi_fail_at(&what, MLDF_E_CORRUPT, value->ptr, "the blob is in page %llu, others of this sample in page %llu",
                      ULL(first), ULL(*page));
    else {
        *page = first;
        return;
    }
    mldfi_error_place(&what, sample, f->name);
    problem(v, &what);
}

static void check_sample(struct verify *v, uint64_t sample) {
    uint64_t page = MLDF_NONE;
    for (uint32_t i = 0; i < v->b->info.field_count && !v->stopped; i++) {
        const struct beton_field *f = &v->b->fields[i];
        struct beton_value value;
        mldf_error what;
        uint64_t size;
        if (mldfi_beton_value(v->b, sample, i, &value, &what) < 0) {
            problem(v, &what);
            continue;
        }
        if (!f->has_blob || value.bytes == 0)
            continue;
        if (!mldfi_beton_blob(v->b, value.ptr, &size)) {
            mldfi_fail_at(&what, MLDF_E_CORRUPT, value.ptr, "ptr %llu is not in the allocation table", ULL(value.ptr));
            mldfi_error_place(&what, sample, f->name);
            problem(v, &what);
            continue;
        }
        check_page(v, sample, f, &value, &page);
    }
}

static void check_table(struct verify *v) {
    const struct beton *b = v->b;
    for (uint64_t i = 0; i < b->info.entry_count && !v->stopped; i++) {
        struct beton_entry e = mldfi_beton_entry(b, i);
        mldf_error what;
        if (e.sample >= b->info.count)
            mldfi_fail_at(&what, MLDF_E_CORRUPT, b->info.table_offset,
                          "an entry of the table is for sample %llu of %llu", ULL(e.sample), ULL(b->info.count));
        else if (e.ptr < b->rows_end || !mldfi_range_inside(e.ptr, e.size, b->info.table_offset))
            mldfi_fail_at(&what, MLDF_E_CORRUPT, b->info.table_offset,
                          "an entry of the table, ptr %llu + size %llu, is not between the rows and the table",
                          ULL(e.ptr), ULL(e.size));
        else
            continue;
        mldfi_error_place(&what, e.sample, NULL);
        problem(v, &what);
    }
}

mldf_status mldfi_beton_verify(const struct beton *b, beton_problem_fn report, void *user, uint64_t *problems,
                               mldf_error *err) {
    struct verify v = {.b = b, .report = report, .user = user};
    for (uint64_t i = 0; i < b->info.count && !v.stopped; i++) {
        check_sample(&v, i);
        if (report && !v.stopped)
            v.stopped = !report(user, NULL);
    }
    if (!v.stopped)
        check_table(&v);
    if (problems)
        *problems = v.problems;
    return v.stopped ? mldfi_fail(err, MLDF_E_CANCELLED, "stopped after %llu problems", ULL(v.problems)) : MLDF_OK;
}
