/* Opening, third part: sizes of the sections (O34, O35), arguments and schema (O36), key and authentication (O37).
 * What is small and used by every access is read here and checked by its CRC; the long sections only get their sizes
 * checked, so that opening stays O(fields). access.c comes next. */
#include <inttypes.h>
#include <stdlib.h>

#include "format/packing.h"
#include "reader/open.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { DICTIONARY_MAX = 16 << 20, MAX_KEY_PARAM = 40, MAX_OPSLIMIT = 16, MIN_MEMLIMIT = 8192, MAX_MEMLIMIT = 1 << 30 };

static mldf_status wrong_size(struct opening *opening, size_t index) {
    const struct section *s = &opening->reader->sections[index];
    return mldfi_reader_fail(opening->reader, opening->err, MLDF_E_CORRUPT, mldfi_entry_at(opening->reader, index),
                             "section %" PRIu32 " (%s): %" PRIu64 " bytes with parameter %" PRIu64
                             " do not fit the rest of the file",
                             s->kind, mldfi_section_name(s->kind), s->size, s->param);
}

static mldf_status check_crc(struct opening *opening, const struct section *s) {
    uint32_t crc = 0;
    TRY(mldfi_reader_crc(opening->reader, s->ptr, s->size, &crc, opening->err));
    if (crc != s->crc)
        return mldfi_reader_fail(opening->reader, opening->err, MLDF_E_CHECKSUM, s->ptr,
                                 "section %" PRIu32 " (%s) at byte %" PRIu64 " is damaged", s->kind,
                                 mldfi_section_name(s->kind), s->ptr);
    return MLDF_OK;
}

/* a * b, or 2^64 - 1 where that wraps: no size in a file is that large. */
static uint64_t product(uint64_t a, uint64_t b) {
    uint64_t out;
    return mldfi_mul_u64(a, b, &out) ? out : UINT64_MAX;
}

/* ---- One function for each kind that needs more than a size --------------------------------------------------------- */

static mldf_status open_stats(struct opening *opening, size_t index) {
    mldf_reader *reader = opening->reader;
    const struct section *s = &reader->sections[index];
    size_t fields = reader->header.num_fields;
    const uint8_t *bytes;
    if (s->param != FORMAT_STATS_BYTES || s->size != (uint64_t)fields * FORMAT_STATS_BYTES)
        return wrong_size(opening, index);
    mldf_status status = check_crc(opening, s);
    if (status < 0 || (status = mldfi_open_view(opening, s->ptr, s->size, &bytes)) < 0)
        return status;
    reader->stats = mldfi_alloc_zero(fields, sizeof *reader->stats, opening->err);
    if (!reader->stats)
        return MLDF_E_MEMORY;
    for (size_t i = 0; i < fields; i++)
        mldfi_stats_decode(bytes + i * FORMAT_STATS_BYTES, &reader->stats[i]);
    return MLDF_OK;
}

static mldf_status open_keys(struct opening *opening, size_t index) {
    mldf_reader *reader = opening->reader;
    const struct section *s = &reader->sections[index];
    uint64_t n = reader->header.num_samples, offsets = product(8, n + 1), slots;
    uint8_t word[8];
    /* 2^40 slots hold less than 2^40 samples, so that nothing below can wrap. */
    if (s->param > MAX_KEY_PARAM || (UINT64_C(2) << s->param) < product(3, n))
        return wrong_size(opening, index);
    slots = UINT64_C(8) << s->param;
    if (s->size < offsets + slots)
        return wrong_size(opening, index);
    mldf_status status = mldfi_reader_copy(reader, s->ptr, word, sizeof word, opening->err);
    if (status < 0)
        return status;
    if (mldfi_load_u64(word) != offsets)
        return mldfi_reader_fail(reader, opening->err, MLDF_E_CORRUPT, s->ptr,
                                 "sample keys: the first one begins at %" PRIu64 " of the section, not at %" PRIu64,
                                 mldfi_load_u64(word), offsets);
    if ((status = mldfi_reader_copy(reader, s->ptr + 8 * n, word, sizeof word, opening->err)) < 0)
        return status;
    uint64_t end = mldfi_load_u64(word);
    reader->keys_bytes_end = s->size - slots;
    if (end < offsets || end > s->size || mldfi_align_up(end, 8) != reader->keys_bytes_end)
        return mldfi_reader_fail(reader, opening->err, MLDF_E_CORRUPT, s->ptr + 8 * n,
                                 "sample keys: the last one ends at %" PRIu64
                                 " of the section, the slots begin at %" PRIu64,
                                 end, reader->keys_bytes_end);
    return MLDF_OK;
}

