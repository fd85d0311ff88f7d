/* User-defined types from the inside: see user_type.c. */
#ifndef MLDF_FIELD_USER_TYPE_H
#define MLDF_FIELD_USER_TYPE_H

#include "field/field.h"

enum { USER_TYPE_NAME_MAX = 100 };

struct user_type {
    mldf_type type; /* the user's */
    char name[USER_TYPE_NAME_MAX + 1];
};

/* A copy of what the user gave, whose name fits. Freed with free. */
struct user_type *mldfi_user_type_new(const mldf_type *type, mldf_error *err);
/* As the rest of the library calls it; points to self. */
struct field_type mldfi_user_type_wrap(struct user_type *self);

#endif
