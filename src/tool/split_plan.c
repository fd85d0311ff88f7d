/* Which sample goes where. Consecutive parts need only their sizes. Strata and shuffles are settled by ranks: the k-th sample of a class
 * has rank k, or a keyed permutation of it, and the class's quotas cut the ranks into parts. So the result depends on the values and the
 * seed alone; the parts are kept in a stream that spills (4 bytes for each sample). See split.h. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/split.h"
#include "tool/tally.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 i128;

#define FRACTION_UNITS 1000000000.0

struct strata {
    const mldf_reader *reader;
    size_t field; /* SIZE_MAX: one class */
    struct tally tally;
    mldf_buffer scratch;
    const uint64_t *weights; /* of the parts */
    size_t parts;
    uint64_t total; /* of the weights */
    uint64_t *ends; /* classes × parts: ranks below ends[c][p] go to part p or before */
    uint64_t *seen; /* of each class so far */
};

/* ---- Quotas -------------------------------------------------------------------------------------------------------- */

/* The whole parts of every share first; what is left goes, one each, to the parts that lag most over all classes so far. So each class is
 * within one sample of its share in each part, and the parts themselves stay in proportion too, even with a class for each sample. */
static void set_quotas(const struct strata *s, uint64_t members, i128 *lag, uint64_t *quota) {
    uint64_t left = members;
    for (size_t p = 0; p < s->parts; p++) {
        u128 share = (u128)members * s->weights[p];
        quota[p] = (uint64_t)(share / s->total);
        left -= quota[p];
        lag[p] += (i128)(share - (u128)quota[p] * s->total);
    }
    while (left-- > 0) {
        size_t best = SIZE_MAX;
        for (size_t p = 0; p < s->parts; p++) {
            bool whole = (u128)members * s->weights[p] % s->total == 0;
            bool has_one = (u128)quota[p] * s->total > (u128)members * s->weights[p];
            if (!whole && !has_one && (best == SIZE_MAX || lag[p] > lag[best]))
                best = p;
        }
        quota[best]++;
        lag[best] -= (i128)s->total;
    }
    for (size_t p = 1; p < s->parts; p++)
        quota[p] += quota[p - 1];
}

static mldf_status make_quotas(struct strata *s, mldf_error *err) {
    size_t classes = s->tally.count;
    if (classes * s->parts > SPLIT_MAX_CELLS)
        return mldfi_fail(err, MLDF_E_LIMIT, "%zu values in %zu parts are more than can be kept in proportion", classes,
                          s->parts);
    i128 *lag = mldfi_alloc_zero(s->parts, sizeof *lag, err);
    s->ends = mldfi_alloc_zero(classes * s->parts + 1, sizeof *s->ends, err);
    s->seen = mldfi_alloc_zero(classes + 1, sizeof *s->seen, err);
    for (size_t c = 0; lag && s->ends && c < classes; c++)
        set_quotas(s, s->tally.entries[c].count, lag, s->ends + c * s->parts);
    bool good = lag && s->ends && s->seen;
    free(lag);
    return good ? MLDF_OK : MLDF_E_MEMORY;
}

/* ---- A keyed permutation of [0, n) ----------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* A Feistel network over the next even power of two; what falls outside is sent round again. */
static uint64_t permute(uint64_t n, uint64_t key, uint64_t x) {
    unsigned half = 1;
    while (half < 32 && UINT64_C(1) << (2 * half) < n)
        half++;
    uint64_t mask = (UINT64_C(1) << half) - 1;
    do {
        uint64_t left = x >> half, right = x & mask;
        for (uint64_t round = 0; round < 6; round++) {
            uint64_t next = left ^ (mix(key ^ mix(round << 40 ^ right)) & mask);
            left = right;
            right = next;
        }
        x = left << half | right;
    } while (x >= n);
    return x;
}

/* ---- Classes ------------------------------------------------------------------------------------------------------- */

static mldf_status class_of(struct strata *s, uint64_t sample, size_t *out, mldf_error *err) {
    mldf_value value;
    memset(&value, 0, sizeof value);
    if (s->field != SIZE_MAX) {
        mldf_status status = mldf_reader_get(s->reader, sample, s->field, &s->scratch, &value, err);
        if (status < 0)
            return status;
    }
    mldf_status status = mldfi_tally_add(&s->tally, &value, out, err);
    if (status == MLDF_OK && *out == SIZE_MAX)
        status = mldfi_fail(err, MLDF_E_LIMIT, "field '%s' has more than %d different values: nothing to stratify on",
                            mldf_schema_field(mldf_reader_schema(s->reader), s->field)->name, SPLIT_MAX_CLASSES);
    return status;
}

static mldf_status find_by(struct strata *s, const char *name, mldf_error *err) {
    s->field = SIZE_MAX;
    if (!name)
        return MLDF_OK;
    TRY(mldf_schema_find(mldf_reader_schema(s->reader), name, &s->field, err));
    const mldf_field *field = mldf_schema_field(mldf_reader_schema(s->reader), s->field);
    if (field->type_id != MLDF_INT && field->type_id != MLDF_FLOAT && field->type_id != MLDF_TEXT &&
        field->type_id != MLDF_JSON && field->type_id != MLDF_BYTES)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "field '%s' is of type %s: samples are not stratified on those", name,
                          field->type_name);
    return MLDF_OK;
}

