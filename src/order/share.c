/* Which positions of an epoch belong to which batch of which rank. Pure arithmetic on the global order: a global batch is G consecutive
 * positions, each rank has a consecutive piece of it, and nothing depends on what was before `from`. So a run may go on with any number of
 * ranks from wherever it stopped. */
#include <inttypes.h>
#include <string.h>

#include "mldf/order.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/options.h"

#define COUNT_MAX ((uint64_t)1 << 63)
#define BATCH_MAX ((uint64_t)1 << 62)

/* The options, checked, and G. */
static mldf_status take(const mldf_share_options *given, mldf_share_options *o, uint64_t *global, mldf_error *err) {
    *o = (mldf_share_options)MLDF_SHARE_OPTIONS_INIT;
    if (!given)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "no options: begin with MLDF_SHARE_OPTIONS_INIT");
    TRY(mldfi_take_options(o, sizeof *o, "mldf_share_options", given, err));
    if (o->world_size == 0 || o->rank >= o->world_size)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "rank %" PRIu32 " of %" PRIu32, o->rank, o->world_size);
    if ((o->batch_size == 0) == (o->global_batch_size == 0))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "batch_size is %" PRIu64 " and global_batch_size %" PRIu64 "; one of the two must be given",
                          o->batch_size, o->global_batch_size);
    if (o->count > COUNT_MAX || o->from > o->count)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "%" PRIu64 " of %" PRIu64 " positions consumed; an epoch has at most 2^63", o->from,
                          o->count);
    if ((unsigned)o->last > MLDF_LAST_PAD)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%d says nothing about the last batch", (int)o->last);
    *global = o->global_batch_size;
    if (*global == 0 && !mldfi_mul_u64(o->batch_size, o->world_size, global))
        *global = UINT64_MAX;
    if (*global > BATCH_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "batches of %" PRIu64 " on %" PRIu32 " ranks are more than 2^62",
                          o->batch_size ? o->batch_size : o->global_batch_size, o->world_size);
    if (*global < o->world_size)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "a global batch of %" PRIu64 " on %" PRIu32 " ranks leaves some without", *global,
                          o->world_size);
    return MLDF_OK;
}

static uint64_t batches(const mldf_share_options *o, uint64_t global) {
    uint64_t left = o->count - o->from;
    return left / global + (o->last != MLDF_LAST_DROP && left % global != 0);
}

mldf_status mldf_share_batch_count(const mldf_share_options *options, uint64_t *out, mldf_error *err) {
    mldf_share_options o;
    uint64_t global;
    TRY(take(options, &o, &global, err));
    *out = batches(&o, global);
    return MLDF_OK;
}

mldf_status mldf_share_batch(const mldf_share_options *options, uint64_t index, mldf_share *out, mldf_error *err) {
    mldf_share_options o;
    uint64_t global;
    memset(out, 0, sizeof *out);
    TRY(take(options, &o, &global, err));
    if (index >= batches(&o, global))
        return MLDF_END;
    uint64_t first = o.from + index * global;
    uint64_t left = o.count - first;
    uint64_t samples = left < global ? left : global; /* that are there; at least 1 */
    uint64_t shared = o.last == MLDF_LAST_PAD ? global : samples;
    uint64_t each = shared / o.world_size, more = shared % o.world_size; /* the first `more` ranks have one more */
    out->global_first = first;
    out->global_end = first + samples;
    out->first = first + o.rank * each + (o.rank < more ? o.rank : more);
    out->count = each + (o.rank < more);
    if (out->count == 0) { /* fewer samples than ranks */
        out->first = first + o.rank % samples;
        out->count = 1;
        return MLDF_OK;
    }
    uint64_t end = out->first + out->count;
    if (out->first < o.count)
        out->valid = end < o.count ? out->count : o.count - out->first;
    return MLDF_OK;
}
