/* Documents of several parts in packed sequences (fields of type multimodal): interleaved text and images.
 *
 *     parts      text "a b c" · image · text "d"                     null parts and parts of other kinds have no tokens
 *     stream     bos?  a b c  i i i i  d  eos?                       i: image_id; how many: image_tokens, or ceil(h / patch) * ceil(w / patch)
 *
 * A stream is put into sequences as a document of tokens is, with one rule more: no image is in two of them. So streams longer than a sequence are cut here,
 * before the plan is made; what the plan calls a document is a cut one (packed.first_of_row, starts, lengths), and bos and eos are the stream's.
 * What a record or a table of parts says is held against the payload again when an item is gathered: a file may say anything. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/image_type.h"
#include "field/multimodal.h"
#include "field/tokens.h"
#include "items/packed.h"
#include "kernel/cast.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/json.h"

#define MOST_TOKENS 1073741824.0
enum { DEFAULT_IMAGE_TOKENS = 256 };

/* ---- Roles and parameters ---------------------------------------------------------------------------------------------------------- */

static const struct schema_field *field_of(const mldf_view *view, size_t reader) {
    return &view->readers[reader]->schema->fields[view->fields[reader]];
}

static const struct multimodal_state *state_of(const mldf_view *view, size_t reader) {
    return field_of(view, reader)->state;
}

static bool is_image(const struct schema_field *kind) {
    return kind->type->self_describing == FAMILY_IMAGE;
}

bool mldfi_packed_is_parts(const mldf_view *view) {
    return field_of(view, 0)->type == &mldfi_type_multimodal;
}

const struct schema_field *mldfi_packed_text_kind(const mldf_view *view) {
    const mldf_schema *kinds = state_of(view, 0)->kinds;
    for (size_t i = 0; i < kinds->field_count; i++)
        if (kinds->fields[i].info.type_id == MLDF_TEXT_TOKENIZED)
            return &kinds->fields[i];
    return NULL;
}

static mldf_status refuse(const mldf_view *view, size_t reader, mldf_error *err, mldf_status status) {
    mldfi_error_place(err, MLDF_NONE, view->field);
    return mldfi_reader_name_error(view->readers[reader], err, status);
}

/* The role of images: the one that was named, or the only one. */
static mldf_status find_image(mldf_view *view, size_t reader, mldf_error *err) {
    const mldf_schema *kinds = state_of(view, reader)->kinds;
    const char *role = view->args[PACKED_IMAGE].name;
    size_t found = SIZE_MAX, count = 0;
    for (size_t i = 0; i < kinds->field_count; i++)
        if (is_image(&kinds->fields[i]) && (!role || strcmp(role, kinds->fields[i].name) == 0)) {
            found = i;
            count++;
        }
    if (role && !count)
        return mldfi_fail(err, MLDF_E_NO_FIELD, "view packed: field %s has no role %s of images", view->field, role);
    if (!count)
        return mldfi_fail(err, MLDF_E_TYPE, "view packed: field %s has no role of images", view->field);
    if (count > 1)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "view packed: field %s has %zu roles of images: give image=ROLE",
                          view->field, count);
    view->packed->parts->image[reader] = found;
    return MLDF_OK;
}

/* The kinds of tokens, which agree with the first reader's first. */
static mldf_status find_texts(mldf_view *view, size_t reader, bool *only, mldf_error *err) {
    const mldf_schema *kinds = state_of(view, reader)->kinds;
    struct packed_parts *parts = view->packed->parts;
    for (size_t i = 0; i < kinds->field_count; i++) {
        const struct schema_field *kind = &kinds->fields[i];
        *only = *only && (!mldfi_is_tokens(kind->info.type_id) || kind->info.type_id == MLDF_TEXT_TOKENIZED) &&
                (!is_image(kind) || i == parts->image[reader]);
        if (kind->info.type_id != MLDF_TEXT_TOKENIZED)
            continue;
        parts->texts[reader] |= 1u << i;
        TRY(mldfi_tokens_agree(mldfi_packed_text_kind(view), kind, err));
        if (!view->packed->wide && (kind->info.dtype == MLDF_U32 || kind->info.dtype == MLDF_I64))
            return mldfi_fail(err, MLDF_E_TYPE, "view packed: the ids of role %s may be larger than dtype=i32 holds",
                              kind->name);
    }
    if (!parts->texts[reader])
        return mldfi_fail(err, MLDF_E_TYPE,
                          "view packed: field %s has no role of tokens (text_tokenized): pack it with a tokenizer",
                          view->field);
    return MLDF_OK;
}

