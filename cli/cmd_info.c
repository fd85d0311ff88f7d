/* mldf info: what is in a file of any format. Reads the structure only, never a payload, so an encrypted file needs no key. */
#include <inttypes.h>
#include <string.h>

#include "cli.h"

static const struct option_spec options[] = {
    {0, "keep-index", NULL, "plain tar: keep the index in FILE.mldfidx, so that FILE opens at once the next time"},
    {0, "view", "TEXT",
     "samples are the items of this view: windows(FIELD, LENGTH), expand(FIELD, every=N), packed(FIELD, LENGTH)"},
    {0, NULL, NULL, NULL},
};

/* MLDF_NONE: not known. */
struct sizes {
    uint64_t data_bytes, padding_bytes;
    uint64_t pages; /* of the data region */
};

/* Stored payload bytes, from the statistics; a file without them has its rows walked. */
static uint64_t sum_statistics(const mldf_reader *reader) {
    const mldf_schema *schema = mldf_reader_schema(reader);
    uint64_t total = 0;
    for (size_t i = 0; i < mldf_schema_field_count(schema); i++) {
        mldf_field_stats stats = MLDF_FIELD_STATS_INIT;
        if (mldf_reader_stats(reader, i, &stats, NULL) != MLDF_OK)
            return MLDF_NONE;
        total += stats.stored_bytes;
    }
    return total;
}

static uint64_t sum_rows(const mldf_reader *reader) {
    const mldf_schema *schema = mldf_reader_schema(reader);
    uint64_t bytes, total = 0, count = mldf_reader_sample_count(reader);
    uint32_t row_bytes = mldf_schema_row_bytes(schema);
    const void *rows;
    if (count == 0)
        return 0;
    if (mldf_reader_rows(reader, &rows, &bytes, NULL) != MLDF_OK || bytes / row_bytes < count)
        return MLDF_NONE;
    for (size_t f = 0; f < mldf_schema_field_count(schema); f++) {
        const mldf_field *field = mldf_schema_field(schema, f);
        size_t width = field->flags & MLDF_FIELD_SIZE64 ? 8 : field->flags & MLDF_FIELD_SIZE32 ? 4 : 0;
        const uint8_t *at = (const uint8_t *)rows + field->row_offset + 8;
        for (uint64_t i = 0; width && i < count; i++, at += row_bytes) {
            uint64_t size = 0;
            memcpy(&size, at, width);
            if (__builtin_add_overflow(total, size, &total))
                return MLDF_NONE;
        }
    }
    return total;
}

/* The data region ends where the next thing begins. */
static uint64_t data_end(const mldf_reader *reader, const mldf_file_info *info) {
    uint64_t end = info->file_bytes;
    const uint64_t others[] = {info->metadata_ptr, info->allocation_ptr, info->descriptor_ptr, info->directory_ptr};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i] >= info->data_ptr && others[i] < end)
            end = others[i];
    for (size_t i = 0; i < mldf_reader_section_count(reader); i++) {
        mldf_section section;
        if (mldf_reader_section(reader, i, &section, NULL) == MLDF_OK && section.ptr >= info->data_ptr &&
            section.ptr < end)
            end = section.ptr;
    }
    return end;
}

static void raise_to(uint64_t *end, uint64_t ptr, uint64_t bytes, uint64_t limit) {
    if (ptr < limit && ptr + bytes > *end)
        *end = ptr + bytes < limit ? ptr + bytes : limit;
}

/* The empty bytes in front of the first page: data begin at a multiple of the page size. */
static uint64_t front_gap(const mldf_reader *reader, const mldf_file_info *info) {
    enum { PREFIX = 73 };
    uint64_t end = PREFIX, data = info->data_ptr;
    raise_to(&end, info->descriptor_ptr, info->descriptor_bytes, data);
    raise_to(&end, info->metadata_ptr, info->metadata_bytes, data);
    raise_to(&end, info->allocation_ptr, info->allocation_bytes, data);
    for (size_t i = 0; i < mldf_reader_section_count(reader); i++) {
        mldf_section section;
        if (mldf_reader_section(reader, i, &section, NULL) == MLDF_OK)
            raise_to(&end, section.ptr, section.bytes, data);
    }
    return data - end;
}

static bool is_foreign(const mldf_reader *reader) {
    return strcmp(mldf_reader_format(reader), "mldf") != 0;
}