static mldf_status open_page_map(struct opening *opening, size_t index) {
    const struct header *header = &opening->reader->header;
    const struct section *s = &opening->reader->sections[index];
    uint64_t data = header->metadata_ptr < header->data_ptr ? 0 : header->metadata_ptr - header->data_ptr;
    uint64_t pages = data / header->page_size + (data % header->page_size != 0);
    return s->param != header->page_size || s->size != 8 * pages ? wrong_size(opening, index) : MLDF_OK;
}

static mldf_status take_dictionary(struct opening *opening, const struct section *s, const uint8_t *bytes,
                                   size_t count) {
    mldf_reader *reader = opening->reader;
    mldf_status status = mldfi_zstd_dictionary_new(&reader->dictionary, bytes, count, opening->err);
    if (status >= 0 || status == MLDF_E_MEMORY || status == MLDF_E_UNSUPPORTED)
        return status;
    return mldfi_reader_fail(reader, opening->err, MLDF_E_CORRUPT, s->ptr,
                             "the zstd dictionary at byte %" PRIu64 " is not one", s->ptr);
}

static mldf_status open_dictionary(struct opening *opening, size_t index) {
    const struct section *s = &opening->reader->sections[index];
    const uint8_t *bytes;
    if (s->size == 0 || s->size > DICTIONARY_MAX)
        return wrong_size(opening, index);
    mldf_status status = check_crc(opening, s);
    if (status < 0 || (status = mldfi_open_view(opening, s->ptr, s->size, &bytes)) < 0)
        return status;
    return take_dictionary(opening, s, bytes, (size_t)s->size);
}

/* What it holds waits for the key: decrypt_dictionary. */
static mldf_status open_sealed_dictionary(struct opening *opening, size_t index) {
    const mldf_reader *reader = opening->reader;
    const struct section *s = &reader->sections[index];
    if (!(reader->header.flags & FORMAT_FLAG_ENCRYPTED) || s->size <= MLDFI_CRYPT_OVERHEAD ||
        s->size > DICTIONARY_MAX + MLDFI_CRYPT_OVERHEAD || mldfi_reader_find_section(reader, SECTION_DICTIONARY))
        return wrong_size(opening, index);
    return check_crc(opening, s);
}

static mldf_status open_encryption_section(struct opening *opening, size_t index) {
    mldf_reader *reader = opening->reader;
    const struct section *s = &reader->sections[index];
    uint8_t b[MLDFI_CRYPT_SECTION_BYTES];
    mldf_error *err = opening->err;
    if (!(reader->header.flags & FORMAT_FLAG_ENCRYPTED) || s->size != sizeof b)
        return wrong_size(opening, index);
    mldf_status status = check_crc(opening, s);
    if (status < 0 || (status = mldfi_reader_copy(reader, s->ptr, b, sizeof b, err)) < 0)
        return status;
    uint32_t algorithm = mldfi_load_u32(b), kdf = mldfi_load_u32(b + 4);
    uint64_t operations = mldfi_load_u64(b + 40), memory = mldfi_load_u64(b + 48);
    if (algorithm != 1)
        return mldfi_reader_fail(reader, err, MLDF_E_FEATURE, s->ptr, "encryption algorithm %" PRIu32 " is not known",
                                 algorithm);
    if (kdf > 1)
        return mldfi_reader_fail(reader, err, MLDF_E_FEATURE, s->ptr + 4, "key derivation %" PRIu32 " is not known",
                                 kdf);
    if (kdf == 1 && (operations == 0 || operations > MAX_OPSLIMIT))
        return mldfi_reader_fail(reader, err, MLDF_E_LIMIT, s->ptr + 40,
                                 "key derivation wants %" PRIu64 " passes; 1 to %d are accepted", operations,
                                 (int)MAX_OPSLIMIT);
    if (kdf == 1 && (memory < MIN_MEMLIMIT || memory > MAX_MEMLIMIT))
        return mldfi_reader_fail(reader, err, MLDF_E_LIMIT, s->ptr + 48,
                                 "key derivation wants %" PRIu64 " bytes of memory; %d to %d are accepted", memory,
                                 (int)MIN_MEMLIMIT, (int)MAX_MEMLIMIT);
    return MLDF_OK;
}

