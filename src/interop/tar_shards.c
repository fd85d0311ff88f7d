/* Brace patterns that name many shards: "data-{000..009}.tar" is ten names, "{train,val}-{0..3}.tar" is eight. As a shell does
 * it: the leftmost group changes slowest, a leading zero asks for equal widths, braces without '..' or ',' stay as they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interop/tar.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/number.h"

enum { GROUPS_MAX = 16, SHARDS_MAX = 1000000 };

struct range {
    uint64_t from, to;
    int width; /* of the numbers; 0: as they are */
};

/* "000..009" between begin and end? */
static bool is_range(const char *begin, const char *end, struct range *out) {
    const char *dots = begin;
    while (dots + 1 < end && !(dots[0] == '.' && dots[1] == '.'))
        dots++;
    if (dots + 1 >= end || dots == begin || dots + 2 == end)
        return false;
    for (const char *p = begin; p < end; p++)
        if ((*p < '0' || *p > '9') && p != dots && p != dots + 1)
            return false;
    size_t first = (size_t)(dots - begin), second = (size_t)(end - dots - 2);
    if (first > 18 || second > 18)
        return false;
    out->from = out->to = 0;
    for (const char *p = begin; p < dots; p++)
        out->from = out->from * 10 + (uint64_t)(*p - '0');
    for (const char *p = dots + 2; p < end; p++)
        out->to = out->to * 10 + (uint64_t)(*p - '0');
    bool padded = (first > 1 && *begin == '0') || (second > 1 && dots[2] == '0');
    out->width = padded ? (int)(first > second ? first : second) : 0;
    return true;
}

/* The first group that is one: *begin at '{', *end at '}'. */
static bool find_group(const char *text, const char **begin, const char **end, struct range *range, bool *is_list) {
    for (const char *p = strchr(text, '{'); p; p = strchr(p + 1, '{')) {
        const char *close = strpbrk(p + 1, "{}");
        if (!close || *close != '}')
            continue;
        *begin = p;
        *end = close;
        *is_list = memchr(p, ',', (size_t)(close - p)) != NULL;
        if (*is_list || is_range(p + 1, close, range))
            return true;
    }
    return false;
}

static mldf_status expand(struct tar_shards *out, mldf_buffer *made, const char *rest, int depth, mldf_error *err);

static mldf_status with(struct tar_shards *out, mldf_buffer *made, const char *piece, size_t bytes, const char *rest,
                        int depth, mldf_error *err) {
    size_t before = made->size;
    mldf_status status = mldf_buffer_append(made, piece, bytes, err);
    if (status >= 0)
        status = expand(out, made, rest, depth + 1, err);
    made->size = before;
    return status;
}

static mldf_status emit(struct tar_shards *out, mldf_buffer *made, const char *rest, mldf_error *err) {
    if (out->count >= SHARDS_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "the pattern names more than %d shards", SHARDS_MAX);
    mldf_status status = mldfi_array_reserve(&out->paths, &out->capacity, out->count + 1, sizeof *out->paths, err);
    size_t before = made->size;
    if (status >= 0)
        status = mldf_buffer_append(made, rest, strlen(rest), err);
    if (status < 0)
        return status;
    char *path = mldfi_copy_text((const char *)made->data, made->size, err);
    made->size = before;
    if (!path)
        return MLDF_E_MEMORY;
    out->paths[out->count++] = path;
    return MLDF_OK;
}

static mldf_status expand_range(struct tar_shards *out, mldf_buffer *made, const struct range *range, const char *rest,
                                int depth, mldf_error *err) {
    mldf_status status = MLDF_OK;
    uint64_t at = range->from;
    for (;;) {
        char text[32];
        int bytes = snprintf(text, sizeof text, "%0*llu", range->width, (unsigned long long)at);
        status = with(out, made, text, (size_t)bytes, rest, depth, err);
        if (status < 0 || at == range->to)
            return status;
        at += range->to > at ? 1 : (uint64_t)-1;
    }
}

static mldf_status expand(struct tar_shards *out, mldf_buffer *made, const char *rest, int depth, mldf_error *err) {
    const char *begin, *end;
    struct range range = {0};
    bool is_list;
    if (!find_group(rest, &begin, &end, &range, &is_list))
        return emit(out, made, rest, err);
    if (depth >= GROUPS_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "more than %d groups of braces in one pattern", GROUPS_MAX);
    size_t before = made->size;
    mldf_status status = mldf_buffer_append(made, rest, (size_t)(begin - rest), err);
    if (status >= 0 && !is_list)
        status = expand_range(out, made, &range, end + 1, depth, err);
    for (const char *p = begin + 1; status >= 0 && is_list && p <= end;) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *stop = comma ? comma : end;
        status = with(out, made, p, (size_t)(stop - p), end + 1, depth, err);
        p = stop + 1;
    }
    made->size = before;
    return status;
}

mldf_status mldfi_tar_shards_expand(struct tar_shards *out, const char *pattern, mldf_error *err) {
    mldf_buffer made = MLDF_BUFFER_INIT;
    *out = (struct tar_shards){0};
    mldf_status status = expand(out, &made, pattern, 0, err);
    mldf_buffer_free(&made);
    if (status < 0)
        mldfi_tar_shards_free(out);
    return status;
}

void mldfi_tar_shards_free(struct tar_shards *shards) {
    for (size_t i = 0; i < shards->count; i++)
        free(shards->paths[i]);
    free(shards->paths);
    *shards = (struct tar_shards){0};
}