static struct sizes measure(const mldf_reader *reader, const mldf_file_info *info) {
    struct sizes sizes = {MLDF_NONE, MLDF_NONE, MLDF_NONE};
    if (is_foreign(reader)) {
        if (mldf_reader_payload_bytes(reader, &sizes.data_bytes, NULL) != MLDF_OK)
            sizes.data_bytes = MLDF_NONE;
        return sizes;
    }
    sizes.data_bytes = sum_statistics(reader);
    if (sizes.data_bytes == MLDF_NONE)
        sizes.data_bytes = sum_rows(reader);
    uint64_t region = info->data_ptr < info->file_bytes ? data_end(reader, info) - info->data_ptr : 0;
    if (sizes.data_bytes != MLDF_NONE && region >= sizes.data_bytes)
        sizes.padding_bytes =
            region - sizes.data_bytes + (info->data_ptr < info->file_bytes ? front_gap(reader, info) : 0);
    if (info->page_size)
        sizes.pages = (region + info->page_size - 1) / info->page_size;
    return sizes;
}

/* Which part of the data region, and of the gap in front of it, are payloads. */
static bool has_fill(const struct sizes *sizes) {
    return sizes->data_bytes != MLDF_NONE && sizes->padding_bytes != MLDF_NONE &&
           sizes->data_bytes + sizes->padding_bytes > 0;
}

static double fill_of(const struct sizes *sizes) {
    return (double)sizes->data_bytes / (double)(sizes->data_bytes + sizes->padding_bytes);
}

/* "plain", "encrypted", or NULL: the file has none. */
static const char *dictionary_form(const mldf_reader *reader) {
    mldf_section section;
    for (size_t i = 0; i < mldf_reader_section_count(reader); i++) {
        if (mldf_reader_section(reader, i, &section, NULL) != MLDF_OK)
            continue;
        if (strcmp(section.name, "dictionary") == 0)
            return "plain";
        if (strcmp(section.name, "encrypted_dictionary") == 0)
            return "encrypted";
    }
    return NULL;
}

enum { FLAG_COUNT = 5 };
static size_t flag_names(uint32_t flags, const char *names[FLAG_COUNT]) {
    static const char *const all[FLAG_COUNT] = {"little_endian", "compressed", "checksummed", "encrypted",
                                                "encrypted_tables"};
    size_t count = 0;
    for (unsigned i = 0; i < FLAG_COUNT; i++)
        if (flags & 1u << i)
            names[count++] = all[i];
    return count;
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

static void json_number(int kind, int64_t i, uint64_t u, double f) {
    switch (kind) {
    case 1:
        json_i64(i);
        break;
    case 2:
        json_u64(u);
        break;
    case 3:
        json_double(f);
        break;
    default:
        json_null();
    }
}

static void json_stats(const mldf_reader *reader, size_t field) {
    mldf_field_stats s = MLDF_FIELD_STATS_INIT;
    if (mldf_reader_stats(reader, field, &s, NULL) != MLDF_OK) {
        json_null();
        return;
    }
    json_begin('{');
    json_key("present");
    json_u64(s.present);
    json_key("nulls");
    json_u64(s.nulls);
    json_key("stored_bytes");
    json_u64(s.stored_bytes);
    json_key("stored_bytes_max");
    json_u64(s.stored_bytes_max);
    json_key("value_bytes_max");
    json_u64(s.value_bytes_max);
    json_key("nonfinite");
    json_u64(s.nonfinite);
    json_key("min");
    json_number(s.number_kind, s.min.i, s.min.u, s.min.f);
    json_key("max");
    json_number(s.number_kind, s.max.i, s.max.u, s.max.f);
    json_key("mean");
    if (s.number_kind && !s.units_max)
        json_double(s.mean);
    else
        json_null();
    json_key("dims_max");
    if (s.ndim == 0 || s.ndim > MLDF_MAX_DIMS) {
        json_null();
    } else {
        json_begin('[');
        for (uint32_t i = 0; i < s.ndim; i++)
            json_u64(s.dims_max[i]);
        json_end(']');
    }
    if (s.units_max) {
        json_key("tokens");
        json_u64(s.units);
        json_key("tokens_max");
        json_u64(s.units_max);
    }
    json_end('}');
}

static void json_fields(const mldf_reader *reader) {
    const mldf_schema *schema = mldf_reader_schema(reader);
    json_key("fields");
    json_begin('[');
    for (size_t i = 0; i < mldf_schema_field_count(schema); i++) {
        const mldf_field *field = mldf_schema_field(schema, i);
        json_begin('{');
        json_key("name");
        json_string(field->name);
        json_key("type");
        json_string(field->type_name);
        json_key("type_id");
        json_u64(field->type_id);
        json_key("nullable");
        json_bool((field->flags & MLDF_FIELD_NULLABLE) != 0);
        json_key("compressed");
        json_bool((field->flags & MLDF_FIELD_COMPRESSED) != 0);
        json_key("record_bytes");
        json_u64(field->record_bytes);
        json_key("row_offset");
        json_u64(field->row_offset);
        json_key("arguments");
        json_text(field->arguments, strlen(field->arguments));
        json_key("statistics");
        json_stats(reader, i);
        json_end('}');
    }
    json_end(']');
}

static void json_sections(const mldf_reader *reader) {
    json_key("sections");
    json_begin('[');
    for (size_t i = 0; i < mldf_reader_section_count(reader); i++) {
        mldf_section section;
        if (mldf_reader_section(reader, i, &section, NULL) != MLDF_OK)
            continue;
        json_begin('{');
        json_key("kind");
        json_u64(section.kind);
        json_key("name");
        json_string(section.name);
        json_key("ptr");
        json_u64(section.ptr);
        json_key("bytes");
        json_u64(section.bytes);
        json_end('}');
    }
    json_end(']');
}

/* "1.1"; "2" for TBL and .beton, null for tar, which has none. */
static void json_version(const mldf_reader *reader, const mldf_file_info *info) {
    if (is_foreign(reader) && info->version_major == 0) {
        json_null();
        return;
    }
    json_separate();
    if (is_foreign(reader))
        out_printf("\"%u\"", info->version_major);
    else
        out_printf("\"%u.%u\"", info->version_major, info->version_minor);
}

static void json_view(const mldf_view *view) {
    uint64_t rows, without, unmeasured;
    mldf_view_rows(view, &rows, &without, &unmeasured);
    json_key("view");
    json_begin('{');
    json_key("text");
    json_string(mldf_view_text(view));
    json_key("rows");
    json_u64(rows);
    json_key("rows_without_items");
    json_u64(without);
    json_key("rows_unmeasured");
    json_u64(unmeasured);
    json_end('}');
}

static void json_header(const mldf_file_info *info) {
    const struct {
        const char *name;
        uint64_t ptr;
    } pointers[] = {{"descriptor_ptr", info->descriptor_ptr},
                    {"metadata_ptr", info->metadata_ptr},
                    {"data_ptr", info->data_ptr},
                    {"allocation_ptr", info->allocation_ptr},
                    {"directory_ptr", info->directory_ptr}};
    json_begin('{');
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
        json_key(pointers[i].name);
        json_u64(pointers[i].ptr);
    }
    json_end('}');
}

