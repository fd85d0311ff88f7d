/* Looking at everything a TBL file holds, and going on after each defect. */
#include "interop/tbl_inner.h"
#include "util/bytes.h"
#include "util/error.h"

#define ULL(v) ((unsigned long long)(v))

struct verify {
    struct tbl *tbl;
    tbl_problem_fn report;
    void *user;
    uint64_t problems;
    bool stopped;
};

static void problem(struct verify *v, const mldf_error *what) {
    v->problems++;
    if (v->report && !v->report(v->user, what))
        v->stopped = true;
}

static void check_kind(struct verify *v, uint64_t sample) {
    struct tbl_entry e;
    mldf_error what;
    if (mldfi_tbl_entry(v->tbl, sample, &e, &what) < 0)
        return; /* said already */
    uint64_t at = v->tbl->info.version == 1 ? TBL_V1_HEADER + sample * TBL_V1_ENTRY + 12
                                            : TBL_V2_HEADER + sample * TBL_V2_ENTRY + 20;
    if (e.format > (v->tbl->info.version == 1 ? TBL_TIFF : TBL_RAW_U8))
        mldfi_fail_at(&what, MLDF_E_CORRUPT, at, "format %u is not one of version %u", e.format, v->tbl->info.version);
    else if (e.format == TBL_RAW_U8 && e.size != (uint64_t)e.width * e.height * 3)
        mldfi_fail_at(&what, MLDF_E_CORRUPT, at, "RAW_U8 of %u x %u is %llu bytes, the sample has %u", e.width,
                      e.height, ULL((uint64_t)e.width * e.height * 3), e.size);
    else
        return;
    mldfi_error_place(&what, sample, NULL);
    problem(v, &what);
}

static void check_metadata(struct verify *v) {
    const struct tbl_info *info = &v->tbl->info;
    uint64_t at = info->metadata_offset, end = at + info->metadata_bytes, next;
    mldf_error what;
    for (; at < end && !v->stopped; at = next) {
        struct tbl_metadata block;
        uint64_t sample;
        if (mldfi_tbl_block_at(v->tbl, at, &sample, &block, &next, &what) < 0) {
            problem(v, &what); /* where the next one begins is not known any more */
            return;
        }
        if (sample >= info->count) {
            mldfi_fail_at(&what, MLDF_E_CORRUPT, at, "a metadata block for sample %llu of %llu", ULL(sample),
                          ULL(info->count));
            problem(v, &what);
        }
    }
}

mldf_status mldfi_tbl_verify(struct tbl *tbl, tbl_problem_fn report, void *user, uint64_t *problems, mldf_error *err) {
    struct verify v = {.tbl = tbl, .report = report, .user = user};
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_status status = MLDF_OK;
    for (uint64_t i = 0; i < tbl->info.count && !v.stopped && status >= 0; i++) {
        const uint8_t *data;
        uint64_t bytes;
        mldf_error what;
        mldf_status got = mldfi_tbl_payload(tbl, i, true, &scratch, &data, &bytes, &what);
        if (got == MLDF_E_MEMORY || got == MLDF_E_UNSUPPORTED) {
            status = got; /* says nothing about the file */
            if (err)
                *err = what;
        } else if (got < 0) {
            problem(&v, &what);
        }
        if (!v.stopped && status >= 0)
            check_kind(&v, i);
        if (report && !v.stopped)
            v.stopped = !report(user, NULL);
    }
    if (!v.stopped && status >= 0)
        check_metadata(&v);
    mldf_buffer_free(&scratch);
    if (problems)
        *problems = v.problems;
    if (status >= 0 && v.stopped)
        return mldfi_fail(err, MLDF_E_CANCELLED, "stopped after %llu problems", ULL(v.problems));
    return status;
}