static mldf_status check_long_entry(struct opening *opening, const struct section *s, uint64_t k, const uint8_t *entry,
                                    uint32_t *previous) {
    const mldf_reader *reader = opening->reader;
    uint32_t field = mldfi_load_u32(entry);
    uint64_t offset = mldfi_load_u64(entry + 8), bytes = mldfi_load_u64(entry + 16);
    bool good = field < reader->header.num_fields && (k == 0 || field > *previous) &&
                opening->descriptors[field].arguments_bytes == FORMAT_LONG_ARGUMENTS &&
                offset >= OPEN_LONG_HEAD + OPEN_LONG_ENTRY * (uint64_t)opening->long_count &&
                mldfi_range_inside(offset, bytes, s->size) && bytes <= FORMAT_MAX_LONG_ARGUMENTS;
    if (!good)
        return mldfi_reader_fail(reader, opening->err, MLDF_E_CORRUPT, s->ptr + OPEN_LONG_HEAD + OPEN_LONG_ENTRY * k,
                                 "long arguments, entry %" PRIu64 ": field %" PRIu32 ", %" PRIu64 " bytes at %" PRIu64
                                 " of the section",
                                 k, field, bytes, offset);
    *previous = field;
    return MLDF_OK;
}

static mldf_status open_long_arguments(struct opening *opening, size_t index) {
    mldf_reader *reader = opening->reader;
    const struct section *s = &reader->sections[index];
    uint8_t head[OPEN_LONG_HEAD];
    const uint8_t *entries;
    uint32_t previous = 0;
    if (s->size < sizeof head)
        return wrong_size(opening, index);
    mldf_status status = check_crc(opening, s);
    if (status < 0 || (status = mldfi_reader_copy(reader, s->ptr, head, sizeof head, opening->err)) < 0)
        return status;
    uint64_t count = mldfi_load_u32(head);
    if (count > reader->header.num_fields || OPEN_LONG_HEAD + OPEN_LONG_ENTRY * count > s->size)
        return mldfi_reader_fail(reader, opening->err, MLDF_E_CORRUPT, s->ptr,
                                 "long arguments: %" PRIu64 " entries do not fit", count);
    opening->long_count = (size_t)count;
    opening->long_arguments = s;
    if ((status = mldfi_open_view(opening, s->ptr + OPEN_LONG_HEAD, OPEN_LONG_ENTRY * count, &entries)) < 0)
        return status;
    for (uint64_t k = 0; k < count && status >= 0; k++)
        status = check_long_entry(opening, s, k, entries + OPEN_LONG_ENTRY * k, &previous);
    return status;
}

