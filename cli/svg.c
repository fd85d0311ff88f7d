/* The histograms of stats as one SVG file: no script, no font, nothing from elsewhere. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum {
    PANEL_WIDTH = 320,
    PANEL_HEIGHT = 200,
    COLUMNS = 3,
    TEXT_LEFT = 14,
    PLOT_LEFT = 48, /* room for the counts */
    PLOT_WIDTH = PANEL_WIDTH - PLOT_LEFT - TEXT_LEFT,
    PLOT_TOP = 46,
    PLOT_HEIGHT = 90,
    MOST_BARS = 20
};

/* The document while it grows, and the first thing that went wrong with it. open_memstream is not used: it forgets text when memory is short,
 * and does not say so. */
struct svg {
    mldf_buffer text;
    mldf_status status;
    mldf_error err;
};

__attribute__((format(printf, 2, 3))) static void put(struct svg *svg, const char *format, ...) {
    char piece[1024]; /* the longest is the beginning of the document */
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    if (svg->status == MLDF_OK && (bytes < 0 || (size_t)bytes >= sizeof piece)) {
        svg->status = bytes < 0 ? MLDF_E_MEMORY : MLDF_E_LIMIT;
        snprintf(svg->err.message, sizeof svg->err.message, "a piece of the SVG has %d bytes", bytes);
    }
    if (svg->status == MLDF_OK)
        svg->status = mldf_buffer_append(&svg->text, piece, (size_t)bytes, &svg->err);
}

/* Text as XML has it; control characters, which XML forbids, become spaces. */
static void put_text(struct svg *svg, const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '&')
            put(svg, "&amp;");
        else if (c == '<')
            put(svg, "&lt;");
        else if (c == '>')
            put(svg, "&gt;");
        else if (c == '"')
            put(svg, "&quot;");
        else
            put(svg, "%c", c < 32 || c == 127 ? ' ' : c);
    }
}

static void put_label(struct svg *svg, double x, double y, const char *anchor, const char *class, const char *text) {
    put(svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor, class);
    put_text(svg, text, strlen(text));
    put(svg, "</text>\n");
}

/* The axes: a line below, counts at the left. */
static void put_axes(struct svg *svg, uint64_t most, double left, double top) {
    char text[32];
    put(svg, "<path d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", left, top, top + PLOT_HEIGHT, left + PLOT_WIDTH);
    for (int i = 0; i < 3; i++) {
        double y = top + PLOT_HEIGHT * (2 - i) / 2.0;
        if (i == 1 && most % 2)
            continue;
        put(svg, "<path d=\"M%.1f %.1fH%.1f\"/>\n", left - 3, y, left);
        format_count(text, most * (uint64_t)i / 2);
        put_label(svg, left - 5, y + 3, "end", "small", text);
    }
}

static void put_bar(struct svg *svg, double x, double top, double width, uint64_t count, uint64_t most) {
    double height = (double)count / (double)most * PLOT_HEIGHT;
    put(svg, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">", x, top + PLOT_HEIGHT - height,
        width > 2 ? width - 1 : width, height);
}

static void put_bars(struct svg *svg, const mldf_distribution *d, const char *unit, double left, double top) {
    double width = (double)PLOT_WIDTH / (double)d->bin_count;
    uint64_t most = 1;
    char text[64];
    for (size_t i = 0; i < d->bin_count; i++)
        most = d->bins[i].count > most ? d->bins[i].count : most;
    for (size_t i = 0; i < d->bin_count; i++) {
        put_bar(svg, left + width * (double)i, top, width, d->bins[i].count, most);
        put(svg, "<title>%.6g to %.6g: %" PRIu64 "</title></rect>\n", d->bins[i].low, d->bins[i].high,
            d->bins[i].count);
    }
    put_axes(svg, most, left, top);
    snprintf(text, sizeof text, "%.6g", d->min);
    put_label(svg, left, top + PLOT_HEIGHT + 14, "start", "small", text);
    put_label(svg, left + PLOT_WIDTH / 2.0, top + PLOT_HEIGHT + 14, "middle", "small", unit);
    snprintf(text, sizeof text, "%.6g", d->max);
    put_label(svg, left + PLOT_WIDTH, top + PLOT_HEIGHT + 14, "end", "small", text);
}

/* What a bar is called: the class, the text, or the number. At most 12 bytes, cut between characters. */
static void bar_name(const mldf_class_count *one, const mldf_classes *names, char out[24]) {
    size_t bytes = 0;
    const char *name = class_name(names, &one->value, &bytes);
    if (!name && one->value.kind == MLDF_KIND_TEXT) {
        name = one->value.data;
        bytes = (size_t)one->value.bytes;
    }
    if (!name && one->value.kind == MLDF_KIND_NULL)
        snprintf(out, 24, "null");
    else if (!name && one->value.kind == MLDF_KIND_UINT)
        snprintf(out, 24, "%" PRIu64, one->value.as.u);
    else if (!name)
        snprintf(out, 24, "%" PRId64, one->value.as.i);
    else {
        size_t used = bytes < 12 ? bytes : 12;
        while (used < bytes && used > 0 && ((unsigned char)name[used] & 0xc0) == 0x80)
            used--;
        snprintf(out, 24, "%.*s%s", (int)used, name, used < bytes ? "..." : "");
    }
}

