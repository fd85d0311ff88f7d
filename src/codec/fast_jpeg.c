/* Packing a JPEG with its proofs, and making the file again. A file is packed only if the very bytes come back from the very record that is
 * stored; every other file stays as it is, with a reason that the caller counts. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codec/fast_jpeg.h"
#include "mldf/image.h"
#include "util/buffer.h"
#include "util/error.h"

const char *mldfi_fast_reason_name(enum fast_reason reason) {
    static const char *const names[FAST_REASONS] = {
        "taken",      "larger",   "cmyk",   "arithmetic", "progressive", "several scans",
        "quantisers", "sampling", "values", "range",      "other bytes", "damaged",
    };
    return (unsigned)reason < FAST_REASONS ? names[reason] : "unknown";
}

static mldf_status over_limit(uint64_t bytes, uint64_t most, mldf_error *err) {
    return mldfi_fail(err, MLDF_E_LIMIT,
                      "fast JPEG: to restore the file takes %" PRIu64 " bytes, and the limit is %" PRIu64, bytes, most);
}

/* The index tells where each segment begins: 8 bytes for each, of which a bit is stored. And a row of blocks. */
static mldf_status check_memory(const struct fast_grid *g, uint64_t most, mldf_error *err) {
    uint64_t blocks = g->blocks[0] + (g->classes > 1 ? g->blocks[1] : 0);
    uint64_t bytes =
        mldfi_fast_positions_count(g) * sizeof(uint64_t) + g->mcus_across * blocks * (128 + sizeof(uint64_t));
    return bytes > most ? over_limit(bytes, most, err) : MLDF_OK;
}

static mldf_status restore_rows(const struct fast_layout *l, struct fast_unpacker *u, struct fast_scan *scan,
                                const mldf_buffer *out, uint64_t most, mldf_error *err) {
    const struct fast_grid *g = &l->grid;
    size_t before = out->size;
    int16_t *blocks[2] = {NULL, NULL};
    uint64_t *places[2] = {NULL, NULL};
    mldf_status status = MLDF_OK;
    for (unsigned class = 0; status == MLDF_OK && class < g->classes; class ++) {
        blocks[class] = mldfi_alloc_zero((size_t)g->mcus_across * g->blocks[class], 128, err);
        places[class] = mldfi_alloc_zero((size_t)g->mcus_across * g->blocks[class], sizeof *places[class], err);
        status = blocks[class] && places[class] ? MLDF_OK : MLDF_E_MEMORY;
    }
    for (uint32_t row = 0; status == MLDF_OK && row < g->mcus_down; row++) {
        status = mldfi_fast_unpack_row(u, row, blocks, places, err);
        if (status == MLDF_OK)
            status = mldfi_fast_scan_row(scan, blocks, places, err);
        if (status == MLDF_OK && out->size - before > most)
            status = over_limit(out->size - before, most, err);
    }
    free(blocks[0]);
    free(blocks[1]);
    free(places[0]);
    free(places[1]);
    return status < 0 ? status : mldfi_fast_scan_end(scan, err);
}

mldf_status mldfi_fast_restore(const void *payload, size_t bytes, uint64_t most, mldf_buffer *out, mldf_error *err) {
    struct fast_layout layout;
    struct fast_unpacker *u = NULL;
    struct fast_scan *scan = NULL;
    mldf_buffer header = MLDF_BUFFER_INIT;
    size_t before = out->size;
    mldf_status status = mldfi_fast_parse(payload, bytes, &layout, err);
    if (status == MLDF_OK)
        status = check_memory(&layout.grid, most, err);
    if (status == MLDF_OK)
        status = mldfi_fast_unpack_new(&layout, &u, err);
    if (status == MLDF_OK)
        status = mldfi_fast_header_in(&layout, &header, err);
    if (status == MLDF_OK)
        status = mldfi_fast_scan_new(header.data, header.size, &layout.grid, out, &scan, err);
    if (status == MLDF_OK)
        status = mldf_buffer_append(out, header.data, header.size, err);
    if (status == MLDF_OK)
        status = restore_rows(&layout, u, scan, out, most, err);
    if (status == MLDF_OK && layout.tail_bytes)
        status = mldf_buffer_append(out, layout.tail, layout.tail_bytes, err);
    mldfi_fast_scan_free(scan);
    mldfi_fast_unpack_free(u);
    mldf_buffer_free(&header);
    if (status < 0)
        out->size = before;
    return status;
}

/* The proof: `record` gives the file's bytes. */
static mldf_status prove(const mldf_buffer *record, size_t from, const void *jpeg, size_t bytes, bool *good,
                         mldf_error *err) {
    mldf_buffer again = MLDF_BUFFER_INIT;
    mldf_status status =
        mldfi_fast_restore(record->data + from, record->size - from, MLDF_IMAGE_MAX_BYTES, &again, err);
    *good = status == MLDF_OK && again.size == bytes && memcmp(again.data, jpeg, bytes) == 0;
    mldf_buffer_free(&again);
    return status == MLDF_E_MEMORY ? status : MLDF_OK;
}

mldf_status mldfi_fast_pack(const void *jpeg, size_t bytes, unsigned flags, double limit, mldf_buffer *out,
                            enum fast_reason *reason, mldf_error *err) {
    struct fast_source source;
    size_t before = out->size;
    bool good = false;
    if (bytes > UINT32_MAX) {
        *reason = FAST_LARGER;
        return MLDF_OK;
    }
    mldf_status status = mldfi_fast_read(jpeg, bytes, &source, reason, err);
    if (status < 0 || *reason != FAST_TAKEN)
        return status;
    status = mldfi_fast_write(&source, jpeg, bytes, flags, out, err);
    mldfi_fast_source_free(&source);
    if (status == MLDF_OK && (double)(out->size - before) > limit * (double)bytes)
        *reason = FAST_LARGER;
    if (status == MLDF_OK && *reason == FAST_TAKEN) {
        status = prove(out, before, jpeg, bytes, &good, err);
        *reason = good ? FAST_TAKEN : FAST_BYTES;
    }
    if (status < 0 || *reason != FAST_TAKEN)
        out->size = before;
    return status;
}