/* Another file's images are what the first one's are: they come out as one kind. */
static mldf_status check_images(const mldf_view *view, size_t reader, mldf_error *err) {
    const struct packed_parts *parts = view->packed->parts;
    const struct schema_field *a = &state_of(view, 0)->kinds->fields[parts->image[0]];
    const struct schema_field *b = &state_of(view, reader)->kinds->fields[parts->image[reader]];
    if (a->info.type_id == b->info.type_id && strcmp(a->name, b->name) == 0 && strcmp(a->arguments, b->arguments) == 0)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_SCHEMA, "view packed: images of %s are %s %s %s, and in the first file %s %s %s",
                      view->field, b->name, b->info.type_name, b->arguments, a->name, a->info.type_name, a->arguments);
}

static mldf_status take_numbers(mldf_view *view, mldf_error *err) {
    struct packed_parts *parts = view->packed->parts;
    const struct item_arg *args = view->args;
    double length = args[PACKED_LENGTH].number;
    if (!args[PACKED_IMAGE_ID].given)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "view packed: field %s has images: give image_id=ID, the token of a placeholder",
                          view->field);
    if (args[PACKED_IMAGE_TOKENS].given && args[PACKED_PATCH].given)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "view packed: give image_tokens or patch, not both");
    mldf_status status = mldfi_packed_check_whole(view, PACKED_LENGTH, 1, MOST_TOKENS, err);
    if (status >= 0)
        status = mldfi_packed_check_whole(view, PACKED_IMAGE_ID, 0, 2147483647.0, err);
    if (status >= 0)
        status = mldfi_packed_check_whole(view, PACKED_IMAGE_TOKENS, 1, length, err);
    if (status >= 0)
        status = mldfi_packed_check_whole(view, PACKED_PATCH, 1, 65536, err);
    if (status >= 0)
        status = mldfi_packed_check_whole(view, PACKED_MISSING, 0, length, err);
    if (status < 0)
        return status;
    parts->image_id = (int64_t)args[PACKED_IMAGE_ID].number;
    parts->patch = args[PACKED_PATCH].given ? (uint32_t)args[PACKED_PATCH].number : 0;
    parts->image_tokens =
        args[PACKED_IMAGE_TOKENS].given ? (uint32_t)args[PACKED_IMAGE_TOKENS].number : DEFAULT_IMAGE_TOKENS;
    parts->missing = args[PACKED_MISSING].given ? (uint32_t)args[PACKED_MISSING].number : 0;
    parts->long_documents = (int)args[PACKED_LONG].number;
    if (!parts->patch && parts->image_tokens > length)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "view packed: an image has %" PRIu32 " tokens and a sequence %.0f: give image_tokens=N",
                          parts->image_tokens, length);
    return MLDF_OK;
}

