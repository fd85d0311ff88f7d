/* A descr is a list of [name, type] or [name, type, shape], where type is a text or again such a list. Members follow
 * each other without gaps; padding is a member "" of type "|V<n>". The parser walks the list depth first and collects
 * leaves; when a struct turns out to be repeated by a shape, the leaves found inside it get that shape in front of
 * their own.
 *
 *     [["id","<i4"],["box",[["x","<f4"],["y","<f4"]],[2]]]
 *       leaf "id"    offset 0  dims []
 *       leaf "box.x" offset 4  dims [2] strides [8]
 *       leaf "box.y" offset 8  dims [2] strides [8]
 *
 * Everything is bounded before it is used: depth, members, dimensions, and the size, which never passes 4096. */
#include "field/descr.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/number.h"

enum { PATH_MAX_BYTES = 255, TYPE_MAX_BYTES = 15 }; /* what mldf_member has room for */

struct walk {
    const struct json *json;
    struct descr *descr;
    mldf_error *err;
    bool from_caller;
    unsigned depth, members;
    bool alone; /* this member is the only one of the outermost list */
    char path[PATH_MAX_BYTES + 1];
    size_t path_bytes;
};

/* One plain type. */
struct leaf_type {
    mldf_dtype dtype;
    char letter; /* 'S', 'U', 'V', or 0 */
    uint32_t itemsize, align;
};

static mldf_status refuse(const struct walk *w, const char *why) {
    return mldfi_fail(w->err, MLDF_E_SCHEMA, "descr, member \"%s\": %s", w->path, why);
}

/* ---- Types ------------------------------------------------------------------------------------------------------ */

static bool parse_flexible(const char *text, size_t bytes, struct leaf_type *out) {
    uint64_t n;
    if (bytes < 3 || text[2] == '0' || !mldfi_parse_u64(text + 2, bytes - 2, &n) || n > DESCR_MAX_BYTES)
        return false;
    bool wide = text[0] == '<' && text[1] == 'U';
    if (!wide && !(text[0] == '|' && (text[1] == 'S' || text[1] == 'V')))
        return false;
    *out = (struct leaf_type){MLDF_DTYPE_NONE, text[1], (uint32_t)n * (wide ? 4 : 1), wide ? 4 : 1};
    return true;
}

static bool parse_type(const char *text, size_t bytes, struct leaf_type *out) {
    mldf_dtype dtype = mldf_dtype_parse(text, bytes);
    if (dtype == MLDF_DTYPE_NONE)
        return parse_flexible(text, bytes, out);
    uint32_t itemsize = (uint32_t)mldf_dtype_bytes(dtype);
    bool complex = dtype == MLDF_C64 || dtype == MLDF_C128;
    *out = (struct leaf_type){dtype, 0, itemsize, complex ? itemsize / 2 : itemsize};
    return true;
}

/* ---- Shapes ----------------------------------------------------------------------------------------------------- */

struct shape {
    uint32_t ndim, count;
    uint32_t dims[MLDF_MAX_DIMS];
};

/* A list, or one integer for a list of one. The product is bounded by the largest record, as no element is empty. */
static mldf_status parse_shape(const struct walk *w, uint32_t at, struct shape *out) {
    int64_t dims[MLDF_MAX_DIMS];
    uint32_t ndim = 1;
    mldf_error why;
    if (w->from_caller && w->json->nodes[at].kind == MLDFI_JSON_NUMBER) {
        if (!mldfi_json_i64(w->json, at, &dims[0]) || dims[0] < 1)
            return refuse(w, "its shape is not an integer from 1 on, or a list of them");
    } else if (mldfi_shape_parse(w->json, at, false, 1, dims, &ndim, &why) < 0) {
        return refuse(w, why.message);
    }
    out->ndim = ndim;
    out->count = 1;
    for (uint32_t i = 0; i < ndim; i++) {
        if (dims[i] > DESCR_MAX_BYTES || (uint32_t)dims[i] * out->count > DESCR_MAX_BYTES)
            return refuse(w, "its shape holds more elements than a record has bytes");
        out->dims[i] = (uint32_t)dims[i];
        out->count *= out->dims[i];
    }
    return MLDF_OK;
}

