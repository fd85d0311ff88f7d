/* Where payloads go: the page rule of the specification ("Data region").
 *
 *     a payload starts at the least p >= cursor with (p + lead) % align == 0
 *     a sample whose span, measured from a page boundary, is less than an eighth of a page lies in one page
 *
 * Page boundaries are multiples of 64, so a sample looks the same from each of them: it is measured from byte 0. */
#include "format/format.h"
#include "util/bytes.h"

static const uint64_t end_of_space = UINT64_C(1) << 63;

/* First byte at or after cursor where this payload may start; cursor <= 2^63. */
static uint64_t start_of(const struct placement *payload, uint64_t cursor) {
    return mldfi_align_up(cursor + payload->lead, payload->align) - payload->lead;
}

/* Sets every ptr; returns the end, or UINT64_MAX when it would pass 2^63. */
static uint64_t place_from(struct placement *payloads, size_t count, uint64_t cursor) {
    for (size_t i = 0; i < count; i++) {
        uint64_t start = start_of(&payloads[i], cursor);
        if (!mldfi_range_inside(start, payloads[i].bytes, end_of_space))
            return UINT64_MAX;
        payloads[i].ptr = start;
        cursor = start + payloads[i].bytes;
    }
    return cursor;
}

bool mldfi_place_sample(struct placement *payloads, size_t count, uint64_t page_size, uint64_t *cursor) {
    if (count == 0)
        return true;
    if (*cursor > end_of_space)
        return false;
    uint64_t end = place_from(payloads, count, 0);
    if (end == UINT64_MAX)
        return false;
    uint64_t span = end - payloads[0].ptr;

    end = place_from(payloads, count, *cursor);
    if (end == UINT64_MAX)
        return false;
    if (span < page_size / 8 && payloads[0].ptr / page_size != (end - 1) / page_size)
        end = place_from(payloads, count, mldfi_align_up(*cursor, page_size));
    if (end == UINT64_MAX)
        return false;
    *cursor = end;
    return true;
}
