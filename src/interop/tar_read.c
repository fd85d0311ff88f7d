/* The members of a tar archive: headers of 512 bytes, each followed by its content, padded to 512. Headers that only speak of
 * the next one (GNU's long names, PAX records) are taken in until the member itself comes. tar_group.c makes samples. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interop/tar.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/number.h"

#define ULL(v) ((unsigned long long)(v))

/* Places of the header's fields. */
enum {
    NAME = 0,
    NAME_BYTES = 100,
    SIZE = 124,
    SIZE_BYTES = 12,
    CHECKSUM = 148,
    TYPE = 156,
    USTAR = 257,
    PREFIX = 345,
    PREFIX_BYTES = 155
};
/* bytes of a long name or of PAX records; behind the end of an archive; of a name in a message */
enum { EXTENDED_MAX = 1 << 20, BEHIND_MAX = 1 << 20, SHOWN = 200 };

struct extended { /* what headers said about the members after them */
    bool has_size;
    uint64_t size;
    mldf_buffer path; /* size 0: nothing said */
};

struct tar_reader {
    struct tar_input *input;
    tar_warning_fn warn;
    void *user;
    struct extended global, local; /* local: for the next member only */
    bool long_name;                /* local.path came from a GNU header, PAX wins over it */
    mldf_buffer name;              /* of the current member, terminated */
    mldf_buffer text;              /* records under examination */
    uint64_t left, padding;        /* of the current content */
    uint64_t header_offset;
    bool ended;
};

mldf_status mldfi_tar_reader_new(struct tar_reader **out, struct tar_input *input, tar_warning_fn warn, void *user,
                                 mldf_error *err) {
    *out = mldfi_alloc_zero(1, sizeof **out, err);
    if (!*out)
        return MLDF_E_MEMORY;
    (*out)->input = input;
    (*out)->warn = warn;
    (*out)->user = user;
    return MLDF_OK;
}

void mldfi_tar_reader_free(struct tar_reader *reader) {
    if (!reader)
        return;
    mldf_buffer_free(&reader->global.path);
    mldf_buffer_free(&reader->local.path);
    mldf_buffer_free(&reader->name);
    mldf_buffer_free(&reader->text);
    free(reader);
}

static const char *shown(const struct tar_reader *r) {
    return r->name.size ? (const char *)r->name.data : "(none)";
}

static void warning(struct tar_reader *r, const char *what) {
    char text[SHOWN + 200];
    if (!r->warn)
        return;
    (void)snprintf(text, sizeof text, "%.*s: %s", SHOWN, shown(r), what);
    r->warn(r->user, text);
}

static mldf_status truncated(struct tar_reader *r, const char *where, mldf_error *err) {
    uint64_t at = mldfi_tar_input_position(r->input);
    return mldfi_fail_at(err, MLDF_E_TRUNCATED, at, "the archive ends at byte %llu, %s (%.*s)", ULL(at), where, SHOWN,
                         shown(r));
}

/* ---- Numbers and checksums ------------------------------------------------------------------------------------------------ */

/* Octal digits with spaces round them, or GNU's base 256: the first bit set, then big-endian. */
static bool number(const uint8_t *p, size_t bytes, uint64_t *out) {
    uint64_t value = 0;
    size_t i = 0;
    if (p[0] & 0x80) {
        if (p[0] & 0x40)
            return false; /* negative */
        value = p[0] & 0x3f;
        for (i = 1; i < bytes; i++) {
            if (value >> 55)
                return false;
            value = value << 8 | p[i];
        }
        *out = value;
        return true;
    }
    while (i < bytes && p[i] == ' ')
        i++;
    for (; i < bytes && p[i] >= '0' && p[i] <= '7'; i++) {
        if (value >> 60)
            return false;
        value = value << 3 | (uint64_t)(p[i] - '0');
    }
    for (; i < bytes; i++)
        if (p[i] != ' ' && p[i] != 0)
            return false;
    *out = value;
    return true;
}

/* Old programs added up the bytes as signed characters. */
static bool checksum_fits(const uint8_t *header) {
    uint64_t stored;
    int64_t plain = 0, with_sign = 0;
    if (!number(header + CHECKSUM, 8, &stored))
        return false;
    for (int i = 0; i < TAR_BLOCK; i++) {
        uint8_t b = i >= CHECKSUM && i < CHECKSUM + 8 ? ' ' : header[i];
        plain += b;
        with_sign += b < 128 ? b : b - 256;
    }
    return stored == (uint64_t)plain || (with_sign >= 0 && stored == (uint64_t)with_sign);
}

bool mldfi_tar_is(const void *data, uint64_t bytes) {
    const uint8_t *header = data;
    if (bytes < TAR_BLOCK)
        return false;
    return memcmp(header + USTAR, "ustar", 5) == 0 ||
           (header[0] != 0 && memchr(header, 0, TAR_BLOCK) && checksum_fits(header));
}