/* Puts a shape of elements of `bytes` in front of the leaf's own. */
static mldf_status repeat_leaf(const struct walk *w, struct descr_leaf *leaf, const struct shape *shape,
                               uint32_t bytes) {
    if (shape->ndim + leaf->ndim > MLDF_MAX_DIMS)
        return refuse(w, "with the structs around it, it has more than 8 dimensions");
    memmove(leaf->dims + shape->ndim, leaf->dims, leaf->ndim * sizeof leaf->dims[0]);
    memmove(leaf->strides + shape->ndim, leaf->strides, leaf->ndim * sizeof leaf->strides[0]);
    for (uint32_t i = shape->ndim; i-- > 0;) {
        leaf->dims[i] = shape->dims[i];
        leaf->strides[i] = bytes;
        bytes *= shape->dims[i];
    }
    leaf->ndim += shape->ndim;
    return MLDF_OK;
}

/* ---- Members ---------------------------------------------------------------------------------------------------- */

struct member {
    const struct json_node *name;
    uint32_t type, shape; /* nodes; shape UINT32_MAX: none */
};

static bool split_member(const struct json *json, uint32_t at, struct member *out) {
    const struct json_node *node = &json->nodes[at];
    if (node->kind != MLDFI_JSON_ARRAY || node->count < 2 || node->count > 3)
        return false;
    uint32_t name = mldfi_json_first(json, at);
    out->name = &json->nodes[name];
    out->type = out->name->next;
    out->shape = node->count == 3 ? json->nodes[out->type].next : UINT32_MAX;
    return out->name->kind == MLDFI_JSON_STRING;
}

static bool same_text(const struct json_node *a, const struct json_node *b) {
    return a->text_bytes == b->text_bytes && memcmp(a->text, b->text, (size_t)a->text_bytes) == 0;
}

/* Appends the name to the path; a member of that name must not stand before it in the same list. */
static mldf_status enter_member(struct walk *w, uint32_t list, uint32_t at, const struct member *m) {
    size_t dot = w->path_bytes > 0 && m->name->text_bytes > 0;
    if (w->path_bytes + dot + m->name->text_bytes > PATH_MAX_BYTES)
        return refuse(w, "a member whose path has more than 255 bytes");
    if (dot)
        w->path[w->path_bytes++] = '.';
    memcpy(w->path + w->path_bytes, m->name->text, (size_t)m->name->text_bytes);
    w->path_bytes += (size_t)m->name->text_bytes;
    w->path[w->path_bytes] = 0;
    for (size_t i = 0; i < m->name->text_bytes; i++)
        if ((unsigned char)m->name->text[i] < 0x20 || m->name->text[i] == 0x7f)
            return refuse(w, "its name holds a control character");
    if (m->name->text_bytes == 0)
        return MLDF_OK;
    for (uint32_t i = mldfi_json_first(w->json, list); i < at; i = w->json->nodes[i].next)
        if (same_text(&w->json->nodes[mldfi_json_first(w->json, i)], m->name))
            return refuse(w, "a member of this name is there already");
    return MLDF_OK;
}

static mldf_status add_leaf(struct walk *w, const struct leaf_type *type, const struct json_node *text,
                            const struct shape *shape, uint32_t offset) {
    struct descr *d = w->descr;
    struct descr_leaf leaf = {.dtype = type->dtype,
                              .unicode = type->letter == 'U',
                              .align = type->align,
                              .offset = offset,
                              .itemsize = type->itemsize};
    mldf_status status = mldfi_array_reserve(&d->leaves, &d->leaf_capacity, d->leaf_count + 1, sizeof leaf, w->err);
    leaf.path_at = (uint32_t)d->paths.size;
    leaf.path_bytes = (uint32_t)w->path_bytes;
    if (status == MLDF_OK)
        status = mldf_buffer_append(&d->paths, w->path, w->path_bytes, w->err);
    leaf.type_at = (uint32_t)d->paths.size;
    leaf.type_bytes = (uint32_t)text->text_bytes;
    if (status == MLDF_OK)
        status = mldf_buffer_append(&d->paths, text->text, (size_t)text->text_bytes, w->err);
    if (status == MLDF_OK)
        status = repeat_leaf(w, &leaf, shape, type->itemsize);
    if (status == MLDF_OK)
        d->leaves[d->leaf_count++] = leaf;
    return status;
}

