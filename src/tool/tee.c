/* See tee.h. Its user is pack_tar.c, which looks at the first samples before it writes any. */
#include "tool/tee.h"
#include "os/file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/input.h"
#include "util/error.h"

mldf_status mldfi_tee_open(struct tee *tee, const char *path, struct input_watch *watch, mldf_error *err) {
    struct stat st;
    bool standard = strcmp(path, "-") == 0;
    memset(tee, 0, sizeof *tee);
    tee->watch = watch;
    tee->name = standard ? "(standard input)" : path;
    tee->recording = true;
    tee->owns_fd = !standard;
    tee->fd = STDIN_FILENO;
    mldf_status status = standard ? MLDF_OK : mldfi_watched_open(path, watch, &tee->fd, err);
    if (status >= 0 && fstat(tee->fd, &st) != 0)
        status = mldfi_fail_open(tee->name, errno, err);
    if (status < 0) {
        mldfi_tee_close(tee);
        return status;
    }
    tee->seekable = S_ISREG(st.st_mode) && tee->owns_fd;
    return MLDF_OK;
}

void mldfi_tee_close(struct tee *tee) {
    if (tee->owns_fd && tee->fd >= 0)
        close(tee->fd);
    tee->fd = -1;
    tee->owns_fd = false;
    mldf_buffer_free(&tee->kept);
}

mldf_status mldfi_tee_pull(void *user, void *dst, size_t room, size_t *got, mldf_error *err) {
    struct tee *tee = user;
    *got = 0;
    if (tee->at < tee->kept.size) {
        size_t left = tee->kept.size - tee->at;
        *got = room < left ? room : left;
        memcpy(dst, tee->kept.data + tee->at, *got);
        tee->at += *got;
        tee->position += *got;
        return MLDF_OK;
    }
    if (!tee->recording)
        mldf_buffer_free(&tee->kept);
    if (!tee->recording)
        tee->at = 0;
    TRY(mldfi_watched_read(tee->fd, dst, room, tee->watch, tee->name, got, err));
    tee->position += *got;
    mldf_status status = mldfi_watch(tee->watch, false, err);
    if (status == MLDF_OK && tee->recording && !tee->seekable) {
        status = mldf_buffer_append(&tee->kept, dst, *got, err);
        tee->at = tee->kept.size;
    }
    return status;
}

mldf_status mldfi_tee_rewind(struct tee *tee, mldf_error *err) {
    tee->rewound = true;
    tee->at = 0;
    tee->position = 0;
    if (tee->seekable && lseek(tee->fd, 0, SEEK_SET) != 0)
        return mldfi_fail_file_errno(err, errno, tee->name, "cannot go back to its beginning");
    return MLDF_OK;
}

mldf_status mldfi_tee_again(struct tee *tee, mldf_error *err) {
    bool first = tee->rewound;
    mldf_status status = mldfi_tee_rewind(tee, err);
    tee->rewound = false;
    tee->recording = tee->recording && first;
    return status;
}

bool mldfi_tee_full(const struct tee *tee) {
    return tee->kept.size > INPUT_MAX_RECORD;
}
