/* mldf/base.h: what every other header stands on: export macro, status, error, buffer, progress, context.
 *
 * Conventions of the whole library:
 *   - A function that can fail returns mldf_status: 0 fine, > 0 not an error (MLDF_END, MLDF_AGAIN, MLDF_ABSENT), < 0 an error.
 *   - `mldf_error *err` is always the last argument and may be NULL. It is filled only when the status is < 0.
 *   - `T **out` hands ownership to the caller; a returned `const T *` is borrowed from the handle it came from.
 *   - Structs that may grow begin with `struct_bytes` and have an _INIT macro: options, which you set, and results, which the library
 *     fills. Begin with the macro, always: a struct without it is MLDF_E_ARGUMENT. A new member comes last and is 0 by default. A program
 *     compiled before the member runs unchanged; one compiled after it runs with an older library if the member is 0.
 *   - Structs without struct_bytes stay as they are as long as the soname does; those that a function or a hook hands out by
 *     `const T *` may get members at their end. Never copy those by value.
 *   - Each header says how stable it is. What is experimental may change in any version; all else only when the soname changes, with an entry in
 *     CHANGELOG.md.
 *   - The library never prints, exits, reads the environment or keeps global state.
 *
 * Stability: stable.
 */
#ifndef MLDF_BASE_H
#define MLDF_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(MLDF_STATIC)
#define MLDF_API
#elif defined(__GNUC__)
#define MLDF_API __attribute__((visibility("default")))
#else
#define MLDF_API
#endif

/* The version of these headers; mldf_version() is the library's. */
#define MLDF_VERSION_MAJOR 0
#define MLDF_VERSION_MINOR 2
#define MLDF_VERSION_PATCH 0
#define MLDF_VERSION "0.2.0"
/* For comparisons: #if MLDF_VERSION_NUMBER >= MLDF_VERSION_AT(0, 2, 0) */
#define MLDF_VERSION_AT(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define MLDF_VERSION_NUMBER MLDF_VERSION_AT(MLDF_VERSION_MAJOR, MLDF_VERSION_MINOR, MLDF_VERSION_PATCH)

/* A status that nobody looks at is an error that nobody sees: the compiler warns. -DMLDF_NODISCARD= turns that off. */
#ifndef MLDF_NODISCARD
#if defined(__cplusplus) && __cplusplus >= 201703L
#define MLDF_NODISCARD [[nodiscard]]
#elif defined(__GNUC__)
#define MLDF_NODISCARD __attribute__((warn_unused_result))
#else
#define MLDF_NODISCARD
#endif
#endif

/* "No such thing" for a sample, an offset or a count that is not known. */
#define MLDF_NONE UINT64_MAX

/* The numbers are part of the API and never change; new ones go into the gaps. */
typedef enum mldf_status {
    MLDF_OK = 0,
    MLDF_END = 1,    /* nothing more to give; not an error */
    MLDF_AGAIN = 2,  /* not yet: the time that was given has passed; not an error */
    MLDF_ABSENT = 3, /* what was asked for is not there: a card, statistics, class names; not an error */

    /* the caller */
    MLDF_E_ARGUMENT = -1,  /* an argument makes no sense */
    MLDF_E_STATE = -2,     /* a call in the wrong order, or on a handle that failed before */
    MLDF_E_MEMORY = -3,    /* no memory */
    MLDF_E_CANCELLED = -4, /* the progress hook or a cancel call asked to stop */
    MLDF_E_LIMIT = -5,     /* beyond a limit of the format or of the options */

    /* the environment */
    MLDF_E_IO = -10,          /* an operating-system call failed; see sys_errno */
    MLDF_E_NOT_FOUND = -11,   /* no such file */
    MLDF_E_PERMISSION = -12,  /* not allowed, or a read-only file system */
    MLDF_E_EXISTS = -13,      /* the target exists and overwriting was not asked for */
    MLDF_E_NO_SPACE = -14,    /* disk or quota full */
    MLDF_E_BUSY = -15,        /* another process holds the file's lock */
    MLDF_E_CHANGED = -16,     /* the file changed or shrank while it was read, or lost its name while it was written */
    MLDF_E_UNSUPPORTED = -17, /* this build lacks a codec or a library that is needed */
    MLDF_E_KEY_MISSING = -18, /* the file is encrypted and no key was given */
    MLDF_E_KEY_WRONG = -19,   /* the key or passphrase does not open this file */

    /* the file */
    MLDF_E_MAGIC = -30,      /* not an MLDF file */
    MLDF_E_VERSION = -31,    /* another major version */
    MLDF_E_FEATURE = -32,    /* a flag or section that this reader must not ignore */
    MLDF_E_TRUNCATED = -33,  /* the file ends too early */
    MLDF_E_CORRUPT = -34,    /* a structure contradicts the specification */
    MLDF_E_CHECKSUM = -35,   /* stored and computed checksum differ */
    MLDF_E_TAMPERED = -36,   /* authentication failed: edited, swapped or damaged under encryption */
    MLDF_E_UNFINISHED = -37, /* a file whose writing never finished */

    /* the data */
    MLDF_E_SCHEMA = -50,    /* a field description is wrong */
    MLDF_E_TYPE = -51,      /* a value of the wrong kind for its field */
    MLDF_E_RANGE = -52,     /* a value that its field cannot hold */
    MLDF_E_NULL = -53,      /* a value is missing and its field is not nullable */
    MLDF_E_KEY = -54,       /* a sample key is missing, malformed or there twice */
    MLDF_E_NO_FIELD = -55,  /* no field of that name or index */
    MLDF_E_NO_SAMPLE = -56, /* no sample of that index or key */
    MLDF_E_SYNTAX = -57     /* JSON, CSV or another text does not parse */
} mldf_status;