static void json_info(const mldf_reader *reader, const mldf_view *view, const mldf_file_info *info,
                      const mldf_buffer *card) {
    struct sizes sizes = measure(reader, info);
    const char *flags[FLAG_COUNT];
    size_t flag_count = flag_names(info->flags, flags);
    json_begin('{');
    json_key("format");
    json_string(mldf_reader_format(reader));
    json_key("version");
    json_version(reader, info);
    json_key("num_samples");
    json_u64(view ? mldf_view_count(view) : info->num_samples);
    if (view)
        json_view(view);
    json_key("file_bytes");
    json_u64(info->file_bytes);
    json_key("data_bytes");
    json_u64_or_null(sizes.data_bytes);
    json_key("padding_bytes");
    json_u64_or_null(sizes.padding_bytes);
    json_key("page_size");
    json_u64_or_null(is_foreign(reader) && info->page_size == 0 ? MLDF_NONE : info->page_size);
    json_key("pages");
    json_u64_or_null(sizes.pages);
    json_key("fill_ratio");
    if (has_fill(&sizes))
        json_double(fill_of(&sizes));
    else
        json_null();
    json_key("header");
    if (is_foreign(reader))
        json_null();
    else
        json_header(info);
    json_key("flags");
    json_begin('[');
    for (size_t i = 0; i < flag_count; i++)
        json_string(flags[i]);
    json_end(']');
    json_fields(reader);
    json_sections(reader);
    json_token_plans(reader);
    json_key("card");
    if (card->size)
        json_text((const char *)card->data, card->size);
    else
        json_null();
    json_key("dictionary");
    if (dictionary_form(reader))
        json_string(dictionary_form(reader));
    else
        json_null();
    json_key("has_keys");
    json_bool(mldf_reader_has_keys(reader));
    json_key("generation");
    json_u64(info->generation);
    json_key("authenticated");
    json_bool(info->authenticated);
    json_key("ignored_bytes");
    json_u64(info->ignored_bytes);
    json_key("header_recovered");
    json_bool(info->header_recovered);
    json_warnings();
    json_end('}');
    json_line_end();
}

