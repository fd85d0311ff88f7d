/* diff --layout, the comparison of two files' build: header, pointers, descriptors, sections, line by line. Each line is made from both files,
 * so that what only one has stands beside a dash. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

struct side {
    mldf_reader *reader;
    mldf_file_info info;
};

struct layout {
    const struct invocation *invocation;
    struct side sides[2];
    uint64_t different;
};

enum { CELL = 160 };

static void line(struct layout *l, const char *name, const char *a, const char *b) {
    bool same = strcmp(a, b) == 0;
    l->different += !same;
    if (l->invocation->json) {
        json_begin('{');
        json_key("name");
        json_string(name);
        json_key("a");
        json_string(a);
        json_key("b");
        json_string(b);
        json_end('}');
        return;
    }
    out_line("%c %-24s %-32s %s", same ? ' ' : '!', name, a, b);
}

static void number_line(struct layout *l, const char *name, uint64_t a, uint64_t b) {
    char left[CELL], right[CELL];
    snprintf(left, sizeof left, "%" PRIu64, a);
    snprintf(right, sizeof right, "%" PRIu64, b);
    line(l, name, left, right);
}

static void header_lines(struct layout *l) {
    const mldf_file_info *a = &l->sides[0].info, *b = &l->sides[1].info;
    char left[CELL], right[CELL];
    line(l, "format", mldf_reader_format(l->sides[0].reader), mldf_reader_format(l->sides[1].reader));
    snprintf(left, sizeof left, "%u.%u", a->version_major, a->version_minor);
    snprintf(right, sizeof right, "%u.%u", b->version_major, b->version_minor);
    line(l, "version", left, right);
    snprintf(left, sizeof left, "0x%x", a->flags);
    snprintf(right, sizeof right, "0x%x", b->flags);
    line(l, "flags", left, right);
    const struct {
        const char *name;
        uint64_t a, b;
    } numbers[] = {
        {"num_samples", a->num_samples, b->num_samples},
        {"num_fields", mldf_schema_field_count(mldf_reader_schema(l->sides[0].reader)),
         mldf_schema_field_count(mldf_reader_schema(l->sides[1].reader))},
        {"row_bytes", mldf_schema_row_bytes(mldf_reader_schema(l->sides[0].reader)),
         mldf_schema_row_bytes(mldf_reader_schema(l->sides[1].reader))},
        {"page_size", a->page_size, b->page_size},
        {"descriptor_ptr", a->descriptor_ptr, b->descriptor_ptr},
        {"metadata_ptr", a->metadata_ptr, b->metadata_ptr},
        {"data_ptr", a->data_ptr, b->data_ptr},
        {"allocation_ptr", a->allocation_ptr, b->allocation_ptr},
        {"directory_ptr", a->directory_ptr, b->directory_ptr},
        {"footer_ptr", a->footer_ptr, b->footer_ptr},
        {"allocations", a->allocation_count, b->allocation_count},
        {"generation", a->generation, b->generation},
        {"file_bytes", a->file_bytes, b->file_bytes},
        {"ignored_bytes", a->ignored_bytes, b->ignored_bytes},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        number_line(l, numbers[i].name, numbers[i].a, numbers[i].b);
}

static void field_text(const struct side *side, size_t index, char out[CELL]) {
    const mldf_schema *schema = mldf_reader_schema(side->reader);
    if (index >= mldf_schema_field_count(schema)) {
        snprintf(out, CELL, "-");
        return;
    }
    const mldf_field *f = mldf_schema_field(schema, index);
    /* What the cell has no room for counts too, by its hash. */
    uint8_t name[32], arguments[32];
    mldf_sha256(f->name, strlen(f->name), name);
    mldf_sha256(f->arguments, strlen(f->arguments), arguments);
    bool cut = strlen(f->name) > 40 || strlen(f->arguments) > 60;
    char hash[24] = "";
    if (cut)
        snprintf(hash, sizeof hash, " #%02x%02x%02x%02x%02x%02x%02x%02x", name[0], name[1], name[2], name[3],
                 arguments[0], arguments[1], arguments[2], arguments[3]);
    snprintf(out, CELL, "%.40s: %s(%u) %" PRIu32 " B at %" PRIu32 " flags 0x%x%s %.60s", f->name, f->type_name,
             f->type_id, f->record_bytes, f->row_offset, f->flags, hash, f->arguments);
}

static void section_text(const struct side *side, size_t index, char out[CELL]) {
    mldf_section s;
    if (index >= mldf_reader_section_count(side->reader) || mldf_reader_section(side->reader, index, &s, NULL) < 0)
        snprintf(out, CELL, "-");
    else
        snprintf(out, CELL, "%s(%u) %" PRIu64 " B at %" PRIu64 " crc %08x", s.name, s.kind, s.bytes, s.ptr, s.crc);
}

static void listed_lines(struct layout *l, const char *what, size_t a, size_t b,
                         void (*text)(const struct side *side, size_t index, char out[CELL])) {
    char name[32], left[CELL], right[CELL];
    for (size_t i = 0; i < a || i < b; i++) {
        snprintf(name, sizeof name, "%s %zu", what, i);
        text(&l->sides[0], i, left);
        text(&l->sides[1], i, right);
        line(l, name, left, right);
    }
}

int diff_layout(const struct invocation *v) {
    struct layout l = {v, {{0}}, 0};
    mldf_reader_options reading = MLDF_READER_OPTIONS_INIT;
    mldf_error err;
    int code = EXIT_FINE;
    reading.context = v->context;
    reading.secret = v->secret;
    reading.sequential = true;
    reading.without_key = !v->secret.key && !v->secret.passphrase;
    for (size_t i = 0; i < 2 && code == EXIT_FINE; i++) {
        l.sides[i].info = (mldf_file_info)MLDF_FILE_INFO_INIT;
        if (mldf_reader_open(v->files[i], &reading, &l.sides[i].reader, &err) < 0 ||
            mldf_reader_info(l.sides[i].reader, &l.sides[i].info, &err) < 0)
            code = report_error(v, v->files[i], &err);
    }
    if (code == EXIT_FINE) {
        const mldf_reader *a = l.sides[0].reader, *b = l.sides[1].reader;
        if (v->json) {
            json_begin('{');
            json_key("layout");
            json_begin('[');
        } else {
            out_line("  %-24s %-32s %s", "", v->files[0], v->files[1]);
        }
        header_lines(&l);
        listed_lines(&l, "field", mldf_schema_field_count(mldf_reader_schema(a)),
                     mldf_schema_field_count(mldf_reader_schema(b)), field_text);
        listed_lines(&l, "section", mldf_reader_section_count(a), mldf_reader_section_count(b), section_text);
        if (v->json) {
            json_end(']');
            json_key("equal");
            json_bool(l.different == 0);
            json_warnings();
            json_end('}');
            json_line_end();
        }
        code = l.different ? EXIT_DATA : EXIT_FINE;
    }
    mldf_reader_close(l.sides[0].reader);
    mldf_reader_close(l.sides[1].reader);
    return code;
}