static bool is_zero(const uint8_t *block) {
    for (int i = 0; i < TAR_BLOCK; i++)
        if (block[i])
            return false;
    return true;
}

/* ---- Headers that speak of the next ------------------------------------------------------------------------------------------ */

static mldf_status read_extended(struct tar_reader *r, uint64_t size, mldf_error *err) {
    uint64_t at = mldfi_tar_input_position(r->input);
    if (size > EXTENDED_MAX)
        return mldfi_fail_at(err, MLDF_E_LIMIT, at, "a long name or PAX header of %llu bytes; the limit is %d",
                             ULL(size), EXTENDED_MAX);
    size_t want = (size_t)mldfi_align_up(size, TAR_BLOCK), got;
    mldf_status status = mldfi_buffer_resize(&r->text, want + 1, err);
    if (status >= 0)
        status = mldfi_tar_input_read(r->input, r->text.data, want, &got, err);
    if (status < 0)
        return status;
    if (got < want)
        return truncated(r, "inside a long name or PAX header, after this member", err);
    r->text.size = (size_t)size;
    return MLDF_OK;
}

static mldf_status set_path(struct extended *to, const uint8_t *path, size_t bytes, mldf_error *err) {
    to->path.size = 0;
    return mldf_buffer_append(&to->path, path, bytes, err);
}

static mldf_status pax_record(struct tar_reader *r, struct extended *to, const char *key, size_t key_bytes,
                              const uint8_t *value, size_t bytes, uint64_t at, mldf_error *err) {
    if (key_bytes >= 11 && memcmp(key, "GNU.sparse.", 11) == 0)
        return mldfi_fail_at(err, MLDF_E_UNSUPPORTED, r->header_offset,
                             "the member at byte %llu is a sparse file: make the archive without --sparse",
                             ULL(r->header_offset));
    if (key_bytes == 4 && memcmp(key, "path", 4) == 0) {
        if (to == &r->local)
            r->long_name = false;
        return set_path(to, value, bytes, err);
    }
    if (key_bytes == 4 && memcmp(key, "size", 4) == 0) {
        to->has_size = bytes > 0;
        if (bytes > 0 && !mldfi_parse_u64((const char *)value, bytes, &to->size))
            return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "a PAX header's size is not a number");
    }
    return MLDF_OK; /* times, owners and the rest are nothing to us */
}

/* Records "LENGTH KEY=VALUE\n", LENGTH counting itself. */
static mldf_status pax_records(struct tar_reader *r, struct extended *to, mldf_error *err) {
    const uint8_t *text = r->text.data;
    size_t bytes = r->text.size, at = 0;
    uint64_t place = mldfi_tar_input_position(r->input) - mldfi_align_up(bytes, TAR_BLOCK);
    while (at < bytes && text[at] != 0) {
        size_t p = at, length = 0;
        while (p < bytes && text[p] >= '0' && text[p] <= '9' && length <= EXTENDED_MAX)
            length = length * 10 + (size_t)(text[p++] - '0');
        size_t key = p + 1, end = at + length;
        if (p == at || p >= bytes || text[p] != ' ' || end > bytes || end <= key || text[end - 1] != '\n')
            return mldfi_fail_at(err, MLDF_E_CORRUPT, place + at, "a PAX record at byte %llu is malformed",
                                 ULL(place + at));
        const uint8_t *equals = memchr(text + key, '=', end - 1 - key);
        if (!equals)
            return mldfi_fail_at(err, MLDF_E_CORRUPT, place + at, "a PAX record at byte %llu has no '='",
                                 ULL(place + at));
        size_t value = (size_t)(equals - text) + 1;
        TRY(pax_record(r, to, (const char *)text + key, value - 1 - key, text + value, end - 1 - value, place + at,
                       err));
        at = end;
    }
    return MLDF_OK;
}

/* GNU's 'L': the next member's name, terminated. PAX's path, if there is one as well, is the later invention. */
static mldf_status gnu_long_name(struct tar_reader *r, mldf_error *err) {
    if (r->local.path.size > 0 && !r->long_name)
        return MLDF_OK;
    r->long_name = true;
    const uint8_t *nul = memchr(r->text.data, 0, r->text.size);
    return set_path(&r->local, r->text.data, nul ? (size_t)(nul - r->text.data) : r->text.size, err);
}

/* ---- The member itself --------------------------------------------------------------------------------------------------------- */

static size_t text_bytes(const uint8_t *p, size_t most) {
    const uint8_t *nul = memchr(p, 0, most);
    return nul ? (size_t)(nul - p) : most;
}