static size_t part_of(const struct strata *s, size_t class, uint64_t rank) {
    const uint64_t *ends = s->ends + class * s->parts;
    size_t low = 0, high = s->parts - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rank < ends[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static mldf_status assign_one(struct strata *s, struct split_plan *plan, const mldf_split_options *options,
                              uint64_t sample, mldf_error *err) {
    size_t class;
    uint8_t word[4];
    TRY(class_of(s, sample, &class, err));
    uint64_t rank = s->seen[class]++, members = s->ends[class * s->parts + s->parts - 1];
    if (options->shuffle)
        rank = permute(members, mix(options->seed ^ mix(class)), rank);
    mldfi_store_u32(word, (uint32_t)part_of(s, class, rank));
    return mldfi_stream_push(&plan->assigned, word, sizeof word, err);
}

static mldf_status scatter(struct split_plan *plan, struct strata *s, const char *target,
                           const mldf_split_options *options, struct input_watch *watch, mldf_error *err) {
    uint64_t samples = mldf_reader_sample_count(s->reader);
    size_t class;
    mldfi_tally_begin(&s->tally, SPLIT_MAX_CLASSES);
    mldf_status status = find_by(s, options->by, err);
    for (uint64_t i = 0; status == MLDF_OK && i < samples; i++) {
        status = class_of(s, i, &class, err);
        if (status == MLDF_OK && i % 256 == 0)
            status = mldfi_watch(watch, false, err);
    }
    if (status == MLDF_OK)
        status = make_quotas(s, err);
    if (status == MLDF_OK)
        status = mldfi_spill_init(&plan->spill, target, err);
    if (status < 0)
        return status;
    plan->scattered = true;
    mldfi_stream_init(&plan->assigned, &plan->spill);
    for (uint64_t i = 0; status == MLDF_OK && i < samples; i++) {
        status = assign_one(s, plan, options, i, err);
        if (status == MLDF_OK && i % 256 == 0)
            status = mldfi_watch(watch, false, err);
    }
    return status;
}

/* ---- Sizes --------------------------------------------------------------------------------------------------------- */

static mldf_status count_weights(struct split_plan *plan, uint64_t samples, uint64_t each, mldf_error *err) {
    uint64_t parts = samples / each + (samples % each != 0);
    if (parts > SPLIT_MAX_PARTS)
        return mldfi_fail(err, MLDF_E_LIMIT, "%" PRIu64 " parts; at most %d are possible", parts, SPLIT_MAX_PARTS);
    plan->parts = parts ? (size_t)parts : 1;
    plan->sizes = mldfi_alloc_zero(plan->parts, sizeof *plan->sizes, err);
    if (!plan->sizes)
        return MLDF_E_MEMORY;
    for (size_t p = 0; p < plan->parts; p++, samples -= plan->sizes[p - 1])
        plan->sizes[p] = samples < each ? samples : each;
    return MLDF_OK;
}

static mldf_status fraction_weights(struct split_plan *plan, const mldf_split_options *options, mldf_error *err) {
    double sum = 0;
    if (options->fraction_count > SPLIT_MAX_PARTS)
        return mldfi_fail(err, MLDF_E_LIMIT, "%zu fractions; at most %d are possible", options->fraction_count,
                          SPLIT_MAX_PARTS);
    plan->parts = options->fraction_count;
    plan->sizes = mldfi_alloc_zero(plan->parts, sizeof *plan->sizes, err);
    if (!plan->sizes)
        return MLDF_E_MEMORY;
    for (size_t p = 0; p < plan->parts; p++) {
        double f = options->fractions[p];
        if (!(f >= 0 && f <= 1))
            return mldfi_fail(err, MLDF_E_ARGUMENT, "%g is not a fraction from 0 to 1", f);
        sum += f;
        plan->sizes[p] = (uint64_t)(f * FRACTION_UNITS + 0.5);
    }
    if (fabs(sum - 1) > 1e-6)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "the fractions add up to %g, not to 1", sum);
    return MLDF_OK;
}

/* Weights into numbers of samples: each boundary is rounded, so that nothing is lost or given twice. */
static void cut(struct split_plan *plan, uint64_t samples, uint64_t total) {
    u128 sum = 0;
    uint64_t before = 0;
    for (size_t p = 0; p < plan->parts; p++) {
        sum += plan->sizes[p];
        uint64_t end = (uint64_t)(((u128)samples * sum + total / 2) / total);
        plan->sizes[p] = end - before;
        before = end;
    }
}

mldf_status mldfi_split_plan(struct split_plan *plan, const mldf_reader *reader, const char *target,
                             const mldf_split_options *options, struct input_watch *watch, mldf_error *err) {
    uint64_t samples = mldf_reader_sample_count(reader);
    memset(plan, 0, sizeof *plan);
    plan->spill.file = (struct os_file)OS_FILE_NONE;
    mldf_status status =
        options->count ? count_weights(plan, samples, options->count, err) : fraction_weights(plan, options, err);
    if (status < 0)
        return status;
    struct strata s = {.reader = reader, .weights = plan->sizes, .parts = plan->parts};
    for (size_t p = 0; p < plan->parts; p++)
        s.total += plan->sizes[p];
    if (s.total && (options->by || options->shuffle))
        status = scatter(plan, &s, target, options, watch, err);
    else if (s.total)
        cut(plan, samples, s.total);
    mldfi_tally_free(&s.tally);
    mldf_buffer_free(&s.scratch);
    free(s.ends);
    free(s.seen);
    return status;
}

void mldfi_split_plan_free(struct split_plan *plan) {
    if (plan->scattered)
        mldfi_spill_free(&plan->spill);
    free(plan->sizes);
    memset(plan, 0, sizeof *plan);
}

mldf_status mldfi_split_assigned(const struct split_plan *plan, uint64_t first, uint32_t *out, size_t count,
                                 mldf_error *err) {
    return mldfi_stream_read(&plan->assigned, 4 * first, out, 4 * count, err);
}
