/* The stored bytes that begin at a pointer: binary search in the allocation table, which is sorted by pointer. Entries are
 * checked when found; an unsorted table can only make the search miss. */
#include <inttypes.h>

#include "reader/reader.h"
#include "util/bytes.h"
#include "util/error.h"

mldf_status mldfi_reader_allocation(const mldf_reader *reader, uint64_t index, uint64_t *ptr, uint64_t *bytes,
                                    mldf_error *err) {
    uint8_t entry[FORMAT_ALLOCATION_BYTES];
    mldf_status status =
        mldfi_reader_copy(reader, reader->tables.allocation.ptr + index * sizeof entry, entry, sizeof entry, err);
    if (status < 0)
        return status;
    *ptr = mldfi_load_u64(entry);
    *bytes = mldfi_load_u64(entry + 8);
    return MLDF_OK;
}

mldf_status mldf_reader_read_ptr(const mldf_reader *reader, uint64_t ptr, mldf_buffer *scratch, const void **data,
                                 uint64_t *bytes, mldf_error *err) {
    uint64_t low = 0, high, found = 0, size = 0;
    const uint8_t *view;
    if (!reader || !data || !bytes)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "reading at a pointer needs a reader and a place for the result");
    high = reader->tables.allocation.entries;
    /* The last entry whose pointer is not above the one wanted is before `high`, and is `low` in the end. */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        mldf_status status = mldfi_reader_allocation(reader, middle, &found, &size, err);
        if (status < 0)
            return status;
        if (found == ptr) {
            low = middle;
            break;
        }
        if (found < ptr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low >= high) {
        mldfi_fail(err, MLDF_E_NO_SAMPLE, "no payload begins at byte %" PRIu64, ptr);
        return mldfi_reader_name_error(reader, err, MLDF_E_NO_SAMPLE);
    }
    if (size == 0 || ptr < reader->header.data_ptr || !mldfi_range_inside(ptr, size, reader->end))
        return mldfi_reader_fail(reader, err, MLDF_E_CORRUPT,
                                 reader->tables.allocation.ptr + low * FORMAT_ALLOCATION_BYTES,
                                 "allocation entry %" PRIu64 ": ptr %" PRIu64 " + size %" PRIu64
                                 " is not inside the data region, %" PRIu64 " to %" PRIu64,
                                 low, ptr, size, reader->header.data_ptr, reader->end);
    if (scratch)
        scratch->size = 0;
    mldf_status status = mldfi_reader_view(reader, ptr, size, scratch, &view, err);
    if (status < 0)
        return status;
    *data = view;
    *bytes = size;
    return MLDF_OK;
}
