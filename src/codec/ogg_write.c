/* Packets into Ogg pages: ogg.h. A page is closed where the caller says so, or before it has more than 255 segments. */
#include <string.h>

#include "codec/ogg.h"
#include "util/buffer.h"
#include "util/bytes.h"

enum { SERIAL = 1 };

static mldf_status flush(struct ogg_writer *w, bool continued, bool last, mldf_error *err) {
    uint8_t head[27] = {'O', 'g', 'g', 'S'};
    size_t start = w->out->size;
    head[5] = (uint8_t)((continued ? 1 : 0) | (w->sequence == 0 ? 2 : 0) | (last ? 4 : 0));
    mldfi_store_u64(head + 6, w->granule);
    mldfi_store_u32(head + 14, SERIAL);
    mldfi_store_u32(head + 18, w->sequence++);
    head[26] = (uint8_t)w->segments;
    mldf_status status = mldf_buffer_append(w->out, head, sizeof head, err);
    if (status == MLDF_OK)
        status = mldf_buffer_append(w->out, w->lacing, w->segments, err);
    if (status == MLDF_OK)
        status = mldf_buffer_append(w->out, w->body.data, w->body.size, err);
    if (status == MLDF_OK)
        mldfi_store_u32(w->out->data + start + 22, mldfi_ogg_crc(w->out->data + start, w->out->size - start));
    w->segments = 0;
    w->body.size = 0;
    w->granule = UINT64_MAX;
    return status;
}

mldf_status mldfi_ogg_put(struct ogg_writer *w, const void *packet, size_t bytes, uint64_t granule, bool end, bool last,
                          mldf_error *err) {
    const uint8_t *from = packet;
    mldf_status status = MLDF_OK;
    bool more = true, inside = false; /* inside: the page that is open began with the middle of this packet */
    if (w->segments == 0)
        w->granule = UINT64_MAX;
    while (more && status == MLDF_OK) {
        size_t piece = bytes < 255 ? bytes : 255;
        if (w->segments == 255) {
            status = flush(w, w->begun, false, err);
            w->begun = inside;
        }
        if (status == MLDF_OK)
            status = mldf_buffer_append(&w->body, from, piece, err);
        w->lacing[w->segments++] = (uint8_t)piece;
        more = piece == 255;
        from += piece;
        bytes -= piece;
        inside = true;
    }
    w->granule = granule;
    if (status == MLDF_OK && (end || last)) {
        status = flush(w, w->begun, last, err);
        w->begun = false;
    }
    return status;
}
