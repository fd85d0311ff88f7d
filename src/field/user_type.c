/* A user-defined type as the rest of the library sees it: the user's functions inside ones that keep our promises. A
 * user may return a status and leave err alone, fill err and then succeed, hand out bytes without a pointer, describe an
 * array and decode another one; nobody but this file has to know. context.c registers types.
 *
 *   encode          encode_worker, or encode                             on threads without a kit a worker is borrowed
 *   decode          decode, or decode_into made into scratch memory      and given back: begin_worker, end_worker
 *   decode_into     decode_into, its dims checked                        the loader's threads (pipeline/run_into.c) */
#include "field/user_type.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/type.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

/* What bind makes of a field. */
struct user_state {
    void *state; /* the user's */
    bool described;
    mldf_dtype dtype;
    uint32_t ndim;
    int64_t dims[MLDF_MAX_DIMS]; /* -1: varies */
};

static void error_clear(mldf_error *own) {
    own->sys_errno = 0;
    own->offset = own->sample = MLDF_NONE;
    own->field[0] = own->path[0] = own->context[0] = own->message[0] = own->advice[0] = 0;
}

/* Hands the user's error on, with a message in any case. What is neither fine nor an error counts as fine. */
static mldf_status settle(const struct user_type *self, const char *what, mldf_status status, mldf_error *own,
                          mldf_error *err) {
    if (status >= 0)
        return MLDF_OK;
    own->message[sizeof own->message - 1] = 0;
    if (own->message[0] == 0)
        return mldfi_fail_at(err, status, own->offset, "type %s: %s gives no reason", self->name, what);
    own->status = status;
    if (err)
        *err = *own;
    return status;
}

/* ---- Workers ---------------------------------------------------------------------------------------------------------- */

static mldf_status user_open_worker(void *user, void **worker, mldf_error *err) {
    const struct user_type *self = user;
    mldf_error own;
    error_clear(&own);
    *worker = NULL;
    return settle(self, "open_worker", self->type.open_worker(self->type.user, worker, &own), &own, err);
}

static void user_close_worker(void *user, void *worker) {
    const struct user_type *self = user;
    self->type.close_worker(self->type.user, worker);
}

/* A worker for one call. */
static mldf_status begin_worker(struct user_type *self, void **worker, mldf_error *err) {
    bool found = false;
    *worker = NULL;
    if (!self->type.open_worker)
        return MLDF_OK;
    pthread_mutex_lock(&self->lock);
    if (self->idle_count) {
        *worker = self->idle[--self->idle_count];
        found = true;
    }
    pthread_mutex_unlock(&self->lock);
    return found ? MLDF_OK : user_open_worker(self, worker, err);
}

static void end_worker(struct user_type *self, void *worker) {
    if (!self->type.open_worker)
        return;
    pthread_mutex_lock(&self->lock);
    bool kept =
        mldfi_array_reserve(&self->idle, &self->idle_capacity, self->idle_count + 1, sizeof *self->idle, NULL) >= 0;
    if (kept)
        self->idle[self->idle_count++] = worker;
    pthread_mutex_unlock(&self->lock);
    if (!kept)
        user_close_worker(self, worker);
}

/* ---- Fields ------------------------------------------------------------------------------------------------------------- */

/* Asks once what values are, and believes nothing. */
static mldf_status describe(const struct user_type *self, struct user_state *s, mldf_error *err) {
    mldf_error own;
    error_clear(&own);
    mldf_status status = self->type.describe(self->type.user, s->state, &s->dtype, &s->ndim, s->dims, &own);
    if (status < 0)
        return settle(self, "describe", status, &own, err);
    if (mldf_dtype_bytes(s->dtype) == 0 || s->ndim > MLDF_MAX_DIMS)
        return mldfi_fail(err, MLDF_E_SCHEMA, "type %s: describe gives dtype %d and %" PRIu32 " dimensions", self->name,
                          (int)s->dtype, s->ndim);
    for (uint32_t i = 0; i < s->ndim; i++)
        if (s->dims[i] < -1)
            return mldfi_fail(err, MLDF_E_SCHEMA, "type %s: describe gives dimension %" PRIu32 " the size %" PRId64,
                              self->name, i, s->dims[i]);
    s->described = true;
    return MLDF_OK;
}