static mldf_status set_name(struct tar_reader *r, const uint8_t *h, mldf_error *err) {
    const mldf_buffer *path = r->local.path.size ? &r->local.path : r->global.path.size ? &r->global.path : NULL;
    mldf_status status = MLDF_OK;
    r->name.size = 0;
    if (path) {
        status = mldf_buffer_append(&r->name, path->data, path->size, err);
    } else {
        size_t prefix = memcmp(h + USTAR, "ustar", 6) == 0 ? text_bytes(h + PREFIX, PREFIX_BYTES) : 0;
        if (prefix > 0) {
            status = mldf_buffer_append(&r->name, h + PREFIX, prefix, err);
            if (status >= 0)
                status = mldf_buffer_append(&r->name, "/", 1, err);
        }
        if (status >= 0)
            status = mldf_buffer_append(&r->name, h + NAME, text_bytes(h + NAME, NAME_BYTES), err);
    }
    if (status >= 0)
        status = mldf_buffer_append(&r->name, "", 1, err);
    if (status < 0)
        return status;
    if (memchr(r->name.data, 0, r->name.size - 1))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, r->header_offset, "a name with a NUL character at byte %llu",
                             ULL(r->header_offset));
    return MLDF_OK;
}

static void forget_local(struct tar_reader *r) {
    r->local.has_size = r->long_name = false;
    r->local.path.size = 0;
}

/* True: this one is a file to give. Otherwise its content, if it has one, is skipped by the next call. */
static bool wanted(struct tar_reader *r, uint8_t type) {
    size_t bytes = r->name.size - 1;
    switch (type) {
    case 0:
    case '0':
    case '7':
        /* Before ustar, a folder was a file with a slash at the end. */
        return bytes > 0 && r->name.data[bytes - 1] != '/';
    case '1':
    case '2':
        warning(r, type == '1' ? "a hard link, skipped" : "a symbolic link, skipped");
        break;
    case '3':
    case '4':
    case '6':
        warning(r, "a device or a pipe, skipped");
        break;
    case '5':
        break;
    default:
        warning(r, "a member of unknown type, skipped");
        return false;
    }
    r->left = r->padding = 0; /* these have no content, whatever their size says */
    return false;
}

static mldf_status member_header(struct tar_reader *r, const uint8_t *h, uint64_t size, bool *found, mldf_error *err) {
    TRY(set_name(r, h, err));
    if (h[TYPE] == 'S')
        return mldfi_fail_at(err, MLDF_E_UNSUPPORTED, r->header_offset,
                             "%.*s is a sparse file: make the archive without --sparse", SHOWN, shown(r));
    if (r->local.has_size)
        size = r->local.size;
    else if (r->global.has_size)
        size = r->global.size;
    if (size > INT64_MAX - TAR_BLOCK || size > INT64_MAX - TAR_BLOCK - mldfi_tar_input_position(r->input))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, r->header_offset, "%.*s: %llu bytes cannot be", SHOWN, shown(r),
                             ULL(size));
    r->left = size;
    r->padding = mldfi_align_up(size, TAR_BLOCK) - size;
    *found = wanted(r, h[TYPE]);
    forget_local(r);
    return MLDF_OK;
}

static bool speaks_of_next(uint8_t type) {
    return type == 'L' || type == 'K' || type == 'x' || type == 'X' || type == 'g';
}

/* Any header but the end. *found: a member that is to be given. */
static mldf_status header(struct tar_reader *r, const uint8_t *h, bool *found, mldf_error *err) {
    uint64_t size, at = mldfi_tar_input_position(r->input) - TAR_BLOCK;
    if (!checksum_fits(h))
        return mldfi_fail_at(err, MLDF_E_CHECKSUM, at,
                             "no tar header at byte %llu: its checksum does not fit (after %.*s)", ULL(at), SHOWN,
                             shown(r));
    if (!number(h + SIZE, SIZE_BYTES, &size))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at + SIZE, "the size in the header at byte %llu is not a number",
                             ULL(at));
    uint8_t type = h[TYPE];
    if (!speaks_of_next(type))
        return member_header(r, h, size, found, err);
    mldf_status status = read_extended(r, size, err);
    if (status < 0 || type == 'K')
        return status;
    if (type == 'L')
        return gnu_long_name(r, err);
    return pax_records(r, type == 'g' ? &r->global : &r->local, err);
}

/* ---- Going through ---------------------------------------------------------------------------------------------------------------- */

static mldf_status skip_rest(struct tar_reader *r, mldf_error *err) {
    uint64_t want = r->left + r->padding, got = 0;
    TRY(want ? mldfi_tar_input_skip(r->input, want, &got, err) : MLDF_OK);
    /* A last block without its padding has lost nothing but zeros; what follows will say that the end mark is missing. */
    if (got < r->left)
        return truncated(r, "inside this member", err);
    r->left = r->padding = 0;
    return MLDF_OK;
}

