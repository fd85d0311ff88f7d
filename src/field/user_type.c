/* A user-defined type as the rest of the library sees it: the user's functions behind ones that keep our promises. A
 * user may return a status and leave err alone, fill err and then succeed, or hand out bytes without a pointer; nobody
 * but this file has to know. context.c registers them. */
#include "field/user_type.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/type.h"
#include "util/buffer.h"
#include "util/error.h"

static void error_clear(mldf_error *own) {
    own->sys_errno = 0;
    own->offset = own->sample = MLDF_NONE;
    own->field[0] = own->message[0] = 0;
}

/* Hands the user's error on, with a message in any case. What is neither fine nor an error counts as fine. */
static mldf_status settle(const struct user_type *self, const char *what, mldf_status status, mldf_error *own,
                          mldf_error *err) {
    if (status >= 0)
        return MLDF_OK;
    if (own->message[0] == 0)
        return mldfi_fail_at(err, status, own->offset, "type %s: %s gives no reason", self->name, what);
    own->status = status;
    if (err)
        *err = *own;
    return status;
}

static mldf_status user_bind(void *user, const char *arguments, mldf_record_layout *layout, void **state,
                             mldf_error *err) {
    const struct user_type *self = user;
    mldf_error own;
    error_clear(&own);
    memset(layout, 0, sizeof *layout);
    mldf_status status = self->type.bind(self->type.user, arguments, layout, state, &own);
    return settle(self, "bind", status, &own, err);
}

static void user_unbind(void *user, void *state) {
    const struct user_type *self = user;
    if (self->type.unbind)
        self->type.unbind(self->type.user, state);
}

static mldf_status user_encode(void *user, const void *state, const mldf_value *value, uint8_t *record,
                               mldf_buffer *scratch, const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    const struct user_type *self = user;
    mldf_error own;
    error_clear(&own);
    *payload = NULL;
    *payload_bytes = 0;
    mldf_status status =
        self->type.encode(self->type.user, state, value, record, scratch, payload, payload_bytes, &own);
    if (status >= 0 && !*payload && *payload_bytes > 0)
        return mldfi_fail(err, MLDF_E_STATE, "type %s: encode gives a payload of %" PRIu64 " bytes without a pointer",
                          self->name, *payload_bytes);
    return settle(self, "encode", status, &own, err);
}

static mldf_status user_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                               uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    const struct user_type *self = user;
    mldf_error own;
    error_clear(&own);
    memset(out, 0, sizeof *out);
    mldf_status status = self->type.decode(self->type.user, state, record, payload, payload_bytes, scratch, out, &own);
    return settle(self, "decode", status, &own, err);
}

/* The bytes that its decode gives; how many, nobody knows. */
static mldf_status user_edge(const struct schema_field *field, const struct value_bounds *bounds, struct edge *out,
                             mldf_error *err) {
    (void)bounds;
    return mldfi_bytes_edge(field, NULL, out, err);
}

struct user_type *mldfi_user_type_new(const mldf_type *type, mldf_error *err) {
    struct user_type *self = mldfi_alloc_zero(1, sizeof *self, err);
    if (!self)
        return NULL;
    self->type = *type;
    memcpy(self->name, type->name, strnlen(type->name, USER_TYPE_NAME_MAX));
    self->type.name = self->name;
    return self;
}

struct field_type mldfi_user_type_wrap(struct user_type *self) {
    return (struct field_type){
        .type = {sizeof(mldf_type), self->type.id, self->name, self, user_bind, user_unbind, user_encode, user_decode},
        .name = self->name,
        .edge = user_edge,
    };
}
