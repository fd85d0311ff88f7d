/* The map steps: an item is a row and its neighbours in the same group (view_steps.c). For each named field there is a list of offsets, in rows or in
 * seconds; the item's value is what the rows at these offsets have, stacked, and a mask says which of them lie outside the group. */
#ifndef MLDF_ITEMS_STEPS_H
#define MLDF_ITEMS_STEPS_H

#include "items/items.h"

enum { STEPS_OFFSETS = 4096, STEPS_FRAMES = 64 };

struct steps_field {
    char *name;
    double *offsets; /* rows; or seconds */
    uint32_t count;
    bool seconds;
    bool video;     /* frames of the video that the group's first row holds; otherwise numbers or arrays of one shape */
    size_t *fields; /* in each reader's schema */
    mldf_dtype dtype;
    size_t bytes; /* of one row's value */
};

struct steps {
    struct steps_field *fields;
    size_t count;
    /* Group g is rows [starts[g], starts[g + 1]) of all readers' rows counted through; its items are [items[g], items[g + 1]), and the first of
     * them is row anchors[g]. */
    uint64_t *starts, *items, *anchors;
    size_t group_count;
    double *times; /* of all rows; NULL: no field needs them */
    int edge;
    double tolerance;
};
enum { STEPS_CLAMP, STEPS_ZERO, STEPS_DROP, STEPS_ERROR };

/* The field's place among view->steps->fields, or SIZE_MAX. */
size_t mldfi_steps_find(const mldf_view *view, const char *name);
/* The type of its stacked value. */
void mldfi_steps_edge(const mldf_view *view, size_t field, struct edge *edge);
/* The stacked value of a field that is no video, in scratch. record: without its data. */
mldf_status mldfi_steps_value(const mldf_view *view, const mldf_reader *const *readers, const struct item_place *place,
                              size_t field, bool record, struct item_cache *cache, mldf_buffer *scratch,
                              mldf_value *out, mldf_error *err);
/* Which of its rows lie outside the group: an array of bool. */
mldf_status mldfi_steps_pad(const mldf_view *view, const struct item_place *place, size_t field, mldf_buffer *scratch,
                            mldf_value *out, mldf_error *err);
/* Of a video: the reader's row that holds it, and the times of the wanted frames in seconds from its first one on; NAN: zeros. */
mldf_status mldfi_steps_frames(const mldf_view *view, const struct item_place *place, size_t field, uint64_t *row,
                               double seconds[STEPS_FRAMES], mldf_error *err);

#endif
