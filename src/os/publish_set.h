/* Several files that get their names together: each is written under a temporary name beside its target; at the end all are renamed, or,
 * when one cannot be, none is: those renamed before go away again, and what they replaced comes back. */
#ifndef MLDF_OS_PUBLISH_SET_H
#define MLDF_OS_PUBLISH_SET_H

#include "mldf/base.h"
#include "os/file.h"

struct publish_item {
    char *target;
    char *temporary;
    char *saved; /* what stood at target before, under another name; NULL: nothing */
    bool published;
};
struct publish_set {
    struct publish_item *items;
    size_t count, capacity;
    bool overwrite;
};

/* Takes a temporary name for one more target, which exists (empty) from then on. *out is borrowed. */
mldf_status mldfi_set_add(struct publish_set *set, const char *target, const char **out, mldf_error *err);
mldf_status mldfi_set_publish(struct publish_set *set, mldf_error *err);
/* Removes what was not published and frees the set. */
void mldfi_set_free(struct publish_set *set);

#endif