mldf_status mldfi_packed_parts_open(mldf_view *view, mldf_error *err) {
    struct packed *p = view->packed;
    struct packed_parts *parts = p->parts = mldfi_alloc_zero(1, sizeof *parts, err);
    bool only = true;
    if (!parts)
        return MLDF_E_MEMORY;
    parts->image = mldfi_alloc_zero(view->reader_count, sizeof *parts->image, err);
    parts->texts = mldfi_alloc_zero(view->reader_count, sizeof *parts->texts, err);
    if (!parts->image || !parts->texts)
        return MLDF_E_MEMORY;
    if (view->first_row[view->reader_count] > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "view packed: %" PRIu64 " samples of several parts; 2^32 are the most",
                          view->first_row[view->reader_count]);
    for (size_t i = 0; i < view->reader_count; i++) {
        const struct schema_field *f = field_of(view, i);
        mldf_status status = f->type == &mldfi_type_multimodal
                                 ? find_image(view, i, err)
                                 : mldfi_fail(err, MLDF_E_TYPE, "view packed: field %s is %s, and multimodal elsewhere",
                                              view->field, f->info.type_name);
        if (status >= 0)
            status = find_texts(view, i, &only, err);
        if (status >= 0)
            status = check_images(view, i, err);
        if (status < 0)
            return refuse(view, i, err, status);
    }
    mldf_status status = take_numbers(view, err);
    parts->by_record = only && !parts->patch && !parts->missing;
    return status;
}

mldf_status mldfi_packed_parts_take(mldf_view *view, mldf_error *err) {
    struct packed *p = view->packed;
    static const int own[] = {PACKED_IMAGE_ID, PACKED_IMAGE, PACKED_IMAGE_TOKENS, PACKED_PATCH, PACKED_MISSING};
    for (size_t i = 0; !p->parts && i < sizeof own / sizeof *own; i++)
        if (view->args[own[i]].given)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "view packed: %s is for multimodal fields, and %s is %s",
                              view->map->params[own[i]].name, view->field, field_of(view, 0)->info.type_name);
    if (!p->parts)
        return MLDF_OK;
    if (p->objective != OBJECTIVE_CAUSAL || p->ends == ENDS_NEXT ||
        view->args[PACKED_ALGORITHM].number == PACKING_CONCAT - PACKING_BEST_FIT)
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "view packed: %s does not go with images, which are never cut or guessed",
                          p->objective != OBJECTIVE_CAUSAL ? "this objective"
                          : p->ends == ENDS_NEXT           ? "ends=next"
                                                           : "algorithm=concat");
    p->parts->bos = p->bos;
    p->parts->eos = p->eos;
    p->bos = p->eos = -1;
    return MLDF_OK;
}

void mldfi_packed_parts_free(struct packed *p) {
    if (!p->parts)
        return;
    free(p->parts->image);
    free(p->parts->texts);
    free(p->parts);
}

mldf_status mldfi_packed_parts_arguments(const mldf_view *view, mldf_buffer *out, mldf_error *err) {
    const struct schema_field *kind = &state_of(view, 0)->kinds->fields[view->packed->parts->image[0]];
    mldf_status status = mldfi_buffer_append_text(out, "{\"parts\":[{\"role\":", err);
    if (status >= 0)
        status = mldfi_json_append_string(out, kind->name, strlen(kind->name), err);
    if (status >= 0)
        status = mldfi_buffer_printf(out, err, ",\"type\":\"%s\",\"arguments\":%s}]}", kind->info.type_name,
                                     kind->arguments[0] ? kind->arguments : "{}");
    return status < 0 ? status : mldf_buffer_append(out, "", 1, err);
}

/* ---- The stream of a sample ---------------------------------------------------------------------------------------------------------- */

/* A run of it: tokens of a part, the placeholders of an image, bos or eos. */
enum run_kind { RUN_ID, RUN_TEXT, RUN_IMAGE };
struct run {
    enum run_kind kind;
    uint64_t begin, count;
    int64_t id;
    uint64_t part;
    struct parts_entry entry;
};
struct stream {
    const mldf_view *view;
    const struct multimodal_state *state;
    uint32_t reader;
    const uint8_t *table;
    uint64_t parts, payload_bytes;
    uint64_t next, at;
    uint64_t end;     /* of the bytes of the parts so far: no byte is of two parts */
    bool some, ended; /* a part has tokens; eos was given */
};