/* Whether a piece fits its row is looked at when it is used. */
static mldf_status open_plans(struct opening *opening, size_t index) {
    mldf_reader *reader = opening->reader;
    const struct section *s = &reader->sections[index];
    struct packing plans[PACKING_PLANS];
    size_t count;
    uint64_t head = PACKING_HEAD + PACKING_HEADER * (uint64_t)PACKING_PLANS;
    const uint8_t *bytes;
    if (s->size < PACKING_HEAD)
        return wrong_size(opening, index);
    TRY(mldfi_open_view(opening, s->ptr, s->size < head ? s->size : head, &bytes));
    mldf_error why;
    mldf_status status = mldfi_packing_read(bytes, s->size, s->param, reader->header.num_fields,
                                            reader->header.num_samples, plans, &count, &why);
    return status < 0 ? mldfi_reader_fail(reader, opening->err, status, s->ptr + why.offset, "%s", why.message)
                      : MLDF_OK;
}

/* ---- All of them, in the order of the directory ---------------------------------------------------------------------- */

/* O34. */
static mldf_status open_section(struct opening *opening, size_t index) {
    mldf_reader *reader = opening->reader;
    const struct section *s = &reader->sections[index];
    uint64_t n = reader->header.num_samples, payloads = opening->payload_count, nullables = opening->nullable_count;
    switch (s->kind) {
    case SECTION_CHECKS:
        return s->param != payloads || s->size != product(4 * payloads, n) ? wrong_size(opening, index) : MLDF_OK;
    case SECTION_CARD:
        return s->size > FORMAT_MAX_CARD ? wrong_size(opening, index) : MLDF_OK;
    case SECTION_STATS:
        return open_stats(opening, index);
    case SECTION_VALIDITY:
        return s->param != nullables || s->size != product(8 * nullables, n / 64 + (n % 64 != 0))
                   ? wrong_size(opening, index)
                   : MLDF_OK;
    case SECTION_KEYS:
        return open_keys(opening, index);
    case SECTION_PAGE_MAP:
        return open_page_map(opening, index);
    case SECTION_DICTIONARY:
        return open_dictionary(opening, index);
    case SECTION_SEALED_DICTIONARY:
        return open_sealed_dictionary(opening, index);
    case SECTION_ENCRYPTION:
        return open_encryption_section(opening, index);
    case SECTION_LONG_ARGUMENTS:
        return open_long_arguments(opening, index);
    case SECTION_PACK_PLAN:
        return open_plans(opening, index);
    case SECTION_HISTORY:
        return s->size % FORMAT_HISTORY_BYTES != 0 ? wrong_size(opening, index) : check_crc(opening, s);
    default:
        return MLDF_OK;
    }
}

/* repair: forget a section that is damaged. What cannot be read without it is lost later, value by value. */
static void forget_section(struct opening *opening, uint32_t kind) {
    mldf_reader *reader = opening->reader;
    const struct section **known[] = {&reader->checks, &reader->validity, &reader->keys, &reader->page_map,
                                      &reader->card};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (*known[i] && (*known[i])->kind == kind)
            *known[i] = NULL;
    if (kind == SECTION_LONG_ARGUMENTS)
        opening->long_count = 0;
    if (kind == SECTION_DICTIONARY && reader->dictionary) {
        mldfi_zstd_dictionary_free(reader->dictionary);
        reader->dictionary = NULL;
    }
    if (kind < 32)
        reader->unusable |= UINT32_C(1) << kind;
}

mldf_status mldfi_open_sections(struct opening *opening) {
    mldf_reader *reader = opening->reader;
    uint64_t directory = reader->header.directory_ptr;
    for (size_t i = 0; i < reader->section_count; i++) {
        mldf_status status = open_section(opening, i);
        if (status < 0 &&
            (!opening->lenient || status > MLDF_E_MAGIC || reader->sections[i].kind == SECTION_ENCRYPTION))
            return status;
        if (status < 0)
            forget_section(opening, reader->sections[i].kind);
    }
    reader->encrypted = (reader->header.flags & FORMAT_FLAG_ENCRYPTED) != 0;
    if (opening->lenient && (!reader->encrypted || mldfi_reader_find_section(reader, SECTION_ENCRYPTION)))
        return MLDF_OK;
    if ((reader->header.flags & FORMAT_FLAG_CHECKSUMMED) && opening->payload_count && !reader->checks)
        return mldfi_reader_fail(reader, opening->err, MLDF_E_CORRUPT, directory,
                                 "the file is checksummed, but the directory has no section 2 (checks)");
    if (opening->nullable_count && !reader->validity)
        return mldfi_reader_fail(reader, opening->err, MLDF_E_CORRUPT, directory,
                                 "fields are nullable, but the directory has no section 5 (validity)");
    if (reader->encrypted && !mldfi_reader_find_section(reader, SECTION_ENCRYPTION))
        return mldfi_reader_fail(reader, opening->err, MLDF_E_CORRUPT, directory,
                                 "the file is encrypted, but the directory has no section 9 (encryption)");
    return MLDF_OK;
}

