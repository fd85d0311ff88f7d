/* User-defined types from the inside: see user_type.c. */
#ifndef MLDF_FIELD_USER_TYPE_H
#define MLDF_FIELD_USER_TYPE_H

#include <pthread.h>

#include "field/field.h"

enum {
    USER_TYPE_NAME_MAX = 100,
    USER_TYPE_V1_BYTES = offsetof(mldf_type, canonical) /* struct_bytes of programs that know version 1 alone */
};

struct user_type {
    mldf_type type; /* the user's */
    char name[USER_TYPE_NAME_MAX + 1];
    struct field_type wrapped; /* as the rest of the library calls it; its user is this struct */
    /* Workers for calls on threads without a kit, such as mldf_reader_get. */
    pthread_mutex_t lock; /* guards what follows */
    void **idle;
    size_t idle_count, idle_capacity;
};

/* A copy of what the user gave, whose name fits. */
struct user_type *mldfi_user_type_new(const mldf_type *type, mldf_error *err);
void mldfi_user_type_free(struct user_type *self);

#endif