static mldf_status cost_of(const struct stream *s, const struct parts_entry *e, uint64_t *out, mldf_error *err) {
    const struct packed_parts *p = s->view->packed->parts;
    *out = 0;
    if (e->kind == p->image[s->reader]) {
        uint64_t h = mldfi_load_u16(e->record + IMAGE_HEIGHT), w = mldfi_load_u16(e->record + IMAGE_WIDTH);
        *out = e->null    ? p->missing
               : p->patch ? (h + p->patch - 1) / p->patch * ((w + p->patch - 1) / p->patch)
                          : p->image_tokens;
    } else if (!e->null && p->texts[s->reader] >> e->kind & 1) {
        *out = mldfi_parts_length(e);
        if (*out > e->bytes)
            return mldfi_fail(err, MLDF_E_CORRUPT, "part %" PRIu64 " (%s): %" PRIu64 " tokens in %" PRIu64 " bytes",
                              s->next, e->of->name, *out, e->bytes);
    }
    return MLDF_OK;
}

/* Parts lie one after the other. Parts that share bytes would make a batch of any size from a small file. */
static mldf_status pass_bytes(struct stream *s, const struct parts_entry *e, mldf_error *err) {
    if (e->null || !e->bytes)
        return MLDF_OK;
    if (e->offset < s->end)
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "part %" PRIu64 " (%s) begins at byte %" PRIu64 ", and the one before ends at %" PRIu64,
                          s->next, e->of->name, e->offset, s->end);
    s->end = e->offset + e->bytes; /* inside the payload */
    return MLDF_OK;
}

/* The next run that is not empty. MLDF_END: there are no more. bos comes first, but only in front of something. */
static mldf_status next_run(struct stream *s, struct run *out, mldf_error *err) {
    const struct packed_parts *p = s->view->packed->parts;
    while (s->next < s->parts) {
        mldf_status status =
            mldfi_parts_entry(s->state, s->table, s->parts, s->payload_bytes, s->next, &out->entry, err);
        if (status >= 0)
            status = cost_of(s, &out->entry, &out->count, err);
        if (status < 0)
            return status;
        if (out->count && !s->some && p->bos >= 0) {
            s->some = true;
            *out = (struct run){.kind = RUN_ID, .begin = 0, .count = 1, .id = p->bos};
            s->at = 1;
            return MLDF_OK;
        }
        TRY(pass_bytes(s, &out->entry, err));
        out->part = s->next++;
        if (!out->count)
            continue;
        s->some = true;
        out->kind = out->entry.kind == p->image[s->reader] ? RUN_IMAGE : RUN_TEXT;
        out->begin = s->at;
        s->at += out->count;
        return MLDF_OK;
    }
    if (s->ended || !s->some || p->eos < 0)
        return MLDF_END;
    s->ended = true;
    *out = (struct run){.kind = RUN_ID, .begin = s->at++, .count = 1, .id = p->eos};
    return MLDF_OK;
}

/* ---- Cutting ------------------------------------------------------------------------------------------------------------------------- */

/* What the record says, where that is all there is to know: tokens of the text and images. */
static bool by_record(const mldf_view *view, const uint8_t *record, uint64_t bytes, uint64_t *total) {
    const struct packed_parts *p = view->packed->parts;
    uint64_t tokens = mldfi_load_u32(record + PARTS_TOKENS), images = mldfi_load_u32(record + PARTS_IMAGES);
    *total = tokens + images * p->image_tokens;
    if (*total)
        *total += (p->bos >= 0) + (p->eos >= 0);
    return p->by_record && tokens <= bytes && *total <= (uint64_t)view->args[PACKED_LENGTH].number;
}

static mldf_status too_large(const struct stream *s, uint64_t row, const struct run *run, uint64_t length,
                             mldf_error *err) {
    mldfi_fail(err, MLDF_E_RANGE,
               "part %" PRIu64 " (%s) is an image of %" PRIu64 " tokens, and a sequence has %" PRIu64
               "; long=drop leaves such documents out",
               run->part, run->entry.of->name, run->count, length);
    mldfi_error_place(err, row, s->view->field);
    return mldfi_reader_name_error(s->view->readers[s->reader], err, MLDF_E_RANGE);
}