/* ---- Arguments ------------------------------------------------------------------------------------------------------- */

/* The text of a field's long arguments. The entries ascend by field, so that one walk serves them all: *next is the first
 * entry not used yet. */
static mldf_status find_long_text(struct opening *opening, size_t field, uint64_t *next, const uint8_t **text,
                                  size_t *bytes) {
    const mldf_reader *reader = opening->reader;
    const struct section *s = opening->long_arguments;
    struct descriptor *d = &opening->descriptors[field];
    uint8_t entry[OPEN_LONG_ENTRY];
    while (s && *next < opening->long_count) {
        TRY(mldfi_reader_copy(reader, s->ptr + OPEN_LONG_HEAD + OPEN_LONG_ENTRY * *next, entry, sizeof entry,
                              opening->err));
        if (mldfi_load_u32(entry) > field)
            break;
        ++*next;
        if (mldfi_load_u32(entry) != field)
            continue;
        d->arguments_offset = s->ptr + mldfi_load_u64(entry + 8);
        *bytes = (size_t)mldfi_load_u64(entry + 16);
        return mldfi_open_view(opening, d->arguments_offset, *bytes, text);
    }
    return mldfi_reader_fail(reader, opening->err, MLDF_E_CORRUPT, mldfi_descriptor_at(reader, field) + 206,
                             "field %s: its long arguments are not in the file", d->name);
}

mldf_status mldfi_open_arguments(struct opening *opening) {
    mldf_reader *reader = opening->reader;
    uint64_t next = 0;
    mldf_status status = mldf_schema_new(reader->context, &reader->schema, opening->err);
    for (size_t i = 0; i < reader->header.num_fields && status >= 0; i++) {
        const struct descriptor *d = &opening->descriptors[i];
        const uint8_t *text = d->arguments;
        size_t bytes = d->arguments_bytes;
        if (bytes == FORMAT_LONG_ARGUMENTS && (status = find_long_text(opening, i, &next, &text, &bytes)) < 0)
            return status;
        status = mldfi_schema_add_descriptor(reader->schema, d, (const char *)text, bytes, false,
                                             mldfi_descriptor_at(reader, i), opening->err);
        if (status < 0)
            return mldfi_reader_name_error(reader, opening->err, status);
    }
    return status;
}

/* ---- Encryption ------------------------------------------------------------------------------------------------------ */

static mldf_status mac_range(struct opening *opening, struct crypt_mac *mac, uint64_t offset, uint64_t bytes) {
    while (bytes > 0) {
        const uint8_t *data;
        size_t piece = bytes < READER_CHUNK ? (size_t)bytes : (size_t)READER_CHUNK;
        TRY(mldfi_open_view(opening, offset, piece, &data));
        mldfi_crypt_mac_add(mac, data, piece);
        offset += piece;
        bytes -= piece;
    }
    return MLDF_OK;
}

