/* Work that takes long and can be stopped: it reports its progress now and then, and the answer says whether to go on. */
#ifndef MLDF_UTIL_WATCH_H
#define MLDF_UTIL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct work_watch {
    /* more: what was done since the last call, in the work's own units. False: stop. */
    bool (*goes_on)(void *user, uint64_t more);
    void *user;
};

/* watch may be NULL: nobody asks. */
static inline bool mldfi_work_goes_on(const struct work_watch *watch, uint64_t more) {
    return !watch || watch->goes_on(watch->user, more);
}

#endif