static mldf_status measure_stream(struct stream *s, uint64_t *total, mldf_error *err) {
    struct run run;
    mldf_status status;
    while ((status = next_run(s, &run, err)) == MLDF_OK)
        ;
    *total = s->at;
    s->next = s->at = s->end = 0;
    s->some = s->ended = false;
    return status;
}

static mldf_status cut_stream(struct stream *s, uint64_t row, packed_cut add, void *user, mldf_error *err) {
    const struct packed_parts *p = s->view->packed->parts;
    uint64_t length = (uint64_t)s->view->args[PACKED_LENGTH].number, start = 0, total;
    struct run run;
    mldf_status status = measure_stream(s, &total, err);
    if (status < 0)
        return status;
    if (p->long_documents == PACKING_DROP && total > length)
        return add(user, 0, PACKING_NULL, err);
    if (total <= length)
        return add(user, 0, total, err);
    while ((status = next_run(s, &run, err)) == MLDF_OK) {
        uint64_t end = run.begin + run.count;
        bool image = run.kind == RUN_IMAGE;
        if (image && run.count > length)
            return too_large(s, row, &run, length, err);
        while (status == MLDF_OK && end - start > length) {
            uint64_t stop = image ? run.begin : start + length;
            status = add(user, start, stop - start, err);
            start = stop;
            if (p->long_documents == PACKING_TRUNCATE)
                return status;
        }
        if (status < 0)
            return status;
    }
    return status < 0 ? status : add(user, start, total - start, err);
}

mldf_status mldfi_packed_parts_cut(const mldf_view *view, uint32_t reader, uint64_t row, mldf_buffer *scratch,
                                   packed_cut add, void *user, bool *odd, mldf_error *err) {
    const mldf_reader *from = view->readers[reader];
    size_t field = view->fields[reader];
    struct stream s = {.view = view, .state = state_of(view, reader), .reader = reader};
    uint8_t record[PARTS_RECORD];
    uint64_t total;
    mldf_value value, part;
    mldf_status status = mldfi_reader_record(from, row, field, scratch, &value, err);
    if (status >= 0 && value.kind != MLDF_KIND_NULL && value.record_bytes == PARTS_RECORD) {
        memcpy(record, value.record, sizeof record);
        if (by_record(view, record, value.bytes, &total))
            return add(user, 0, total, err);
        s.parts = mldfi_load_u32(record + PARTS_COUNT);
        s.payload_bytes = value.bytes;
        s.table = value.data;
        status = mldfi_parts_check_record(s.state, record, value.bytes, err);
        if (status >= 0 && !s.table && s.parts) {
            status = mldf_reader_get_range(from, row, field, 0, s.parts * s.state->entry_bytes, scratch, &part, err);
            s.table = part.data;
        }
        if (status >= 0)
            status = cut_stream(&s, row, add, user, err);
        if (status >= 0)
            return MLDF_OK;
    }
    if (status == MLDF_E_MEMORY || status == MLDF_E_IO || status == MLDF_E_RANGE)
        return status;
    *odd = true;
    return add(user, 0, PACKING_NULL, err);
}

/* ---- One piece ------------------------------------------------------------------------------------------------------------------------ */

static mldf_status in_row(const mldf_view *view, const mldf_reader *reader, uint64_t row, mldf_status status,
                          mldf_error *err) {
    mldfi_error_place(err, row, view->field);
    return mldfi_reader_name_error(reader, err, status);
}