static mldf_status walk_plain(struct walk *w, const struct member *m, const struct shape *shape, uint32_t offset,
                              uint32_t *bytes) {
    const struct json_node *text = &w->json->nodes[m->type];
    struct leaf_type type;
    if (text->text_bytes > TYPE_MAX_BYTES || !parse_type(text->text, (size_t)text->text_bytes, &type))
        return refuse(
            w, "its type is not a NumPy type that is little-endian and known here, such as \"<f4\", \"|u1\", \"|S16\"");
    *bytes = type.itemsize;
    if (m->name->text_bytes == 0 && type.letter == 'V')
        return MLDF_OK; /* padding */
    if (m->name->text_bytes == 0 && !w->alone)
        return refuse(w, "it has no name, but is neither padding nor the only member");
    w->descr->bare = m->name->text_bytes == 0;
    return add_leaf(w, &type, text, shape, offset);
}

static mldf_status walk_list(struct walk *w, uint32_t list, uint32_t offset, uint32_t *bytes);

static mldf_status walk_struct(struct walk *w, const struct member *m, const struct shape *shape, uint32_t offset,
                               uint32_t *bytes) {
    size_t first = w->descr->leaf_count;
    if (m->name->text_bytes == 0 && !w->alone)
        return refuse(w, "a struct without a name is not the only member");
    mldf_status status = walk_list(w, m->type, offset, bytes);
    for (size_t i = first; i < w->descr->leaf_count && status == MLDF_OK; i++)
        status = repeat_leaf(w, &w->descr->leaves[i], shape, *bytes);
    return status;
}

/* Size of the member with its shape, in *bytes. */
static mldf_status walk_member(struct walk *w, uint32_t list, uint32_t at, uint32_t offset, uint32_t *bytes) {
    struct member m;
    struct shape shape = {0, 1, {0}};
    size_t path_bytes = w->path_bytes;
    if (!split_member(w->json, at, &m))
        return refuse(w, "a member is not [name, type] or [name, type, shape]");
    if (++w->members > DESCR_MAX_MEMBERS)
        return refuse(w, "there are more than 256 members");
    mldf_status status = enter_member(w, list, at, &m);
    if (status == MLDF_OK && m.shape != UINT32_MAX)
        status = parse_shape(w, m.shape, &shape);
    if (status < 0)
        return status;
    if (w->json->nodes[m.type].kind == MLDFI_JSON_STRING)
        status = walk_plain(w, &m, &shape, offset, bytes);
    else if (w->json->nodes[m.type].kind == MLDFI_JSON_ARRAY)
        status = walk_struct(w, &m, &shape, offset, bytes);
    else
        status = refuse(w, "its type is neither a text nor a list");
    if (status < 0)
        return status;
    /* Both factors are at most 16384, so the product cannot wrap. */
    *bytes *= shape.count;
    if (*bytes > DESCR_MAX_BYTES - offset)
        return refuse(w, "the record would have more than 4096 bytes");
    w->path_bytes = path_bytes;
    w->path[path_bytes] = 0;
    return MLDF_OK;
}

static mldf_status walk_list(struct walk *w, uint32_t list, uint32_t offset, uint32_t *bytes) {
    const struct json_node *node = &w->json->nodes[list];
    uint32_t begin = offset;
    if (node->kind != MLDFI_JSON_ARRAY || node->count == 0)
        return refuse(w, "it is not a list of members, or an empty one");
    if (++w->depth > DESCR_MAX_DEPTH)
        return refuse(w, "structs are nested deeper than 8");
    for (uint32_t i = mldfi_json_first(w->json, list); i < node->next; i = w->json->nodes[i].next) {
        uint32_t member_bytes = 0;
        w->alone = w->depth == 1 && node->count == 1;
        TRY(walk_member(w, list, i, offset, &member_bytes));
        offset += member_bytes;
    }
    w->depth--;
    *bytes = offset - begin;
    return MLDF_OK;
}

