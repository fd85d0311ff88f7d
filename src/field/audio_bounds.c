/* What is known of all recordings of a field before any is decoded: the least and most samples, channels and rates, and the edge that follows.
 * Records say it all. Statistics say the most samples and channels and which rates occur; whether all are of one length, or have the same
 * channels, takes a pass over the records, which ends when nothing can change any more: in a file of speech after two rows. */
#include "field/audio_type.h"
#include "field/edge.h"
#include "util/error.h"

static void see_rate(struct rates *rates, uint32_t rate, bool first) {
    if (first || rate < rates->least)
        rates->least = rate;
    if (first || rate > rates->most)
        rates->most = rate;
}

/* A record that says what no value of the field may be is a bad sample, and met later. Nulls are among them. */
static bool is_good(const struct audio_state *args, const mldf_audio_info *info) {
    return info->rate && info->channels && (!args->rate || info->rate == args->rate) &&
           (!args->channels || info->channels == args->channels);
}

static bool is_new(const struct survey *s, const mldf_audio_info *info) {
    const struct value_bounds *b = s->bounds;
    const struct rates *rates = &b->audio.rates;
    return s->seen == 0 || info->samples < b->least[0] || info->samples > b->most[0] || info->channels < b->least[1] ||
           info->channels > b->most[1] || info->rate < rates->least || info->rate > rates->most;
}

static void see_recording(struct survey *s, const mldf_audio_info *info) {
    struct value_bounds *b = s->bounds;
    bool first = s->seen++ == 0;
    mldfi_bounds_see(b, 0, info->samples, first);
    mldfi_bounds_see(b, 1, info->channels, first);
    see_rate(&b->audio.rates, info->rate, first);
    b->ndim = 2;
    b->known = true;
}

/* The file says which rates there are, and how long its recordings are: numbers of samples from 2^32 - 1 on look alike there. */
static bool says_enough(const mldf_field_stats *stats) {
    return stats && stats->present > 0 && stats->ndim == 2 && stats->number_kind == 2 && stats->min.u > 0 &&
           stats->max.u <= UINT32_MAX && stats->dims_max[0] < UINT32_MAX && stats->dims_max[1] > 0;
}

/* Recordings of different lengths have been seen; and of different channels, or all of this file have one number of them. */
static bool is_settled(const struct survey *s, const struct audio_state *args) {
    const struct value_bounds *b = s->bounds;
    bool one = s->stats->dims_max[1] == 1 || args->channels == s->stats->dims_max[1];
    return s->seen > 0 && b->least[0] != b->most[0] && (one || b->least[1] != b->most[1]);
}

/* The rest was not seen. */
static mldf_status conclude(struct survey *s) {
    for (uint32_t i = 0; i < 2; i++)
        mldfi_bounds_see(s->bounds, i, s->stats->dims_max[i], false);
    see_rate(&s->bounds->audio.rates, (uint32_t)s->stats->min.u, false);
    see_rate(&s->bounds->audio.rates, (uint32_t)s->stats->max.u, false);
    return MLDF_END;
}

mldf_status mldfi_audio_see(const struct schema_field *field, const struct record_block *block, size_t *at,
                            struct survey *s, mldf_error *err) {
    const struct audio_state *args = field->state;
    const uint8_t *record = block->records + *at * block->stride;
    bool may_end = says_enough(s->stats);
    for (; *at < block->count; ++*at, record += block->stride) {
        mldf_audio_info info;
        bool present = true;
        mldfi_audio_record_info(record, &info);
        if (!is_good(args, &info) || !is_new(s, &info))
            continue;
        TRY(block->is_present ? block->is_present(block->owner, *at, &present, err) : MLDF_OK);
        if (!present)
            continue;
        see_recording(s, &info);
        if (may_end && is_settled(s, args))
            return conclude(s);
    }
    return MLDF_OK;
}

void mldfi_audio_see_value(const struct schema_field *field, const mldf_value *value, struct survey *s) {
    mldf_audio_info info;
    if (!value->record || value->record_bytes != AUDIO_RECORD)
        return;
    mldfi_audio_record_info(value->record, &info);
    if (is_good(field->state, &info))
        see_recording(s, &info);
}

/* Where files together have other arguments than the field, which is the first one's, the bounds know better. */
mldf_status mldfi_audio_edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                             mldf_error *err) {
    const struct audio_state *args = field->state;
    bool known = bounds && bounds->known;
    (void)err;
    out->kind = VALUE_ENCODED;
    out->family = FAMILY_AUDIO;
    mldfi_set_axes(out->axes, "tc");
    out->dtype = MLDF_F32;
    out->ndim = 2;
    mldfi_edge_bound(out, 0, bounds);
    mldfi_edge_bound(out, 1, bounds);
    if (!known && args->channels)
        mldfi_edge_fix(out, 1, args->channels);
    out->rates = known ? bounds->audio.rates : (struct rates){args->rate, args->rate};
    if (out->rates.least && out->rates.least == out->rates.most)
        out->rate = (struct ratio){out->rates.least, 1};
    return MLDF_OK;
}
