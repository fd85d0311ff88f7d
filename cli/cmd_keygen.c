/* mldf keygen: a new key for --encrypt, from the system's random numbers, in a file that its owner alone can read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const struct option_spec options[] = {{0, NULL, NULL, NULL}};

/* 64 hexadecimal digits and a line end. */
static bool make_key(char text[2 * MLDF_KEY_BYTES + 2]) {
    unsigned char key[MLDF_KEY_BYTES];
    size_t have = 0;
    int source = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    while (source >= 0 && have < sizeof key) {
        ssize_t got = read(source, key + have, sizeof key - have);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            break;
        have += got > 0 ? (size_t)got : 0;
    }
    if (source >= 0)
        close(source);
    for (size_t i = 0; i < sizeof key; i++) {
        snprintf(text + 2 * i, 3, "%02x", key[i]);
        ((volatile unsigned char *)key)[i] = 0;
    }
    text[2 * MLDF_KEY_BYTES] = '\n';
    text[2 * MLDF_KEY_BYTES + 1] = 0;
    return have == sizeof key;
}

static int run(struct invocation *v) {
    const char *path = v->files[0];
    char text[2 * MLDF_KEY_BYTES + 2];
    if (strcmp(path, "-") == 0)
        return usage_error(v, "a key is not written to standard output: give a file name");
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0 && errno == EEXIST)
        return complain(v, EXIT_ENVIRONMENT, "%s: already exists; a key is never overwritten: remove it first", path);
    if (file < 0)
        return complain(v, EXIT_ENVIRONMENT, "%s: cannot be created: %s", path, strerror(errno));
    bool good = make_key(text);
    size_t bytes = strlen(text), have = 0;
    while (good && have < bytes) {
        ssize_t put = write(file, text + have, bytes - have);
        good = put > 0 || (put < 0 && errno == EINTR);
        have += put > 0 ? (size_t)put : 0;
    }
    good = good && fsync(file) == 0;
    int reason = errno;
    good = close(file) == 0 && good;
    for (size_t i = 0; i < sizeof text; i++)
        ((volatile char *)text)[i] = 0;
    if (!good) {
        (void)unlink(path);
        return complain(v, EXIT_ENVIRONMENT, "%s: cannot be written: %s", path, strerror(reason));
    }
    if (v->json) {
        json_begin('{');
        json_key("file");
        json_string(path);
        json_warnings();
        json_end('}');
        json_line_end();
    } else {
        note(v, "%s: a new key; without it, what it encrypts cannot be read: keep a copy in a safe place", path);
    }
    return EXIT_FINE;
}

const struct command command_keygen = {
    "keygen",
    "OUT",
    "a new key file for --encrypt",
    "Writes a new random key, 64 hexadecimal digits, to OUT, which its owner alone can read (mode 0600). OUT is never overwritten.\n"
    "\n"
    "With --json, one object: file, warnings.",
    options,
    "  mldf keygen secret.key\n"
    "  mldf pack photos/ -o photos.mldf --encrypt secret.key\n"
    "  mldf head --key secret.key photos.mldf\n",
    1,
    1,
    run,
};