/* The largest natural alignment, if every element of every leaf lies on its own; otherwise 1. */
static uint32_t alignment(const struct descr *d) {
    uint32_t largest = 1;
    for (size_t i = 0; i < d->leaf_count; i++) {
        const struct descr_leaf *leaf = &d->leaves[i];
        if (leaf->offset % leaf->align != 0)
            return 1;
        for (uint32_t k = 0; k < leaf->ndim; k++)
            if (leaf->strides[k] % leaf->align != 0)
                return 1;
        if (leaf->align > largest)
            largest = leaf->align;
    }
    return d->itemsize % largest == 0 ? largest : 1;
}

mldf_status mldfi_descr_parse(const struct json *json, uint32_t at, bool from_caller, struct descr *descr,
                              mldf_error *err) {
    struct walk w = {.json = json, .descr = descr, .err = err, .from_caller = from_caller};
    if (json->nodes[at].kind != MLDFI_JSON_ARRAY || json->nodes[at].count == 0)
        return mldfi_fail(err, MLDF_E_SCHEMA,
                          "argument \"descr\" is not a list of [name, type] or [name, type, shape]");
    mldf_status status = walk_list(&w, at, 0, &descr->itemsize);
    if (status == MLDF_OK)
        descr->align = alignment(descr);
    return status;
}

void mldfi_descr_free(struct descr *descr) {
    free(descr->leaves);
    mldf_buffer_free(&descr->paths);
    memset(descr, 0, sizeof *descr);
}

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

static mldf_status write_shape(const struct json *json, uint32_t at, mldf_buffer *out, mldf_error *err) {
    bool list = json->nodes[at].kind == MLDFI_JSON_ARRAY;
    if (list && json->nodes[at].count == 0)
        return MLDF_OK; /* one element without a shape */
    mldf_status status = mldfi_buffer_append_text(out, list ? "," : ",[", err);
    if (status == MLDF_OK)
        status = mldfi_json_canonical(json, at, out, err);
    if (status == MLDF_OK && !list)
        status = mldfi_buffer_append_text(out, "]", err);
    return status;
}

static mldf_status write_member(const struct json *json, const struct member *m, mldf_buffer *out, mldf_error *err) {
    mldf_status status = mldfi_buffer_append_text(out, "[", err);
    if (status == MLDF_OK)
        status = mldfi_json_append_string(out, m->name->text, (size_t)m->name->text_bytes, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(out, ",", err);
    if (status == MLDF_OK)
        status = json->nodes[m->type].kind == MLDFI_JSON_ARRAY ? mldfi_descr_write(json, m->type, out, err)
                                                               : mldfi_json_canonical(json, m->type, out, err);
    if (status == MLDF_OK && m->shape != UINT32_MAX)
        status = write_shape(json, m->shape, out, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_append_text(out, "]", err);
    return status;
}

mldf_status mldfi_descr_write(const struct json *json, uint32_t at, mldf_buffer *out, mldf_error *err) {
    uint32_t first = mldfi_json_first(json, at);
    mldf_status status = mldfi_buffer_append_text(out, "[", err);
    for (uint32_t i = first; i < json->nodes[at].next && status == MLDF_OK; i = json->nodes[i].next) {
        struct member m;
        if (i != first)
            status = mldfi_buffer_append_text(out, ",", err);
        if (status == MLDF_OK && !split_member(json, i, &m))
            status = mldfi_fail(err, MLDF_E_SCHEMA,
                                "argument \"descr\": a member is not [name, type] or [name, type, shape]");
        if (status == MLDF_OK)
            status = write_member(json, &m, out, err);
    }
    return status == MLDF_OK ? mldfi_buffer_append_text(out, "]", err) : status;
}