/* Tokens [skip, skip + count) of a text part as i64. */
static mldf_status copy_text(const struct run *run, const uint8_t *payload, uint64_t skip, uint64_t count,
                             mldf_buffer *aside, int64_t *out, mldf_error *err) {
    const struct parts_entry *e = &run->entry;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_value v;
    mldf_status status = mldfi_field_decode(e->of, e->record, 0, payload + e->offset, e->bytes, 0, &scratch, &v, err);
    if (status >= 0 && (v.kind != MLDF_KIND_ARRAY || v.ndim != 1 || v.dims[0] != run->count))
        status = mldfi_fail(err, MLDF_E_CORRUPT, "it is not %" PRIu64 " tokens", run->count);
    if (status >= 0) {
        size_t width = mldf_dtype_bytes(v.dtype);
        const uint8_t *from = (const uint8_t *)v.data + skip * width;
        if ((uintptr_t)from % width) {
            aside->size = 0;
            status = mldf_buffer_append(aside, from, (size_t)count * width, err);
            from = aside->data;
        }
        if (status >= 0)
            mldfi_convert_elements(v.dtype, from, MLDF_I64, out, (size_t)count);
    }
    mldf_buffer_free(&scratch);
    if (status < 0) {
        mldfi_parts_unplace(err);
        mldfi_error_prefix(err, "part %" PRIu64 " (%s)", run->part, e->of->name);
    }
    return status;
}

static mldf_status add_image(struct packed_item *item, const struct run *run, const struct packed_piece *piece,
                             uint64_t begin, bool first, mldf_error *err) {
    mldf_status status =
        mldfi_array_reserve(&item->images, &item->image_capacity, item->image_count + 1, sizeof *item->images, err);
    if (status >= 0)
        item->images[item->image_count++] = (struct packed_image){.reader = piece->reader,
                                                                  .begin = (uint32_t)begin,
                                                                  .count = (uint32_t)run->count,
                                                                  .row = piece->row,
                                                                  .part = run->part,
                                                                  .first = first,
                                                                  .null = run->entry.null};
    return status;
}

/* What a run has of stream [from, from + length), and one token more where that is text. */
static mldf_status put_run(const mldf_view *view, const struct run *run, const uint8_t *payload, uint64_t at,
                           struct packed_item *item, struct packed_piece *piece, int64_t *out, mldf_error *err) {
    uint64_t from = piece->from, end = from + piece->length, stop = run->begin + run->count;
    uint64_t begin = run->begin > from ? run->begin : from, last = stop < end + 1 ? stop : end + 1;
    if (begin >= last)
        return MLDF_OK;
    if (run->kind == RUN_IMAGE) {
        if (run->begin >= end) /* it follows: nobody guesses it */
            return MLDF_OK;
        if (run->begin < from || stop > end)
            return mldfi_fail(err, MLDF_E_CORRUPT,
                              "part %" PRIu64 " (%s): an image of %" PRIu64 " tokens lies across the end of a piece; "
                              "record and parts do not agree",
                              run->part, run->entry.of->name, run->count);
        for (uint64_t i = begin; i < stop; i++)
            out[i - from] = view->packed->parts->image_id;
        return add_image(item, run, piece, at + begin - from, begin == from, err);
    }
    if (last > end) {
        piece->more = view->packed->parts->long_documents == PACKING_CUT;
        last = piece->more ? last : end;
    }
    if (begin >= last)
        return MLDF_OK;
    if (run->kind == RUN_TEXT)
        return copy_text(run, payload, begin - run->begin, last - begin, &item->aside, out + (begin - from), err);
    out[begin - from] = run->id;
    return MLDF_OK;
}

/* The plan's last piece of a row ends where the stream does; with long=truncate, where a sequence is full. */
static mldf_status check_end(const mldf_view *view, const struct stream *s, uint64_t full, bool last,
                             const struct packed_piece *piece, mldf_error *err) {
    uint64_t planned = piece->from + piece->length;
    bool truncated = view->packed->parts->long_documents == PACKING_TRUNCATE && full != MLDF_NONE;
    uint64_t wanted = truncated ? full : s->at;
    if (last ? planned == wanted : planned <= s->at)
        return MLDF_OK;
    return mldfi_fail(err, MLDF_E_CORRUPT,
                      "its parts have %" PRIu64 " tokens%s, and %" PRIu64
                      " were expected; record and parts do not agree",
                      wanted, wanted > planned ? " or more" : "", planned);
}