static void user_unbind(void *user, void *state) {
    const struct user_type *self = user;
    struct user_state *s = state;
    if (s && self->type.unbind)
        self->type.unbind(self->type.user, s->state);
    free(s);
}

static mldf_status user_bind(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                             mldf_error *err) {
    const struct user_type *self = user;
    struct user_state *s = mldfi_alloc_zero(1, sizeof *s, err);
    mldf_error own;
    if (!s)
        return MLDF_E_MEMORY;
    error_clear(&own);
    memset(layout, 0, sizeof *layout);
    mldf_status status =
        settle(self, "bind", self->type.bind(self->type.user, arguments, layout, &s->state, &own), &own, err);
    if (status < 0) {
        free(s); /* what failed made nothing to unbind */
        return status;
    }
    if (self->type.describe)
        status = describe(self, s, err);
    if (status < 0) {
        user_unbind(user, s);
        return status;
    }
    *state = s;
    return MLDF_OK;
}

static void user_describe(const void *state, mldf_field *info) {
    const struct user_state *s = state;
    if (!s->described)
        return;
    info->dtype = s->dtype;
    info->ndim = s->ndim;
    memcpy(info->dims, s->dims, sizeof info->dims);
}

static mldf_status user_canonical(void *user, const char *arguments, mldf_buffer *out, mldf_error *err) {
    const struct user_type *self = user;
    mldf_error own;
    error_clear(&own);
    return settle(self, "canonical", self->type.canonical(self->type.user, arguments, out, &own), &own, err);
}

/* The array that it describes; or the bytes that its decode gives, and nobody knows how many. */
static mldf_status user_edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                             mldf_error *err) {
    const struct user_state *s = field->state;
    (void)bounds;
    return s->described ? mldfi_array_edge(field, NULL, out, err) : mldfi_bytes_edge(field, NULL, out, err);
}

/* ---- Encoding ----------------------------------------------------------------------------------------------------------- */

static mldf_status check_payload(const struct user_type *self, const void *payload, uint64_t bytes, mldf_error *err) {
    if (payload || bytes == 0)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_STATE, "type %s: encode gives a payload of %" PRIu64 " bytes without a pointer",
                      self->name, bytes);
}

static mldf_status encode_with(const struct user_type *self, void *worker, const struct user_state *s,
                               const mldf_value *value, uint8_t *record, mldf_buffer *scratch, const void **payload,
                               uint64_t *payload_bytes, mldf_error *err) {
    mldf_error own;
    error_clear(&own);
    *payload = NULL;
    *payload_bytes = 0;
    mldf_status status = self->type.encode_worker(self->type.user, worker, s->state, value, record, scratch, payload,
                                                  payload_bytes, &own);
    status = settle(self, "encode_worker", status, &own, err);
    return status < 0 ? status : check_payload(self, *payload, *payload_bytes, err);
}

static mldf_status user_encode_worker(const struct schema_field *field, void *worker, const mldf_value *value,
                                      uint8_t *record, mldf_buffer *scratch, const void **payload,
                                      uint64_t *payload_bytes, mldf_error *err) {
    return encode_with(field->type->type.user, worker, field->state, value, record, scratch, payload, payload_bytes,
                       err);
}