/* A short lower-case name, e.g. "checksum" for MLDF_E_CHECKSUM, "ok" for MLDF_OK. Never NULL. */
MLDF_API const char *mldf_status_name(mldf_status status);

enum { MLDF_NAME_MAX = 63, MLDF_PLACE_MAX = 255, MLDF_MESSAGE_MAX = 511, MLDF_ADVICE_MAX = 255, MLDF_TEXT_MAX = 1535 };

/* Where and why something failed. Lives with the caller; nothing to free. The message names values alone; file, sample and field are
 * members of their own. mldf_error_text makes one line of all. */
typedef struct mldf_error {
    mldf_status status;
    int sys_errno;                 /* errno of the failed call, or 0 */
    uint64_t offset;               /* byte in the file, or MLDF_NONE */
    uint64_t sample;               /* sample index, or MLDF_NONE */
    char field[MLDF_NAME_MAX + 1]; /* field name, or "" */
    char path
        [MLDF_PLACE_MAX +
         1]; /* the file, "table.csv:17:3", or "line 2, column 5" of a text; or "". Of a longer path the end, after "..." */
    char context[MLDF_PLACE_MAX + 1];   /* which part of the work: "step 2, random_crop(300)", or "" */
    char message[MLDF_MESSAGE_MAX + 1]; /* one sentence that names the values; no newline */
    char advice[MLDF_ADVICE_MAX + 1];   /* what helps, or "" */
    uint64_t reserved[4];
} mldf_error;

/* "FILE: sample 17, field image: CONTEXT: MESSAGE; ADVICE", without what is not known, into `room` bytes (MLDF_TEXT_MAX + 1 hold any error),
 * cut at a whole character when there are fewer, always ended by a 0. Returns out. A field is named with its sample; where there is no
 * sample, the message names it. */
MLDF_API const char *mldf_error_text(const mldf_error *err, char *out, size_t room);
/* The same where it is needed once, as in puts(MLDF_ERROR_TEXT(&err)): it lives until the block ends; in C++ until the statement does. */
#ifndef __cplusplus
#define MLDF_ERROR_TEXT(err) mldf_error_text((err), (char[MLDF_TEXT_MAX + 1]){0}, MLDF_TEXT_MAX + 1)
#else
struct mldf_error_room {
    char text[MLDF_TEXT_MAX + 1];
    char *begin() {
        return text;
    }
};
#define MLDF_ERROR_TEXT(err) mldf_error_text((err), mldf_error_room().begin(), MLDF_TEXT_MAX + 1)
#endif

