/* Going on after an interruption. A checkpoint of the writer carries a resume_point: which source, which byte, which line (of
 * folders and archives: which sample). When the sources are not what they were (another name or size), the run is refused rather than mixed. See mldf/writer.h and pack.h. */
#include <string.h>
#include <sys/stat.h>

#include "os/file.h"
#include "tool/pack.h"
#include "util/bytes.h"
#include "util/error.h"

enum { POINT_BYTES = 48, POINT_VERSION = 1 };
static const double seconds_between = 2.0;

static uint64_t mix(uint64_t hash, const void *data, size_t bytes) {
    const uint8_t *p = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

static uint64_t fingerprint(const struct feed *feed) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < feed->source_count; i++) {
        struct stat st;
        uint64_t bytes = stat(feed->sources[i], &st) == 0 ? (uint64_t)st.st_size : 0;
        hash = mix(hash, feed->sources[i], strlen(feed->sources[i]) + 1);
        hash = mix(hash, &bytes, sizeof bytes);
    }
    return mix(hash, &feed->list_hash, feed->list_hash ? sizeof feed->list_hash : 0);
}

static void encode(const struct resume_point *point, uint8_t out[POINT_BYTES]) {
    memset(out, 0, POINT_BYTES);
    mldfi_store_u32(out, POINT_VERSION);
    mldfi_store_u32(out + 4, point->source);
    mldfi_store_u64(out + 8, point->offset);
    mldfi_store_u64(out + 16, point->line);
    mldfi_store_u64(out + 24, point->skipped);
    mldfi_store_u64(out + 32, point->fingerprint);
}

mldf_status mldfi_feed_resume(struct feed *feed, mldf_error *err) {
    size_t bytes = 0;
    if (!feed->options->resume)
        return MLDF_OK;
    const uint8_t *saved = mldf_writer_position(feed->writer, &bytes);
    uint64_t now = fingerprint(feed);
    feed->last_checkpoint = mldfi_time();
    feed->first_sample = mldf_writer_sample_count(feed->writer);
    feed->start.fingerprint = now;
    if (!saved)
        return MLDF_OK;
    if (bytes != POINT_BYTES || mldfi_load_u32(saved) != POINT_VERSION ||
        mldfi_load_u32(saved + 4) >= feed->source_count || mldfi_load_u64(saved + 32) != now)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "the partial file comes from other sources, or they have changed: remove it to start again");
    feed->start.source = mldfi_load_u32(saved + 4);
    feed->start.offset = mldfi_load_u64(saved + 8);
    feed->start.line = mldfi_load_u64(saved + 16);
    feed->start.skipped = feed->skipped = mldfi_load_u64(saved + 24);
    return MLDF_OK;
}

mldf_status mldfi_feed_checkpoint(struct feed *feed, size_t source, bool now, mldf_error *err) {
    uint8_t bytes[POINT_BYTES];
    struct resume_point point;
    if (!now && mldfi_time() - feed->last_checkpoint < seconds_between)
        return MLDF_OK;
    point.source = (uint32_t)source;
    point.offset = feed->row_end;
    point.line = feed->row_end_line;
    point.skipped = feed->skipped;
    point.fingerprint = feed->start.fingerprint;
    encode(&point, bytes);
    mldf_status status = mldf_writer_checkpoint(feed->writer, bytes, sizeof bytes, err);
    feed->last_checkpoint = mldfi_time();
    return status == MLDF_AGAIN ? MLDF_OK : status;
}