static mldf_status put_stream(const mldf_view *view, const mldf_value *value, uint64_t at, bool last,
                              struct packed_item *item, struct packed_piece *out, mldf_error *err) {
    const uint64_t end = out->from + out->length, length = (uint64_t)view->args[PACKED_LENGTH].number;
    uint64_t full = MLDF_NONE; /* where the first sequence of the stream ends, if there is more than one */
    struct stream s = {.view = view, .state = state_of(view, out->reader), .reader = out->reader};
    size_t place = (size_t)mldfi_align_up(item->arena.size, 8), bytes = ((size_t)out->length + 1) * 8;
    struct run run;
    s.parts = mldfi_load_u32((const uint8_t *)value->record + PARTS_COUNT);
    s.payload_bytes = value->bytes;
    s.table = value->data;
    mldf_status status = mldfi_parts_check_record(s.state, value->record, value->bytes, err);
    if (status >= 0)
        status = mldf_buffer_reserve(&item->arena, place + bytes, err);
    if (status < 0)
        return status;
    int64_t *ids = (int64_t *)(void *)(item->arena.data + place);
    item->arena.size = place + bytes;
    ids[out->length] = 0;
    while ((status = next_run(&s, &run, err)) == MLDF_OK && run.begin <= end) {
        if (full == MLDF_NONE && s.at > length)
            full = run.kind == RUN_IMAGE ? run.begin : length;
        if ((status = put_run(view, &run, value->data, at, item, out, ids, err)) < 0)
            return status;
    }
    if (status < 0)
        return status;
    out->tokens = s.at;                           /* or fewer than there are, but more than the piece needs */
    out->ids = (const uint8_t *)(uintptr_t)place; /* an offset, until the arena has come to rest */
    return check_end(view, &s, full, last, out, err);
}

/* The row's value, which pieces that follow each other share: a long document is read once, not once for each piece. */
static mldf_status get_whole(const mldf_view *view, const mldf_reader *reader, const struct packed_piece *piece,
                             struct packed_item *item, mldf_error *err) {
    if (item->whole_reader == reader && item->whole_row == piece->row)
        return MLDF_OK;
    item->whole_reader = NULL;
    TRY(mldfi_reader_get_packed(reader, piece->row, view->fields[piece->reader], &item->whole, &item->whole_value,
                                err));
    item->whole_reader = reader;
    item->whole_row = piece->row;
    return MLDF_OK;
}

mldf_status mldfi_packed_parts_piece(const mldf_view *view, const mldf_reader *const *readers,
                                     const struct packed_step *step, uint64_t at, struct packed_item *item,
                                     struct packed_piece *out, mldf_error *err) {
    const uint64_t *first_of_row = view->packed->first_of_row;
    const mldf_value *value = &item->whole_value;
    uint64_t begin, known;
    *out = (struct packed_piece){.length = step->length, .dtype = MLDF_I64};
    mldfi_packed_document(view, view->packed, step->document, &out->reader, &out->row, &begin, &known);
    out->document = view->first_row[out->reader] + out->row;
    out->from = begin + step->from;
    const mldf_reader *reader = readers[out->reader];
    bool last =
        first_of_row && step->document + 1 == first_of_row[out->document + 1] && step->from + step->length == known;
    mldf_status status = get_whole(view, reader, out, item, err);
    if (status >= 0 && (value->kind == MLDF_KIND_NULL || value->record_bytes != PARTS_RECORD))
        status = mldfi_fail(err, MLDF_E_CORRUPT, "it is null, and the plan has a piece of it");
    if (status >= 0)
        status = put_stream(view, value, at, last, item, out, err);
    return status < 0 ? in_row(view, reader, out->row, status, err) : MLDF_OK;
}

/* ---- The images of an item --------------------------------------------------------------------------------------------------------------- */