/* ---- Text ---------------------------------------------------------------------------------------------------------- */

static void text_size(const char *name, uint64_t bytes) {
    char shown[32];
    format_bytes(shown, bytes);
    if (bytes == MLDF_NONE)
        out_printf("%-10s unknown\n", name);
    else if (bytes < 1024)
        out_printf("%-10s %" PRIu64 " B\n", name, bytes);
    else
        out_printf("%-10s %" PRIu64 " B (%s)\n", name, bytes, shown);
}

static void text_number(int kind, int64_t i, uint64_t u, double f) {
    if (kind == 1)
        out_printf("%" PRId64, i);
    else if (kind == 2)
        out_printf("%" PRIu64, u);
    else
        out_printf("%.6g", f);
}

static void text_stats(const mldf_reader *reader, size_t field) {
    mldf_field_stats s = MLDF_FIELD_STATS_INIT;
    if (mldf_reader_stats(reader, field, &s, NULL) != MLDF_OK)
        return;
    if (s.nulls)
        out_printf("  %" PRIu64 " null", s.nulls);
    if (s.stored_bytes)
        out_printf("  %" PRIu64 " B stored", s.stored_bytes);
    if (s.number_kind) {
        out_text("  ");
        text_number(s.number_kind, s.min.i, s.min.u, s.min.f);
        out_text(" .. ");
        text_number(s.number_kind, s.max.i, s.max.u, s.max.f);
        if (s.units_max)
            out_printf("  %" PRIu64 " tokens, up to %" PRIu64, s.units, s.units_max);
        else
            out_printf(", mean %.6g", s.mean);
    }
}

static void text_fields(const mldf_reader *reader) {
    const mldf_schema *schema = mldf_reader_schema(reader);
    size_t count = mldf_schema_field_count(schema), widest = 4;
    for (size_t i = 0; i < count; i++)
        if (strlen(mldf_schema_field(schema, i)->name) > widest)
            widest = strlen(mldf_schema_field(schema, i)->name);
    out_printf("\nfields (%zu)\n", count);
    for (size_t i = 0; i < count; i++) {
        const mldf_field *field = mldf_schema_field(schema, i);
        out_printf("  %-*s  %s", (int)widest, field->name, field->type_name);
        if (strcmp(field->type_name, "unknown") == 0)
            out_printf(" (type %u)", field->type_id);
        if (strcmp(field->arguments, "{}") != 0)
            out_printf(" %s", field->arguments);
        if (field->flags & MLDF_FIELD_NULLABLE)
            out_text(" nullable");
        if (field->flags & MLDF_FIELD_COMPRESSED)
            out_text(" compressed");
        text_stats(reader, i);
        out_char('\n');
    }
}

static void text_sections(const mldf_reader *reader) {
    size_t count = mldf_reader_section_count(reader);
    mldf_section section;
    int width = 14;
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (mldf_reader_section(reader, i, &section, NULL) == MLDF_OK && (int)strlen(section.name) > width)
            width = (int)strlen(section.name);
    out_printf("\nsections (%zu)\n", count);
    for (size_t i = 0; i < count; i++)
        if (mldf_reader_section(reader, i, &section, NULL) == MLDF_OK)
            out_printf("  %-*s %" PRIu64 " B at %" PRIu64 "\n", width, section.name, section.bytes, section.ptr);
}

static void text_format(const mldf_reader *reader, const mldf_file_info *info, const char *path) {
    const char *format = mldf_reader_format(reader);
    if (!is_foreign(reader))
        out_line("%s: MLDF %u.%u", path, info->version_major, info->version_minor);
    else if (info->version_major == 0)
        out_line("%s: %s", path, format);
    else
        out_line("%s: %s %u", path, strncmp(format, "tbl", 3) == 0 ? "TBL" : format, info->version_major);
}

static void text_view(const mldf_view *view) {
    uint64_t rows, without, unmeasured;
    mldf_view_rows(view, &rows, &without, &unmeasured);
    out_line("%-10s %s", "view", mldf_view_text(view));
    out_printf("%-10s %" PRIu64 "; %" PRIu64 " give no item, %" PRIu64 " are null or cannot be read\n", "rows", rows,
               without, unmeasured);
}