/* What stands behind the end: zeros up to a whole record, as a rule. A compressed stream is read to its last byte, where its checksum
 * is; others as far as the largest record that tar writes, so that a program that writes whole ones into a pipe is not stopped by its
 * closing, and that an archive behind this one is seen. *more: not all are zeros. */
static mldf_status read_behind(struct tar_reader *r, bool *more, mldf_error *err) {
    bool squeezed = strcmp(mldfi_tar_input_kind(r->input), "tar") != 0;
    uint8_t block[TAR_BLOCK];
    size_t got = sizeof block;
    for (uint64_t seen = 0; got == sizeof block && (squeezed || (!*more && seen < BEHIND_MAX)); seen += got) {
        TRY(mldfi_tar_input_read(r->input, block, sizeof block, &got, err));
        memset(block + got, 0, sizeof block - got);
        *more = *more || !is_zero(block);
    }
    return MLDF_OK;
}

/* A block of zeros: the second makes the end. */
static mldf_status end_mark(struct tar_reader *r, mldf_error *err) {
    uint8_t block[TAR_BLOCK];
    bool more = false;
    size_t got;
    TRY(mldfi_tar_input_read(r->input, block, sizeof block, &got, err));
    bool single = got < sizeof block || !is_zero(block);
    if (single)
        warning(r, "the archive's end mark after this member is one block of zeros instead of two");
    TRY(read_behind(r, &more, err));
    if (more && !single)
        warning(r, "the archive's end mark follows this member, and what follows it is ignored; if that is another "
                   "archive, give it as a file of its own");
    r->ended = true;
    return MLDF_END;
}

mldf_status mldfi_tar_next(struct tar_reader *r, struct tar_member *out, mldf_error *err) {
    uint8_t block[TAR_BLOCK];
    bool found = false;
    if (r->ended)
        return MLDF_END;
    mldf_status status = skip_rest(r, err);
    r->header_offset = mldfi_tar_input_position(r->input);
    while (status >= 0 && !found) {
        size_t got;
        status = mldfi_tar_input_read(r->input, block, sizeof block, &got, err);
        if (status < 0)
            break;
        if (got == 0 && r->header_offset > 0 && mldfi_tar_input_position(r->input) % TAR_BLOCK == 0 &&
            r->local.path.size == 0 && !r->local.has_size) { /* between members nothing is missing but the mark */
            warning(
                r,
                "the archive ends after this member, without its end mark; if it was cut short, samples are missing");
            r->ended = true;
            return MLDF_END;
        }
        if (got < sizeof block)
            return truncated(r, got ? "inside the header after this member" : "without its end mark, after this member",
                             err);
        if (is_zero(block))
            return end_mark(r, err);
        status = header(r, block, &found, err);
        if (status >= 0 && !found && !speaks_of_next(block[TYPE])) {
            status = skip_rest(r, err);
            r->header_offset = mldfi_tar_input_position(r->input);
        }
    }
    if (status < 0)
        return status;
    *out = (struct tar_member){.name = (const char *)r->name.data,
                               .name_bytes = r->name.size - 1,
                               .size = r->left,
                               .header_offset = r->header_offset,
                               .offset = mldfi_tar_input_position(r->input)};
    return MLDF_OK;
}

mldf_status mldfi_tar_read(struct tar_reader *r, void *dst, size_t room, size_t *got, mldf_error *err) {
    size_t want = room < r->left ? room : (size_t)r->left;
    TRY(mldfi_tar_input_read(r->input, dst, want, got, err));
    r->left -= *got;
    return *got < want ? truncated(r, "inside this member", err) : MLDF_OK;
}

mldf_status mldfi_tar_content(struct tar_reader *r, mldf_buffer *scratch, const uint8_t **data, mldf_error *err) {
    if (mldfi_tar_input_borrow(r->input, r->left, data)) {
        if (!*data)
            return truncated(r, "inside this member", err);
        r->left = 0;
        return MLDF_OK;
    }
    /* The size is only believed as far as bytes come: at most twice what has come is reserved. */
    scratch->size = 0;
    mldf_status status = mldf_buffer_reserve(scratch, 1, err);
    while (status >= 0 && r->left > 0) {
        size_t step = scratch->size < TAR_RECORD ? TAR_RECORD : scratch->size;
        size_t now = r->left < step ? (size_t)r->left : step, got;
        uint8_t *where;
        status = mldfi_buffer_extend(scratch, now, &where, err);
        if (status >= 0)
            status = mldfi_tar_read(r, where, now, &got, err);
    }
    *data = scratch->data;
    return status;
}