static mldf_status user_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                               mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    struct user_type *self = user;
    const struct user_state *s = state;
    mldf_error own;
    mldf_status status;
    if (self->type.encode_worker) {
        void *worker;
        if ((status = begin_worker(self, &worker, err)) < 0)
            return status;
        status = encode_with(self, worker, s, value, record, scratch, payload, payload_bytes, err);
        end_worker(self, worker);
        return status;
    }
    error_clear(&own);
    *payload = NULL;
    *payload_bytes = 0;
    status = self->type.encode(self->type.user, s->state, value, record, scratch, payload, payload_bytes, &own);
    status = settle(self, "encode", status, &own, err);
    return status < 0 ? status : check_payload(self, *payload, *payload_bytes, err);
}

/* ---- Decoding ----------------------------------------------------------------------------------------------------------- */

/* Are these dims what describe said, and an array of at most `most` bytes? */
static mldf_status check_dims(const struct user_type *self, const struct user_state *s, const char *what,
                              const uint64_t *dims, uint64_t most, uint64_t *bytes, mldf_error *err) {
    char text[256];
    for (uint32_t i = 0; i < s->ndim; i++)
        if (s->dims[i] >= 0 && dims[i] != (uint64_t)s->dims[i])
            return mldfi_fail(err, MLDF_E_CORRUPT,
                              "type %s: %s gives dimension %" PRIu32 " the size %" PRIu64
                              ", and the field's shape is %s",
                              self->name, what, i, dims[i], mldfi_shape_text(text, s->dims, s->ndim));
    if (!mldfi_array_bytes(dims, s->ndim, s->dtype, bytes) || *bytes > most) {
        size_t used = 0;
        for (uint32_t i = 0; i < s->ndim && used < sizeof text; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu64, i ? " x " : "", dims[i]);
        return mldfi_fail(err, MLDF_E_LIMIT,
                          "type %s: %s gives an array of %s elements of %s, more than %" PRIu64 " bytes", self->name,
                          what, s->ndim ? text : "1", mldf_dtype_name(s->dtype), most);
    }
    return MLDF_OK;
}

static mldf_status call_into(const struct user_type *self, void *worker, const struct user_state *s,
                             const uint8_t *record, const void *payload, uint64_t payload_bytes, void *dst,
                             uint64_t *dims, mldf_error *err) {
    mldf_error own;
    error_clear(&own);
    return settle(
        self, "decode_into",
        self->type.decode_into(self->type.user, worker, s->state, record, payload, payload_bytes, dst, dims, &own),
        &own, err);
}

static mldf_status measure(const struct user_type *self, void *worker, const struct user_state *s,
                           const uint8_t *record, const void *payload, uint64_t payload_bytes, uint64_t most,
                           uint64_t *dims, uint64_t *bytes, mldf_error *err) {
    bool open = false;
    mldf_status status = MLDF_OK;
    memset(dims, 0, MLDF_MAX_DIMS * sizeof *dims);
    for (uint32_t i = 0; i < s->ndim; i++) {
        open = open || s->dims[i] < 0;
        dims[i] = s->dims[i] < 0 ? 0 : (uint64_t)s->dims[i];
    }
    if (open)
        status = call_into(self, worker, s, record, payload, payload_bytes, NULL, dims, err);
    return status < 0 ? status : check_dims(self, s, "decode_into", dims, most, bytes, err);
}

/* The user sees a copy of dims: what was laid out for them stays what it was. */
static mldf_status fill(const struct user_type *self, void *worker, const struct user_state *s, const uint8_t *record,
                        const void *payload, uint64_t payload_bytes, void *dst, const uint64_t *dims, mldf_error *err) {
    uint64_t copy[MLDF_MAX_DIMS];
    memcpy(copy, dims, sizeof copy);
    mldf_status status = call_into(self, worker, s, record, payload, payload_bytes, dst, copy, err);
    if (status == MLDF_OK && memcmp(copy, dims, s->ndim * sizeof *dims) != 0)
        return mldfi_fail(err, MLDF_E_CORRUPT, "type %s: decode_into gives other dimensions than before", self->name);
    return status;
}