static void text_info(const mldf_reader *reader, const mldf_view *view, const mldf_file_info *info,
                      const mldf_buffer *card, const char *path) {
    struct sizes sizes = measure(reader, info);
    const char *flags[FLAG_COUNT];
    size_t flag_count = flag_names(info->flags, flags);
    text_format(reader, info, path);
    out_printf("%-10s %" PRIu64 "%s\n", "samples", view ? mldf_view_count(view) : info->num_samples,
               mldf_reader_has_keys(reader) ? ", with keys" : "");
    if (view)
        text_view(view);
    text_size("file", info->file_bytes);
    text_size("data", sizes.data_bytes);
    if (!is_foreign(reader))
        text_size("padding", sizes.padding_bytes);
    if (info->page_size)
        text_size("page size", info->page_size);
    if (has_fill(&sizes))
        out_printf("%-10s %.1f %% of %" PRIu64 " page%s and what is in front of them\n", "fill", 100 * fill_of(&sizes),
                   sizes.pages, sizes.pages == 1 ? "" : "s");
    if (!is_foreign(reader)) {
        out_printf("%-10s", "flags");
        for (size_t i = 0; i < flag_count; i++)
            out_printf(" %s", flags[i]);
        out_char('\n');
    }
    if (info->generation)
        out_printf("%-10s %u\n", "appends", info->generation);
    if (info->ignored_bytes)
        out_printf("%-10s %" PRIu64 " B after the end, of an unfinished append\n", "ignored", info->ignored_bytes);
    if (info->header_recovered)
        out_printf("%-10s taken from the footer\n", "header");
    if (info->flags & 8)
        out_printf("%-10s %s\n", "key",
                   info->authenticated ? "given: the file is authentic" : "not given: nothing is authenticated");
    const char *dictionary = dictionary_form(reader);
    if (info->flags & 8 && dictionary && strcmp(dictionary, "plain") == 0)
        out_printf("%-10s not encrypted: it shows pieces of the payloads; `mldf repack` encrypts it\n", "dictionary");
    text_fields(reader);
    text_sections(reader);
    text_token_plans(reader);
    if (card->size) {
        out_text("\ncard\n  ");
        json_text((const char *)card->data, card->size);
        json_line_end();
    }
}

static int run(struct invocation *v) {
    mldf_reader_options reading = MLDF_READER_OPTIONS_INIT;
    mldf_reader *reader;
    mldf_view *view = NULL;
    mldf_file_info info = MLDF_FILE_INFO_INIT;
    mldf_buffer card = MLDF_BUFFER_INIT;
    mldf_error err;
    const char *path = v->files[0];
    reading.context = v->context;
    reading.secret = v->secret;
    reading.sequential = true; /* no value is read */
    reading.without_key = !v->secret.key && !v->secret.passphrase;
    reading.tar_index = option_given(v, "keep-index") ? MLDF_TAR_INDEX_KEEP : MLDF_TAR_INDEX_USE;
    if (strcmp(path, "-") == 0)
        return usage_error(v, "cannot read from standard input: random access is needed; give a file name");
    if (mldf_reader_open(path, &reading, &reader, &err) < 0)
        return report_error(v, path, &err);
    int code = EXIT_FINE;
    if (mldf_reader_info(reader, &info, &err) < 0 || mldf_reader_card(reader, &card, &err) < 0)
        code = report_error(v, path, &err);
    else if (option_given(v, "view"))
        code = open_view(v, (const mldf_reader *const *)&reader, 1, option_value(v, "view"), &view);
    if (code == EXIT_FINE && v->json)
        json_info(reader, view, &info, &card);
    else if (code == EXIT_FINE)
        text_info(reader, view, &info, &card, path);
    mldf_view_free(view);
    mldf_buffer_free(&card);
    mldf_reader_close(reader);
    return code;
}

const struct command command_info = {
    "info",
    "FILE",
    "what is in a file",
    "FILE may be MLDF, TBL, .beton or tar. Shows the version, the number of samples, sizes, flags, fields with their types and statistics, sections and the\n"
    "card. With --view the samples are the items of the view, and how many rows give none is shown. No payload is read, and nothing is written, unless --keep-index asks for it. An encrypted file is shown without its key too, unauthenticated, and the output says so.\n"
    "\n"
    "With --json, one object: format, version, num_samples, file_bytes, data_bytes, padding_bytes (the gap in front of the first page too), page_size,\n"
    "pages, fill_ratio (data_bytes by data and padding), header (the five pointers; null for other formats), flags,\n"
    "fields, sections, card, dictionary (null, plain or encrypted), has_keys, generation, authenticated, ignored_bytes, header_recovered; with --view\n"
    "view (text, rows, rows_without_items, rows_unmeasured).",
    options,
    "  mldf info train.mldf\n"
    "  mldf info --json train.mldf | jq .num_samples\n",
    1,
    1,
    run,
};
