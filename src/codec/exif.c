/* The TIFF structure: directories of tagged values, in either byte order, classic or Big. EXIF is one inside a JPEG, PNG or
 * WebP; a TIFF file is one as a whole. Nothing in it is trusted. Source: TIFF 6.0 and the BigTIFF design; EXIF 2.32. */
#include <string.h>

#include "codec/image.h"
#include "util/bytes.h"

enum { TAG_ORIENTATION = 274, TYPE_SHORT = 3, TYPE_LONG = 4, TYPE_LONG8 = 16 };

static uint64_t load(const struct tiff_view *v, uint64_t at, unsigned width) {
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) {
        uint64_t byte = v->data[at + (v->big_endian ? i : width - 1 - i)];
        value = value << 8 | byte;
    }
    return value;
}

bool mldfi_tiff_begin(struct tiff_view *view, const uint8_t *data, size_t bytes, uint64_t *first_directory) {
    memset(view, 0, sizeof *view);
    view->data = data;
    view->bytes = bytes;
    if (bytes < 8 || data[0] != data[1] || (data[0] != 'I' && data[0] != 'M'))
        return false;
    view->big_endian = data[0] == 'M';
    uint64_t version = load(view, 2, 2);
    if (version == 42) {
        *first_directory = load(view, 4, 4);
        return true;
    }
    if (version != 43 || bytes < 16 || load(view, 4, 2) != 8)
        return false;
    view->big_tiff = true;
    *first_directory = load(view, 8, 8);
    return true;
}

static unsigned entry_bytes(const struct tiff_view *v) {
    return v->big_tiff ? 20 : 12;
}

static unsigned count_bytes(const struct tiff_view *v) {
    return v->big_tiff ? 8 : 2;
}

bool mldfi_tiff_directory(const struct tiff_view *v, uint64_t offset, uint64_t *count, uint64_t *next) {
    unsigned pointer = v->big_tiff ? 8 : 4;
    if (!mldfi_range_inside(offset, count_bytes(v), v->bytes))
        return false;
    *count = load(v, offset, count_bytes(v));
    uint64_t room = v->bytes - offset - count_bytes(v);
    if (*count > room / entry_bytes(v) || room - *count * entry_bytes(v) < pointer)
        return false;
    *next = load(v, offset + count_bytes(v) + *count * entry_bytes(v), pointer);
    return true;
}

static unsigned type_bytes(uint16_t type) {
    static const uint8_t widths[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
    return type < sizeof widths ? widths[type] : 0;
}

bool mldfi_tiff_entry(const struct tiff_view *v, uint64_t directory, uint64_t index, struct tiff_entry *out) {
    uint64_t at = directory + count_bytes(v) + index * entry_bytes(v), bytes;
    unsigned wide = v->big_tiff ? 8 : 4;
    out->tag = (uint16_t)load(v, at, 2);
    out->type = (uint16_t)load(v, at + 2, 2);
    out->count = load(v, at + 4, wide);
    if (!mldfi_mul_u64(out->count, type_bytes(out->type), &bytes) || bytes == 0)
        return false;
    out->value_offset = bytes <= wide ? at + 4 + wide : load(v, at + 4 + wide, wide);
    return mldfi_range_inside(out->value_offset, bytes, v->bytes);
}

uint64_t mldfi_tiff_value(const struct tiff_view *v, const struct tiff_entry *entry, uint64_t index) {
    unsigned width = type_bytes(entry->type);
    if (entry->type != TYPE_SHORT && entry->type != TYPE_LONG && entry->type != TYPE_LONG8)
        return 0;
    return index < entry->count ? load(v, entry->value_offset + index * width, width) : 0;
}

unsigned mldfi_exif_orientation(const uint8_t *data, size_t bytes) {
    struct tiff_view view;
    struct tiff_entry entry;
    uint64_t directory, count, next;
    if (!mldfi_tiff_begin(&view, data, bytes, &directory) || !mldfi_tiff_directory(&view, directory, &count, &next))
        return 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!mldfi_tiff_entry(&view, directory, i, &entry) || entry.tag != TAG_ORIENTATION)
            continue;
        uint64_t value = mldfi_tiff_value(&view, &entry, 0);
        return value >= 1 && value <= 8 ? (unsigned)value : 0;
    }
    return 0;
}
