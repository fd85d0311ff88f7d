/* Keys and passphrases. They come from files only, never from the command line, which other users can see. */
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

void secret_wipe(struct secret_store *store) {
    volatile unsigned char *p = store->bytes;
    for (size_t i = 0; i < sizeof store->bytes; i++)
        p[i] = 0;
    store->size = 0;
}

/* A secret that others can read is none. Pipes and devices have their own rules. */
static void check_mode(const struct invocation *v, const char *path) {
    struct stat st;
    if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & (S_IRGRP | S_IROTH)))
        warn(v, path, "others than its owner can read this secret: chmod 600 forbids it");
}

static int load(const struct invocation *v, const char *path, struct secret_store *store) {
    mldf_buffer file = MLDF_BUFFER_INIT;
    int code = read_small_file(v, path, SECRET_MAX - 1, &file);
    if (code == EXIT_FINE)
        check_mode(v, path);
    if (code == EXIT_FINE && file.size)
        memcpy(store->bytes, file.data, file.size);
    store->size = code == EXIT_FINE ? file.size : 0;
    for (size_t i = 0; i < file.size; i++)
        ((volatile uint8_t *)file.data)[i] = 0;
    mldf_buffer_free(&file);
    return code;
}

static int hex_digit(unsigned char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 64 digits and perhaps a line end. */
static bool decode_hex(struct secret_store *store) {
    size_t n = store->size;
    if (n == 66 && store->bytes[65] == '\n' && store->bytes[64] == '\r')
        n = 64;
    else if (n == 65 && store->bytes[64] == '\n')
        n = 64;
    if (n != 64)
        return false;
    for (size_t i = 0; i < MLDF_KEY_BYTES; i++) {
        int high = hex_digit(store->bytes[2 * i]), low = hex_digit(store->bytes[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        store->bytes[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

int load_key(const struct invocation *v, const char *path, struct secret_store *store, mldf_secret *out) {
    int code = load(v, path, store);
    if (code != EXIT_FINE)
        return code;
    if (store->size != MLDF_KEY_BYTES && !decode_hex(store))
        return usage_error(v, "%s: is not a key: a key is 32 bytes or 64 hexadecimal digits", path);
    out->key = store->bytes;
    out->key_bytes = MLDF_KEY_BYTES;
    return EXIT_FINE;
}

int load_passphrase(const struct invocation *v, const char *path, struct secret_store *store, mldf_secret *out) {
    int code = load(v, path, store);
    if (code != EXIT_FINE)
        return code;
    const unsigned char *end = memchr(store->bytes, '\n', store->size);
    size_t n = end ? (size_t)(end - store->bytes) : store->size;
    if (n > 0 && store->bytes[n - 1] == '\r')
        n--;
    if (n == 0)
        return usage_error(v, "%s: its first line is empty: there is no passphrase", path);
    out->passphrase = (const char *)store->bytes;
    out->passphrase_bytes = n;
    return EXIT_FINE;
}