/* Version of the library, e.g. "0.2.0", and of the format that it writes (1.1 = 0x00010001). */
MLDF_API const char *mldf_version(void);
MLDF_API uint32_t mldf_format_version(void);
/* One word for each optional part of this build, space separated: "zstd sodium ...". */
MLDF_API const char *mldf_build_features(void);

/* ---- Memory that grows ------------------------------------------------------------------------------------------ */

/* Owned by the caller, filled by the library: `mldf_buffer b = MLDF_BUFFER_INIT; ... mldf_buffer_free(&b);`
 * data is 64-byte aligned. Reuse one buffer for many calls: it only ever grows. */
typedef struct mldf_buffer {
    uint8_t *data;
    size_t size;
    size_t capacity;
} mldf_buffer;
#define MLDF_BUFFER_INIT \
    { 0, 0, 0 }
MLDF_API void mldf_buffer_free(mldf_buffer *buffer);
/* Room for at least `capacity` bytes in all; size and content stay. */
MLDF_API MLDF_NODISCARD mldf_status mldf_buffer_reserve(mldf_buffer *buffer, size_t capacity, mldf_error *err);
MLDF_API MLDF_NODISCARD mldf_status mldf_buffer_append(mldf_buffer *buffer, const void *data, size_t bytes,
                                                       mldf_error *err);

/* FIPS 180-4; what sha256sum prints. */
MLDF_API void mldf_sha256(const void *data, size_t bytes, uint8_t digest[32]);

/* ---- Progress and cancel ---------------------------------------------------------------------------------------- */

typedef struct mldf_progress {
    const char *phase;      /* "pack", "tables", "verify" ... */
    uint64_t samples_done;  /* in this phase */
    uint64_t samples_total; /* MLDF_NONE when unknown */
    uint64_t bytes_done;
    uint64_t bytes_total; /* MLDF_NONE when unknown */
    uint64_t frames_done; /* of videos, decoded while they are packed; 0: none are */
} mldf_progress;

/* Called from the thread that called the library, at least ten times a second during long work.
 * Return false to cancel: the operation undoes what it began and returns MLDF_E_CANCELLED. */
typedef bool (*mldf_progress_fn)(void *user, const mldf_progress *progress);

/* ---- Context ----------------------------------------------------------------------------------------------------- */

/* Holds what would otherwise be global: the warning hook, user-defined field types, where temporary files go. Option structs may name one;
 * NULL means the built-in set and no warnings. Set it up first, then share it: once a handle uses it, it must not be
 * changed, and it must outlive the handle. */
typedef struct mldf_context mldf_context;
typedef void (*mldf_warning_fn)(void *user, const char *message);

MLDF_API MLDF_NODISCARD mldf_status mldf_context_new(mldf_context **out, mldf_error *err);
MLDF_API void mldf_context_free(mldf_context *context);
/* May be called from any thread that uses a handle of this context. */
MLDF_API void mldf_context_set_warning(mldf_context *context, mldf_warning_fn warn, void *user);
/* The limit of every file that is opened with this context, where its own options have none: max_decoded_bytes of mldf/reader.h. */
MLDF_API void mldf_context_set_max_decoded(mldf_context *context, uint64_t bytes);
/* Where temporary files go that belong beside no other file: a compressed tar that is read at random, what came from standard input, the
 * tables of a file that is streamed. They have no name, or lose it at once. NULL: /tmp. The library reads no environment: a program that
 * honours TMPDIR gives it here. */
MLDF_API MLDF_NODISCARD mldf_status mldf_context_set_temporary_folder(mldf_context *context, const char *folder,
                                                                      mldf_error *err);
/* Bytes that a compressed tar may have when it is unpacked; one that has more is MLDF_E_LIMIT. 0: the default. */
MLDF_API void mldf_context_set_max_unpacked(mldf_context *context, uint64_t bytes);
#define MLDF_MAX_UNPACKED (UINT64_C(1) << 40)

/* ---- Keys of encrypted files ------------------------------------------------------------------------------------- */

/* One of the two, or neither. Borrowed for the duration of the call that takes the options. */
typedef struct mldf_secret {
    const void *key; /* 32 bytes */
    size_t key_bytes;
    const char *passphrase;
    size_t passphrase_bytes;
} mldf_secret;
enum { MLDF_KEY_BYTES = 32 };

#ifdef __cplusplus
}
#endif
#endif
