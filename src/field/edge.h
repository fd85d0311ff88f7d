/* The static type of a value between the steps of a pipeline, and what is known of a field's values before any is read. A field's type says both
 * of its values (field.h); src/pipeline computes with them. */
#ifndef MLDF_FIELD_EDGE_H
#define MLDF_FIELD_EDGE_H

#include "field/media.h"
#include "mldf/schema.h"

typedef enum value_kind {
    VALUE_ARRAY,   /* dense, C order; a number is an array of no dimensions */
    VALUE_IMAGE,   /* an array of pixels; dtype U8, U16, F16, BF16, F32 */
    VALUE_ENCODED, /* stored media before its decoder: `family` says which */
    VALUE_BYTES    /* text, JSON, bytes: u8, one dimension that varies */
} value_kind;

/* What a geometric operation does with a value. */
typedef enum value_role {
    ROLE_NONE,
    ROLE_IMAGE,
    ROLE_MASK,  /* an image of class numbers: moved by nearest neighbour, never changed in colour */
    ROLE_BOXES, /* array [..., 4]: x0, y0, x1, y1 in pixels, any float or integer dtype; computed in f32, kept as f32 */
    ROLE_POINTS, /* array [..., 2 or more]: x, y in pixels, the rest is carried along */
    ROLE_FLOW /* an image of two channels in f32: dx, dy in pixels; NaN where the motion is not known. Vectors are scaled and mirrored with their place */
} value_role;

enum { DIM_VARIES = -1 };

/* mldf_dtype_bytes of an element type that is one. */
extern const uint8_t mldfi_dtype_sizes[];
static inline size_t mldfi_dtype_size(mldf_dtype dtype) {
    return mldfi_dtype_sizes[dtype];
}

/* Axes: a letter for each dimension. t: frames or samples in time; h: rows; w: columns; c: channels. An image is "hwc" or "chw", a clip
 * "thwc" or "tchw", a recording "t" or "ct", a spectrogram (f: bands) "ft" or "tf", maybe with c in front. n, first of all: several clips of a
 * recording; operations are mapped over them with one draw (src/pipeline/frames.h). */
static inline uint32_t mldfi_axis(const char *axes, char letter) {
    uint32_t i = 0;
    while (axes[i] && axes[i] != letter)
        i++;
    return i;
}
/* Channels in front of rows and columns? */
static inline bool mldfi_planar(const char *axes) {
    uint32_t h = mldfi_axis(axes, 'h');
    return axes[h] && mldfi_axis(axes, 'c') < h;
}
static inline void mldfi_set_axes(char axes[MLDF_MAX_DIMS + 1], const char *letters) {
    __builtin_memset(axes, 0, MLDF_MAX_DIMS + 1);
    for (uint32_t i = 0; i < MLDF_MAX_DIMS && letters[i]; i++)
        axes[i] = letters[i];
}

/* An exact number: num / den. */
struct ratio {
    uint64_t num, den;
};

/* When a sound begins: num / den seconds after the first frame of its video is shown. den 0: with it. */
struct start {
    int64_t num;
    uint64_t den;
};

struct frame_source;

/* Samples a second of recordings: the least and the most that occur; 0: not known. */
struct rates {
    uint32_t least, most;
};

/* The static type of a value. */
struct edge {
    value_kind kind;
    value_role role;
    mldf_dtype dtype;
    char axes[MLDF_MAX_DIMS + 1];     /* what each dimension is; "" where dimensions have no names */
    media_family family;              /* ENCODED: whose decoder */
    bool upright;                     /* ENCODED images: no orientation makes a width a height */
    struct ratio rate;                /* steps of axis t a second; den 0: there is none, or samples differ */
    struct ratio seconds;             /* how long every value is, however many steps that is; den 0: not known */
    struct rates rates;               /* ENCODED audio: the rates that occur */
    const struct frame_source *video; /* ENCODED video: how its frames are read (video_source.h), */
    const void *video_state;          /* and the field's state */
    bool timed;                       /* a video, stored or decoded: each frame has a time of its own */
    bool anchored;  /* a recording whose first sample is the stored one's: the times of all are known */
    uint32_t clips; /* axis t is so many clips end to end, all of one length; 0 and 1: one */
    uint32_t ndim;
    int64_t dims[MLDF_MAX_DIMS];  /* DIM_VARIES where samples differ */
    uint64_t most[MLDF_MAX_DIMS]; /* an upper bound of each dimension; MLDF_NONE: not known */
};

/* Dimensions that are no longer what they were. */
static inline void mldfi_edge_unname(struct edge *edge) {
    mldfi_set_axes(edge->axes, "");
    edge->rate = edge->seconds = (struct ratio){0, 0};
    edge->timed = edge->anchored = false;
    edge->clips = 0;
}
/* The dimension along which values are long: axis t; where dimensions have no names, the first. ndim: there is none. */
static inline uint32_t mldfi_time_axis(const char *axes, uint32_t ndim) {
    return axes[0] ? mldfi_axis(axes, 't') : ndim ? 0 : ndim;
}

/* What is known of a field's values besides its schema: the file's statistics, or one pass over its rows. */
struct value_bounds {
    bool known;
    uint32_t ndim;
    uint64_t least[MLDF_MAX_DIMS], most[MLDF_MAX_DIMS]; /* images: height, width, channels; audio: samples, channels */
    union {                                             /* what the field's own type adds, and reads in its edge */
        struct image_notes {
            uint32_t bits;      /* 8, 16; 0: both occur */
            bool same_channels; /* all have most[2] channels */
            bool upright;       /* no orientation turns one by 90 degrees */
        } image;
        struct audio_notes {
            struct rates rates;
        } audio;
    };
};

/* A value of this size was seen along dimension i; first: no other was before. */
static inline void mldfi_bounds_see(struct value_bounds *bounds, uint32_t i, uint64_t size, bool first) {
    if (first || size < bounds->least[i])
        bounds->least[i] = size;
    if (first || size > bounds->most[i])
        bounds->most[i] = size;
}

/* A dimension that the schema states. */
static inline void mldfi_edge_fix(struct edge *edge, uint32_t i, int64_t size) {
    edge->dims[i] = size;
    edge->most[i] = (uint64_t)size;
}
/* A dimension that the schema leaves open: as far as the bounds, which may be NULL, know it. */
static inline void mldfi_edge_bound(struct edge *edge, uint32_t i, const struct value_bounds *bounds) {
    edge->dims[i] = DIM_VARIES;
    edge->most[i] = MLDF_NONE;
    if (!bounds || !bounds->known || i >= bounds->ndim)
        return;
    edge->most[i] = bounds->most[i];
    if (bounds->least[i] == bounds->most[i] && bounds->most[i] <= INT64_MAX)
        edge->dims[i] = (int64_t)bounds->most[i];
}

#endif