/* One more entry, and its bytes behind those that are there. */
static mldf_status put_image(const mldf_view *view, const struct schema_field *kind, const struct packed_image *image,
                             size_t index, const mldf_value *value, struct parts_totals *totals, mldf_buffer *out,
                             mldf_error *err) {
    const struct multimodal_state *s = state_of(view, image->reader);
    uint64_t parts = mldfi_load_u32((const uint8_t *)value->record + PARTS_COUNT);
    struct parts_entry e;
    uint8_t *at;
    if (image->part >= parts)
        return mldfi_fail(err, MLDF_E_CORRUPT, "part %" PRIu64 " is gone", image->part);
    mldf_status status = mldfi_parts_entry(s, value->data, parts, value->bytes, image->part, &e, err);
    if (status < 0)
        return status;
    if (!e.null && e.bytes) {
        size_t pad = (size_t)mldfi_align_up(out->size, PARTS_ALIGN) - out->size;
        if ((status = mldfi_buffer_extend(out, pad + (size_t)e.bytes, &at, err)) < 0)
            return status;
        memset(at, 0, pad);
        memcpy(at + pad, (const uint8_t *)value->data + e.offset, (size_t)e.bytes);
        e.offset = out->size - e.bytes;
        mldfi_record_set_payload(kind, e.record, e.offset, e.bytes);
    }
    at = out->data + index * ENTRY_BYTES;
    mldfi_store_u16(at, 0);
    mldfi_store_u16(at + ENTRY_FLAGS, e.null ? ENTRY_NULL : 0);
    mldfi_store_u32(at + ENTRY_GROUP, (uint32_t)(view->first_row[image->reader] + image->row));
    mldfi_store_u64(at + ENTRY_BEGIN, image->begin);
    memcpy(at + ENTRY_RECORD, e.record, ENTRY_RECORD_MAX); /* that of an image is shorter */
    e.kind = 0;
    e.of = kind;
    return mldfi_parts_add(totals, &e, err);
}

static void put_record(const struct parts_totals *t, size_t count, uint64_t bytes, uint8_t *record) {
    memset(record, 0, PARTS_RECORD);
    mldfi_store_u64(record + PARTS_SIZE, bytes);
    mldfi_store_u32(record + PARTS_MASK, t->mask);
    mldfi_store_u32(record + PARTS_COUNT, (uint32_t)count);
    mldfi_store_u32(record + PARTS_IMAGES, t->images);
    mldfi_store_u64(record + PARTS_PIXELS, t->pixels);
}

mldf_status mldfi_packed_parts_value(const mldf_view *view, const mldf_reader *const *readers,
                                     const struct packed_item *item, size_t field, mldf_buffer *aside,
                                     mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    const struct multimodal_state *state = view->schema->fields[field].state;
    struct parts_totals totals = {0};
    const struct packed_image *before = NULL;
    mldf_value value = {0};
    uint8_t *at;
    scratch->size = 0;
    mldf_status status = mldfi_buffer_extend(scratch, item->image_count * ENTRY_BYTES + 1, &at, err);
    if (status < 0)
        return status;
    memset(at, 0, item->image_count * ENTRY_BYTES);
    scratch->size--;
    for (size_t i = 0; i < item->image_count; i++) {
        const struct packed_image *image = &item->images[i];
        const mldf_reader *reader = readers[image->reader];
        if (!before || before->row != image->row || before->reader != image->reader)
            status = mldfi_reader_get_packed(reader, image->row, view->fields[image->reader], aside, &value, err);
        if (status >= 0)
            status = put_image(view, &state->kinds->fields[0], image, i, &value, &totals, scratch, err);
        if (status < 0)
            return in_row(view, reader, image->row, status, err);
        before = image;
    }
    uint64_t bytes = scratch->size;
    size_t pad = (size_t)mldfi_align_up(bytes, 8) - (size_t)bytes;
    if ((status = mldfi_buffer_extend(scratch, pad + PARTS_RECORD, &at, err)) < 0)
        return status;
    memset(at, 0, pad);
    put_record(&totals, item->image_count, bytes, at + pad);
    *out = (mldf_value){.kind = MLDF_KIND_BYTES, .data = scratch->data, .bytes = bytes};
    out->record = at + pad;
    out->record_bytes = PARTS_RECORD;
    return MLDF_OK;
}
