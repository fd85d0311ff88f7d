/* What is known of all images of a field before any is decoded: the least and largest sides, whether channels and bits are the same, and the
 * edge that follows. Statistics say the largest sides; the rest takes a pass over the records. It ends as soon as the rest cannot change the plan:
 * in a file of photographs after a few rows. */
#include "field/edge.h"
#include "field/image_type.h"
#include "util/bytes.h"
#include "util/error.h"

static void see_image(struct survey *s, const mldf_image_info *info) {
    struct value_bounds *b = s->bounds;
    bool first = s->seen++ == 0, ink = info->color == MLDF_IMAGE_CMYK || info->color == MLDF_IMAGE_YCCK;
    uint64_t channels = ink ? 3 : info->channels; /* as decoded */
    mldfi_bounds_see(b, 0, info->height, first);
    mldfi_bounds_see(b, 1, info->width, first);
    mldfi_bounds_see(b, 2, channels, first);
    if (first)
        b->image.bits = info->bits;
    else if (b->image.bits != info->bits)
        b->image.bits = 0;
    b->image.same_channels = b->least[2] == b->most[2];
    b->image.upright = (first || b->image.upright) && info->orientation < 5;
    b->ndim = 3;
    b->known = true;
    s->image.rgb = s->image.rgb || channels == 3;
}

/* Neither the sides, nor the channels, nor the bits can turn out alike any more, or it does not matter: images of different channels become
 * RGB, so one that is RGB decides; and only if all have 16 bits are they decoded as such. */
static bool is_settled(const struct survey *s) {
    const struct value_bounds *b = s->bounds;
    return s->seen > 0 && b->least[0] != b->most[0] && b->least[1] != b->most[1] && b->image.bits != 16 &&
           (s->image.rgb || !b->image.same_channels);
}

/* The rest was not seen. */
static mldf_status conclude(struct survey *s) {
    for (uint32_t i = 0; i < 3; i++)
        mldfi_bounds_see(s->bounds, i, s->stats->dims_max[i], false);
    s->bounds->image.same_channels = false;
    s->bounds->image.upright = false;
    return MLDF_END;
}

/* Height, width, channels, mode, bits and colour stand side by side: a record that has the same of them, and the same orientation, as the last
 * one says nothing new. */
_Static_assert(IMAGE_COLOR - IMAGE_HEIGHT == 7, "eight bytes of a record say what it holds");

/* The first record from i on that differs from the last one that was looked at. */
static size_t skip_equal(const struct record_block *block, size_t i, const struct survey *s) {
    const uint8_t *record = block->records + i * block->stride;
    uint64_t last = s->image.last;
    uint8_t orientation = s->image.last_orientation;
    while (last && i < block->count && mldfi_load_u64(record + IMAGE_HEIGHT) == last &&
           record[IMAGE_ORIENTATION] == orientation) {
        i++;
        record += block->stride;
    }
    return i;
}

mldf_status mldfi_image_see(const struct schema_field *field, const struct record_block *block, size_t *at,
                            struct survey *s, mldf_error *err) {
    bool may_end = s->stats && s->stats->ndim == 3; /* the file says how large its images are */
    (void)field;
    if (*at > 0 && may_end && is_settled(s)) /* by the value in front */
        return conclude(s);
    for (; (*at = skip_equal(block, *at, s)) < block->count; ++*at) {
        const uint8_t *record = block->records + *at * block->stride;
        bool present = true;
        TRY(block->is_present ? block->is_present(block->owner, *at, &present, err) : MLDF_OK);
        if (present) {
            mldf_image_info info;
            mldfi_image_record_info(record, &info);
            if (!info.width || !info.height)
                return MLDF_OK; /* its value is needed */
            see_image(s, &info);
            s->image.last = mldfi_load_u64(record + IMAGE_HEIGHT);
            s->image.last_orientation = record[IMAGE_ORIENTATION];
        }
        if (may_end && is_settled(s))
            return conclude(s);
    }
    return MLDF_OK;
}

void mldfi_image_see_value(const struct schema_field *field, const mldf_value *value, struct survey *s) {
    mldf_image_info info;
    (void)field;
    if (mldfi_image_value_info(value, &info, NULL) < 0)
        return;
    if ((info.width == 0 || info.height == 0) && mldfi_image_probe(value->data, (size_t)value->bytes, &info, NULL) < 0)
        return;
    see_image(s, &info);
}

mldf_status mldfi_image_edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                             mldf_error *err) {
    bool known = bounds && bounds->known;
    (void)field, (void)err;
    out->kind = VALUE_ENCODED;
    out->family = FAMILY_IMAGE;
    out->role = ROLE_IMAGE;
    mldfi_set_axes(out->axes, "hwc");
    out->dtype = known && bounds->image.bits == 16 ? MLDF_U16 : MLDF_U8;
    out->upright = known && bounds->image.upright;
    out->ndim = 3;
    for (uint32_t i = 0; i < 3; i++)
        mldfi_edge_bound(out, i, bounds);
    if (known && !bounds->image.same_channels)
        out->dims[2] = DIM_VARIES;
    return MLDF_OK;
}