/* A bar for each class, its name below, standing up where there are many. */
static void put_classes(struct svg *svg, const mldf_field_summary *f, const mldf_classes *names, double left,
                        double top) {
    double width = (double)PLOT_WIDTH / (double)f->class_count;
    uint64_t most = f->classes[0].count ? f->classes[0].count : 1;
    for (size_t i = 0; i < f->class_count; i++) {
        double x = left + width * (double)i, y = top + PLOT_HEIGHT + 12;
        char name[24];
        bar_name(&f->classes[i], names, name);
        put_bar(svg, x, top, width, f->classes[i].count, most);
        put(svg, "<title>");
        put_text(svg, name, strlen(name));
        put(svg, ": %" PRIu64 "</title></rect>\n", f->classes[i].count);
        if (f->class_count > 5)
            put(svg, "<text transform=\"translate(%.1f %.1f) rotate(-45)\" text-anchor=\"end\" class=\"small\">",
                x + width / 2 + 3, y - 2);
        else
            put(svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" class=\"small\">", x + width / 2, y);
        put_text(svg, name, strlen(name));
        put(svg, "</text>\n");
    }
    put_axes(svg, most, left, top);
}

static const char *unit_of(const mldf_field_summary *f, const char *what) {
    return strcmp(what, "length") == 0 ? (strcmp(f->type, "text") == 0 ? "characters" : "elements")
           : what[0]                   ? what
                                       : "value";
}

static void put_panel(struct svg *svg, const mldf_field_summary *f, const mldf_classes *names, size_t at) {
    const char *what;
    const mldf_distribution *d = main_distribution(f, &what);
    double x = (double)(at % COLUMNS) * PANEL_WIDTH, y = (double)(at / COLUMNS) * PANEL_HEIGHT + 30;
    char line[200];
    size_t used;
    put_label(svg, x + TEXT_LEFT, y + 18, "start", "name", f->name);
    used = (size_t)snprintf(line, sizeof line, "%.40s, %" PRIu64 " values, %" PRIu64 " nulls", f->type, f->present,
                            f->nulls);
    for (size_t i = 0; i < f->measure_count && i < 2 && used < sizeof line - 60; i++)
        used += (size_t)snprintf(line + used, sizeof line - used, ", %s %.6g to %.6g", f->measures[i].name,
                                 f->measures[i].values->min, f->measures[i].values->max);
    put_label(svg, x + TEXT_LEFT, y + 34, "start", "small", line);
    if (f->classes && f->class_count && f->class_count <= MOST_BARS)
        put_classes(svg, f, names, x + PLOT_LEFT, y + PLOT_TOP);
    else if (d && d->count)
        put_bars(svg, d, unit_of(f, what), x + PLOT_LEFT, y + PLOT_TOP);
}

static void put_document(struct svg *svg, const char *title, const mldf_reader *reader, const mldf_summary *summary,
                         mldf_classes **names) {
    const mldf_schema *schema = mldf_reader_schema(reader);
    size_t count = mldf_schema_field_count(schema), panels = count, at = 0;
    for (size_t i = 0; i < count; i++)
        panels += mldf_summary_field(summary, i)->member_count;
    size_t rows = (panels + COLUMNS - 1) / COLUMNS;
    int width = COLUMNS * PANEL_WIDTH, height = (int)rows * PANEL_HEIGHT + 40;
    put(svg,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n"
        "<style>text{font-family:sans-serif;font-size:12px;fill:#222}.name{font-weight:bold}.small{font-size:10px;"
        "fill:#555}.title{font-size:14px}rect{fill:#3b77b5}.page{fill:#fff}path{stroke:#888;fill:none}</style>\n"
        "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n",
        width, height, width, height, width, height);
    put_label(svg, TEXT_LEFT, 22, "start", "title", title);
    for (size_t i = 0; i < count; i++) {
        const mldf_field_summary *f = mldf_summary_field(summary, i);
        put_panel(svg, f, names ? names[i] : NULL, at++);
        for (size_t m = 0; m < f->member_count; m++)
            put_panel(svg, &f->members[m], NULL, at++);
    }
    put(svg, "</svg>\n");
}

static void put_titled(struct svg *svg, const char *source, const mldf_reader *reader, const mldf_summary *summary,
                       mldf_classes **names) {
    const char *slash = strrchr(source, '/');
    char title[300];
    snprintf(title, sizeof title, "%.200s: %" PRIu64 " samples", slash ? slash + 1 : source,
             mldf_reader_sample_count(reader));
    put_document(svg, title, reader, summary, names);
}

int write_svg(const struct invocation *v, const char *path, const char *source, const mldf_reader *reader,
              const mldf_summary *summary, mldf_classes **names) {
    struct svg svg = {MLDF_BUFFER_INIT, MLDF_OK, {0}};
    mldf_error err;
    int code = EXIT_FINE;
    put_titled(&svg, source, reader, summary, names);
    if (svg.status < 0)
        code = report_error(v, path, &svg.err);
    else if (strcmp(path, "-") == 0)
        out_bytes((const char *)svg.text.data, svg.text.size);
    else if (mldf_write_file(path, svg.text.data, svg.text.size, true, &err) < 0)
        code = report_error(v, path, &err);
    mldf_buffer_free(&svg.text);
    return code;
}
