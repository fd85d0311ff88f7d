/* Warnings: said on stderr when they come, and with --json listed once more in the document, so that a program that reads it misses nothing.
 * They may come from any thread of the library, and while a list is being printed: so they wait here until the command asks for them. */
#include <pthread.h>
#include <string.h>

#include "cli.h"

static struct {
    pthread_mutex_t lock;
    mldf_buffer texts; /* source and message of each, terminated */
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

void warn(const struct invocation *v, const char *source, const char *message) {
    pthread_mutex_lock(&kept.lock);
    size_t before = kept.texts.size;
    note(v, "warning: %s%s%s", source, source[0] ? ": " : "", message);
    /* Without memory a warning is still said on stderr. */
    if (v->json && (mldf_buffer_append(&kept.texts, source, strlen(source) + 1, NULL) < 0 ||
                    mldf_buffer_append(&kept.texts, message, strlen(message) + 1, NULL) < 0))
        kept.texts.size = before;
    pthread_mutex_unlock(&kept.lock);
}

void print_warning(void *user, const char *message) {
    warn(user, "", message);
}

void json_pair(const char *source, const char *message) {
    json_begin('{');
    json_key("source");
    json_string(source);
    json_key("message");
    json_string(message);
    json_end('}');
}

void json_warnings(void) {
    pthread_mutex_lock(&kept.lock);
    const char *at = (const char *)kept.texts.data, *end = at ? at + kept.texts.size : NULL;
    json_key("warnings");
    json_begin('[');
    while (at < end) {
        const char *message = at + strlen(at) + 1;
        json_pair(at, message);
        at = message + strlen(message) + 1;
    }
    json_end(']');
    mldf_buffer_free(&kept.texts);
    pthread_mutex_unlock(&kept.lock);
}

void warnings_free(void) {
    mldf_buffer_free(&kept.texts);
}