static mldf_status user_decode_into(const struct schema_field *field, void *worker, const uint8_t *record,
                                    const void *payload, uint64_t payload_bytes, uint64_t most, void *dst,
                                    uint64_t *dims, mldf_error *err) {
    const struct user_type *self = field->type->type.user;
    uint64_t bytes;
    if (dst)
        return fill(self, worker, field->state, record, payload, payload_bytes, dst, dims, err);
    return measure(self, worker, field->state, record, payload, payload_bytes, most, dims, &bytes, err);
}

/* Is what decode gave a value that others can read without a second look? */
static mldf_status check_value(const struct user_type *self, const struct user_state *s, const mldf_value *v,
                               mldf_error *err) {
    uint64_t bytes = 0;
    bool data = v->kind == MLDF_KIND_BYTES || v->kind == MLDF_KIND_TEXT || v->kind == MLDF_KIND_ARRAY ||
                v->kind == MLDF_KIND_STRUCT;
    if ((unsigned)v->kind >= MLDF_KIND_STORED)
        return mldfi_fail(err, MLDF_E_STATE, "type %s: decode gives %s", self->name, mldfi_kind_name(v->kind));
    if (data && !v->data && v->bytes)
        return mldfi_fail(err, MLDF_E_STATE, "type %s: decode gives %" PRIu64 " bytes without a pointer", self->name,
                          v->bytes);
    if (s->described && (v->kind != MLDF_KIND_ARRAY || v->dtype != s->dtype || v->ndim != s->ndim))
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "type %s: decode gives %s of dtype %s and %" PRIu32
                          " dimensions; describe says %s and %" PRIu32,
                          self->name, mldfi_kind_name(v->kind), mldf_dtype_name(v->dtype), v->ndim,
                          mldf_dtype_name(s->dtype), s->ndim);
    if (v->kind != MLDF_KIND_ARRAY)
        return MLDF_OK;
    if (v->ndim > MLDF_MAX_DIMS || mldf_dtype_bytes(v->dtype) == 0)
        return mldfi_fail(err, MLDF_E_STATE, "type %s: decode gives an array of dtype %d and %" PRIu32 " dimensions",
                          self->name, (int)v->dtype, v->ndim);
    if (!mldfi_array_bytes(v->dims, v->ndim, v->dtype, &bytes) || bytes != v->bytes)
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "type %s: decode gives an array of %" PRIu64 " bytes, and its shape and dtype %s need others",
                          self->name, v->bytes, mldf_dtype_name(v->dtype));
    return s->described ? check_dims(self, s, "decode", v->dims, UINT64_MAX, &bytes, err) : MLDF_OK;
}

/* A type that decodes into memory alone: into scratch. */
static mldf_status decode_by_into(struct user_type *self, const struct user_state *s, const uint8_t *record,
                                  const void *payload, uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out,
                                  mldf_error *err) {
    uint64_t bytes = 0;
    uint8_t *place = NULL;
    void *worker;
    TRY(begin_worker(self, &worker, err));
    mldf_status status =
        measure(self, worker, s, record, payload, payload_bytes, MEDIA_MAX_BYTES, out->dims, &bytes, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(scratch, bytes ? (size_t)bytes : 1, err);
    if (status == MLDF_OK) {
        place = scratch->data;
        status = fill(self, worker, s, record, payload, payload_bytes, place, out->dims, err);
    }
    end_worker(self, worker);
    out->kind = MLDF_KIND_ARRAY;
    out->dtype = s->dtype;
    out->ndim = s->ndim;
    out->data = place;
    out->bytes = bytes;
    return status;
}

static mldf_status user_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                               uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    struct user_type *self = user;
    const struct user_state *s = state;
    mldf_error own;
    error_clear(&own);
    memset(out, 0, sizeof *out);
    if (!self->type.decode)
        return decode_by_into(self, s, record, payload, payload_bytes, scratch, out, err);
    mldf_status status =
        self->type.decode(self->type.user, s->state, record, payload, payload_bytes, scratch, out, &own);
    status = settle(self, "decode", status, &own, err);
    return status < 0 ? status : check_value(self, s, out, err);
}

