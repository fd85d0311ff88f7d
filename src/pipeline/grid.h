/* A spectrogram as memory: how far its frames and its bands are apart. Axes "ft" and "tf", maybe with channels in front; an array of two dimensions
 * without names is (frames, bands). */
#ifndef MLDF_PIPELINE_GRID_H
#define MLDF_PIPELINE_GRID_H

#include "pipeline/op.h"

struct grid {
    uint64_t items;           /* channels */
    uint64_t frames, bands;   /* of each */
    size_t item, frame, band; /* floats from one to the next */
    uint32_t t_at, f_at;      /* which dims they are */
};

static inline bool mldfi_edge_is_grid(const struct edge *e) {
    bool named = e->ndim >= 2 && e->ndim <= 3 && e->axes[0] && e->axes[mldfi_axis(e->axes, 'f')] &&
                 e->axes[mldfi_axis(e->axes, 't')] && (e->ndim == 2 || e->axes[0] == 'c');
    return e->kind == VALUE_ARRAY && e->dtype == MLDF_F32 && e->role == ROLE_NONE &&
           (named || (e->ndim == 2 && !e->axes[0]));
}

static inline uint32_t mldfi_grid_bands_at(const char *axes) {
    return axes[0] ? mldfi_axis(axes, 'f') : 1;
}

static inline struct grid mldfi_grid_of(const struct tensor *t) {
    struct grid g = {.items = t->ndim == 3 ? t->dims[0] : 1};
    g.f_at = mldfi_grid_bands_at(t->axes);
    g.t_at = t->axes[0] ? mldfi_axis(t->axes, 't') : 0;
    g.frames = t->dims[g.t_at];
    g.bands = t->dims[g.f_at];
    g.item = (size_t)(g.frames * g.bands);
    g.frame = g.t_at < g.f_at ? (size_t)g.bands : 1;
    g.band = g.t_at < g.f_at ? 1 : (size_t)g.frames;
    return g;
}

#endif
