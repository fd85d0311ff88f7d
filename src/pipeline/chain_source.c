/* Where a chain begins: names that mean fields or parts of their values, the types of what is stored there, and roles. graph.c asks. */
#include <stdio.h>
#include <string.h>

#include "field/type.h"
#include "pipeline/graph.h"
#include "util/error.h"

/* ---- Types of stored values ---------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_field_edge(const mldf_schema *schema, size_t field, const struct value_bounds *bounds,
                             struct edge *out, mldf_error *err) {
    const struct schema_field *f = &schema->fields[field];
    memset(out, 0, sizeof *out);
    if (!f->type || !f->type->edge)
        return mldfi_fail(err, MLDF_E_TYPE, "field %s has the type %s, which a pipeline cannot read", f->name,
                          f->info.type_name);
    return f->type->edge(f, bounds, out, err);
}

/* As a view cuts it. */
static void cut(const struct builder *b, size_t field, struct edge *edge) {
    if (b->options && b->options->cut)
        b->options->cut(b->options->cut_user, field, edge);
}

/* An array whose size the schema states, or the view. */
bool mldfi_field_is_default(const struct builder *b, size_t field) {
    struct edge edge;
    if (mldfi_field_edge(b->schema, field, NULL, &edge, NULL) < 0 || edge.kind != VALUE_ARRAY)
        return false;
    cut(b, field, &edge);
    if (b->options && b->options->is_default && !b->options->is_default(b->options->cut_user, field))
        return false;
    for (uint32_t i = 0; i < edge.ndim; i++)
        if (edge.dims[i] == DIM_VARIES)
            return false;
    return true;
}

/* ---- Names ----------------------------------------------------------------------------------------------------------------------------------- */

/* Of "image[12]" the bytes of "image", and the number; all of the name where it has none. */
static size_t split_number(const char *name, bool *numbered, uint64_t *number) {
    size_t bytes = strlen(name), at = bytes;
    *numbered = false;
    if (bytes < 4 || name[bytes - 1] != ']')
        return bytes;
    while (at > 0 && name[at - 1] != '[')
        at--;
    if (at < 2 || bytes - 1 - at > 9 || bytes - 1 == at)
        return bytes;
    *number = 0;
    for (size_t i = at; i < bytes - 1; i++) {
        if (name[i] < '0' || name[i] > '9')
            return bytes;
        *number = *number * 10 + (uint64_t)(name[i] - '0');
    }
    *numbered = true;
    return at - 1;
}

static mldf_status find_part(const struct schema_field *field, const char *name, struct source *out, mldf_error *err) {
    mldf_status status = MLDF_OK;
    struct field_part *part = &out->part;
    bool numbered;
    uint64_t number;
    size_t bytes = split_number(name, &numbered, &number);
    for (size_t i = 0; status == MLDF_OK; i++) {
        status = field->type->part(field, i, part, err);
        if (status != MLDF_OK)
            break;
        bool one = numbered && part->all && strlen(part->name) == bytes && memcmp(part->name, name, bytes) == 0;
        if (!one && strcmp(part->name, name) != 0)
            continue;
        if (one) {
            part->all = false;
            part->number = number;
        }
        out->is_part = true;
        return MLDF_OK;
    }
    return status == MLDF_END ? MLDF_OK : status;
}

mldf_status mldfi_source_find(const struct builder *b, const char *name, struct source *out, mldf_error *err) {
    char front[MLDF_NAME_MAX + 1];
    memset(out, 0, sizeof *out);
    out->field = mldfi_schema_lookup(b->schema, name);
    for (const char *dot = strchr(name, '.'); dot && out->field == SIZE_MAX; dot = strchr(dot + 1, '.')) {
        size_t bytes = (size_t)(dot - name);
        if (bytes > MLDF_NAME_MAX)
            break;
        memcpy(front, name, bytes);
        front[bytes] = 0;
        size_t field = mldfi_schema_lookup(b->schema, front);
        if (field == SIZE_MAX || !b->schema->fields[field].type || !b->schema->fields[field].type->part)
            continue;
        TRY(find_part(&b->schema->fields[field], dot + 1, out, err));
        if (out->is_part)
            out->field = field;
    }
    return MLDF_OK;
}

/* A view hands out pieces of the field's values: tables of the whole value would not fit them. */
static bool is_cut(const struct builder *b, size_t field) {
    struct edge whole, pieces;
    if (mldfi_field_edge(b->schema, field, NULL, &whole, NULL) < 0)
        return false;
    pieces = whole;
    cut(b, field, &pieces);
    return pieces.dims[0] != whole.dims[0] || pieces.most[0] != whole.most[0];
}

mldf_status mldfi_source_edge(const struct builder *b, const struct source *source, struct edge *out, mldf_error *err) {
    const struct schema_field *field = &b->schema->fields[source->field];
    const struct value_bounds *bounds = b->bounds ? &b->bounds[source->field] : NULL;
    mldf_status status;
    if (!source->is_part) {
        status = mldfi_field_edge(b->schema, source->field, bounds, out, err);
        if (status >= 0)
            cut(b, source->field, out);
        return status;
    }
    if (source->part.tabled && is_cut(b, source->field))
        return mldfi_fail(err, MLDF_E_TYPE, "%s.%s is of whole values, and the view gives pieces of %s", field->name,
                          source->part.name, field->name);
    memset(out, 0, sizeof *out);
    status = field->type->part_edge(field, &source->part, bounds, out, err);
    if (status == MLDF_OK && !source->part.strided && !source->part.tabled &&
        (out->kind != VALUE_ENCODED || !field->type->locate))
        return mldfi_fail(err, MLDF_E_TYPE, "%s.%s is not stored media, which a pipeline could find in the payload",
                          field->name, source->part.name);
    return status;
}