/* ---- For people and files ----------------------------------------------------------------------------------------------- */

/* One JSON text on one line, whatever the user's spaces and lines are. */
static mldf_status user_value_json(const struct schema_field *field, const mldf_value *value, bool full,
                                   mldf_buffer *out, mldf_error *err) {
    const struct user_type *self = field->type->type.user;
    const struct user_state *s = field->state;
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_error own;
    (void)full;
    error_clear(&own);
    mldf_status status = self->type.value_json(self->type.user, s->state, value, &text, &own);
    if (status < 0) {
        status = settle(self, "value_json", status, &own, err);
    } else {
        status = mldfi_json_canonicalize(text.size ? (const char *)text.data : "", text.size, out, err);
        if (status < 0)
            mldfi_error_prefix(err, "type %s: what value_json gives", self->name);
    }
    mldf_buffer_free(&text);
    return status;
}

static bool is_ending(const char *ending) {
    size_t bytes = ending ? strnlen(ending, 16) : 0;
    return bytes >= 1 && bytes <= 15 && strspn(ending, "abcdefghijklmnopqrstuvwxyz0123456789") == bytes;
}

static mldf_status user_export(const struct schema_field *field, const mldf_value *value, struct media_kit *kit,
                               struct export_room *room, struct exported *out, mldf_error *err) {
    const struct user_type *self = field->type->type.user;
    const struct user_state *s = field->state;
    mldf_error own;
    (void)kit;
    error_clear(&own);
    *out = (struct exported){0};
    room->file.size = 0;
    mldf_status status = self->type.export_file(self->type.user, s->state, value, &room->file, &out->ending, &out->data,
                                                &out->bytes, &own);
    status = settle(self, "export_file", status, &own, err);
    if (status < 0)
        return status;
    if (!is_ending(out->ending))
        return mldfi_fail(err, MLDF_E_STATE, "type %s: export_file gives the ending \"%.40s\", not 1 to 15 of a-z 0-9",
                          self->name, out->ending ? out->ending : "");
    if (!out->data && out->bytes)
        return mldfi_fail(err, MLDF_E_STATE, "type %s: export_file gives %" PRIu64 " bytes without a pointer",
                          self->name, out->bytes);
    return MLDF_OK;
}

/* ---- The type ----------------------------------------------------------------------------------------------------------- */

struct user_type *mldfi_user_type_new(const mldf_type *type, mldf_error *err) {
    struct user_type *self = mldfi_alloc_zero(1, sizeof *self, err);
    if (!self)
        return NULL;
    self->type = *type;
    memcpy(self->name, type->name, strnlen(type->name, USER_TYPE_NAME_MAX));
    self->type.name = self->name;
    pthread_mutex_init(&self->lock, NULL);
    self->wrapped = (struct field_type){
        .type = {sizeof(mldf_type), type->id, self->name, self, user_bind, user_unbind, user_encode, user_decode},
        .name = self->name,
        .describe = user_describe,
        .canonical_own = type->canonical ? user_canonical : NULL,
        .edge = user_edge,
        .open_worker = type->open_worker ? user_open_worker : NULL,
        .close_worker = type->open_worker ? user_close_worker : NULL,
        .decode_into = type->decode_into ? user_decode_into : NULL,
        .encode_worker = type->encode_worker ? user_encode_worker : NULL,
        .value_json = type->value_json ? user_value_json : NULL,
        .export = type->export_file ? user_export : NULL,
    };
    return self;
}

void mldfi_user_type_free(struct user_type *self) {
    for (size_t i = 0; i < self->idle_count; i++)
        user_close_worker(self, self->idle[i]);
    free(self->idle);
    pthread_mutex_destroy(&self->lock);
    free(self);
}
