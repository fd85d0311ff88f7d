/* Bytes of an archive, readable twice: a regular file seeks; of a pipe what was read is kept until the second look begins. */
#ifndef MLDF_TOOL_TEE_H
#define MLDF_TOOL_TEE_H

#include "mldf/base.h"

struct input_watch;

struct tee {
    int fd;
    bool owns_fd, seekable, recording, over;
    bool rewound;      /* the look in hand begins again, and is still the first */
    mldf_buffer kept;  /* of a pipe */
    size_t at;         /* in kept */
    uint64_t position; /* bytes given in this look */
    struct input_watch *watch;
    const char *name; /* for messages; borrowed */
};

/* "-" is standard input. */
mldf_status mldfi_tee_open(struct tee *tee, const char *path, struct input_watch *watch, mldf_error *err);
void mldfi_tee_close(struct tee *tee);
/* Shaped like tar_pull_fn; user is the tee. */
mldf_status mldfi_tee_pull(void *user, void *dst, size_t room, size_t *got, mldf_error *err);
/* After a glance at the beginning: the first look is still to come, and mldfi_tee_again begins it. */
mldf_status mldfi_tee_rewind(struct tee *tee, mldf_error *err);
/* From the first byte again; nothing is kept any more. */
mldf_status mldfi_tee_again(struct tee *tee, mldf_error *err);
/* Has so much of a pipe been kept that the first look should end? */
bool mldfi_tee_full(const struct tee *tee);

#endif