bool mldfi_source_decodes_into(const struct builder *b, const struct source *source) {
    const struct field_type *type = b->schema->fields[source->field].type;
    return type && type->decode_into && !source->is_part;
}

static void suggest_parts(const struct schema_field *field, struct suggestion *suggestion, char room[512]) {
    char candidate[512];
    struct field_part part;
    for (size_t i = 0; field->type->part(field, i, &part, NULL) == MLDF_OK; i++) {
        const char *best = suggestion->best;
        (void)snprintf(candidate, sizeof candidate, "%s.%s", field->name, part.name);
        mldfi_suggest(suggestion, candidate);
        if (suggestion->best != best) {
            memcpy(room, candidate, sizeof candidate);
            suggestion->best = room;
        }
    }
}

mldf_status mldfi_source_unknown(const struct builder *b, const char *name, size_t offset, mldf_error *err) {
    struct suggestion suggestion = {name, NULL, 0};
    char room[512];
    for (size_t i = 0; i < mldf_schema_field_count(b->schema); i++) {
        const struct schema_field *field = &b->schema->fields[i];
        mldfi_suggest(&suggestion, field->name);
        if (field->type && field->type->part)
            suggest_parts(field, &suggestion, room);
    }
    for (size_t i = 0; i < b->graph->chain_count; i++)
        if (!b->drafts[i].implicit && !b->drafts[i].replaced)
            mldfi_suggest(&suggestion, b->graph->chains[i].name);
    return mldfi_pipeline_fail(b->pipeline->text, b->pipeline->text_bytes, offset, err, MLDF_E_NO_FIELD,
                               "there is no field or output %s%s%s%s", name, suggestion.best ? "; did you mean " : "",
                               suggestion.best ? suggestion.best : "", suggestion.best ? "?" : "");
}

/* ---- Roles ------------------------------------------------------------------------------------------------------------------------------------- */

/* An array of H x W or H x W x C is an image where the text says so, one of T x H x W x C a clip of them. */
static mldf_status become_image(value_role role, struct edge *edge, mldf_error *err) {
    bool dtype = edge->dtype == MLDF_U8 || edge->dtype == MLDF_U16 || edge->dtype == MLDF_F16 ||
                 edge->dtype == MLDF_BF16 || edge->dtype == MLDF_F32;
    bool plane = edge->axes[mldfi_axis(edge->axes, 'h')] && edge->axes[mldfi_axis(edge->axes, 'w')];
    if (edge->kind == VALUE_IMAGE || (edge->kind == VALUE_ENCODED && plane)) {
        edge->role = role;
        return MLDF_OK;
    }
    if (edge->kind == VALUE_ARRAY && !dtype && edge->ndim >= 2 && edge->ndim <= 4)
        return mldfi_edge_refuse(
            NULL, edge, "u8, u16, f16, bf16 or f32 in images and masks (x = y: cast(u16), then m = x as mask)", err);
    int64_t channels = edge->ndim > 2 && edge->ndim <= 4 ? edge->dims[edge->ndim - 1] : 1;
    if (edge->kind != VALUE_ARRAY || !dtype || edge->ndim < 2 || edge->ndim > 4 || channels < 1 || channels > 4)
        return mldfi_edge_refuse(
            NULL, edge,
            role == ROLE_MASK ? "an image, or an array HxW, HxWxC or TxHxWxC of u8, u16, f16, bf16 or f32, as a mask"
                              : "an image, or an array HxW, HxWxC or TxHxWxC of u8, u16, f16, bf16 or f32, as an image",
            err);
    if (edge->ndim == 2)
        mldfi_edge_fix(edge, edge->ndim++, 1);
    edge->kind = VALUE_IMAGE;
    edge->role = role;
    mldfi_set_axes(edge->axes, edge->ndim == 4 ? "thwc" : "hwc");
    return MLDF_OK;
}

/* Optical flow: H x W x 2 or T x H x W x 2 of f32. */
static mldf_status become_flow(struct edge *edge, mldf_error *err) {
    int64_t channels = edge->ndim == 3 || edge->ndim == 4 ? edge->dims[edge->ndim - 1] : 0;
    if (edge->kind != VALUE_ARRAY || edge->dtype != MLDF_F32 || channels != 2)
        return mldfi_edge_refuse(NULL, edge, "an array HxWx2 or TxHxWx2 of f32 (dx, dy in pixels) as flow", err);
    return become_image(ROLE_FLOW, edge, err);
}

mldf_status mldfi_role_apply(value_role role, struct edge *edge, mldf_error *err) {
    if (role == ROLE_NONE)
        return MLDF_OK;
    if (role == ROLE_IMAGE || role == ROLE_MASK)
        return become_image(role, edge, err);
    if (role == ROLE_FLOW)
        return become_flow(edge, err);
    int64_t last = edge->kind == VALUE_ARRAY && edge->ndim > 0 ? edge->dims[edge->ndim - 1] : DIM_VARIES;
    bool numbers = edge->dtype != MLDF_BOOL && edge->dtype != MLDF_C64 && edge->dtype != MLDF_C128;
    if (role == ROLE_BOXES && (last != 4 || !numbers))
        return mldfi_edge_refuse(NULL, edge, "an array whose last dimension is 4 (x0, y0, x1, y1) as boxes", err);
    if (role == ROLE_POINTS && (last < 2 || !numbers))
        return mldfi_edge_refuse(NULL, edge, "an array whose last dimension is 2 or more (x, y, ...) as points", err);
    edge->role = role;
    return MLDF_OK;
}