/* Header, the three tables, then every section but the one that holds the result. */
static mldf_status mac_file(struct opening *opening, struct crypt_mac *mac) {
    mldf_reader *reader = opening->reader;
    const struct table_ref *tables[3] = {&reader->tables.descriptors, &reader->tables.metadata,
                                         &reader->tables.allocation};
    mldf_status status = MLDF_OK;
    mldfi_crypt_mac_add(mac, opening->header_bytes, FORMAT_HEADER_BYTES);
    for (size_t i = 0; i < 3 && status >= 0; i++)
        status = mac_range(opening, mac, tables[i]->ptr, tables[i]->bytes);
    for (size_t i = 0; i < reader->section_count && status >= 0; i++) {
        const struct section *s = &reader->sections[i];
        uint8_t head[24];
        if (s->kind == SECTION_ENCRYPTION)
            continue;
        mldfi_store_u32(head, s->kind);
        mldfi_store_u32(head + 4, s->flags);
        mldfi_store_u64(head + 8, s->size);
        mldfi_store_u64(head + 16, s->param);
        mldfi_crypt_mac_add(mac, head, sizeof head);
        status = mac_range(opening, mac, s->ptr, s->size);
    }
    return status;
}

static mldf_status authenticate(struct opening *opening, const struct section *s,
                                const uint8_t stored[MLDFI_CRYPT_MAC_BYTES]) {
    struct crypt_mac *mac;
    uint8_t computed[MLDFI_CRYPT_MAC_BYTES];
    TRY(mldfi_crypt_mac_begin(&mac, opening->reader->crypt, opening->err));
    mldf_status status = mac_file(opening, mac);
    mldfi_crypt_mac_end(mac, computed);
    if (status < 0)
        return status;
    if (!mldfi_crypt_mac_equal(computed, stored))
        return mldfi_reader_fail(opening->reader, opening->err, MLDF_E_TAMPERED, s->ptr + MLDFI_CRYPT_MAC_OFFSET,
                                 "header, tables or sections were edited or damaged: they do not authenticate");
    return MLDF_OK;
}

static mldf_status decrypt_dictionary(struct opening *opening) {
    mldf_reader *reader = opening->reader;
    const struct section *s = mldfi_reader_find_section(reader, SECTION_SEALED_DICTIONARY);
    mldf_buffer plain = MLDF_BUFFER_INIT;
    const uint8_t *stored;
    if (!s)
        return MLDF_OK;
    TRY(mldfi_open_view(opening, s->ptr, s->size, &stored));
    mldf_status status = mldfi_crypt_open_dictionary(reader->crypt, stored, (size_t)s->size, &plain, opening->err);
    if (status == MLDF_E_TAMPERED)
        status = mldfi_reader_fail(reader, opening->err, MLDF_E_TAMPERED, s->ptr,
                                   "the encrypted dictionary at byte %" PRIu64 " does not authenticate", s->ptr);
    if (status >= 0)
        status = take_dictionary(opening, s, plain.data, plain.size);
    mldf_buffer_free(&plain);
    return status;
}

/* O37. */
mldf_status mldfi_open_encryption(struct opening *opening) {
    mldf_reader *reader = opening->reader;
    const mldf_secret *secret = opening->secret;
    const struct section *s = mldfi_reader_find_section(reader, SECTION_ENCRYPTION);
    uint8_t bytes[MLDFI_CRYPT_SECTION_BYTES];
    mldf_error *err = opening->err;
    bool has_key = secret->key != NULL, has_passphrase = secret->passphrase != NULL;
    if (!reader->encrypted || (opening->without_key && !has_key && !has_passphrase))
        return MLDF_OK;
    if (!has_key && !has_passphrase)
        return mldfi_reader_fail(reader, err, MLDF_E_KEY_MISSING, s->ptr, "the file is encrypted and no key was given");
    TRY(mldfi_reader_copy(reader, s->ptr, bytes, sizeof bytes, err));
    mldf_status status = mldfi_crypt_open(&reader->crypt, bytes, secret, err);
    if (status < 0) {
        if (err && err->offset != MLDF_NONE)
            err->offset += s->ptr;
        return mldfi_reader_name_error(reader, err, status);
    }
    status = authenticate(opening, s, bytes + MLDFI_CRYPT_MAC_OFFSET);
    return status < 0 ? status : decrypt_dictionary(opening);
}
