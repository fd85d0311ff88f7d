/* The histograms of stats as one SVG file: no script, no font, nothing from elsewhere. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum { PANEL_WIDTH = 300, PANEL_HEIGHT = 170, COLUMNS = 3, PLOT_LEFT = 14, PLOT_TOP = 44, PLOT_HEIGHT = 90 };

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

static void put_bars(struct svg *svg, const mldf_distribution *d, double left, double top) {
    double width = (double)(PANEL_WIDTH - 2 * PLOT_LEFT) / (double)d->bin_count;
    uint64_t most = 1;
    char text[64];
    for (size_t i = 0; i < d->bin_count; i++)
        most = d->bins[i].count > most ? d->bins[i].count : most;
    for (size_t i = 0; i < d->bin_count; i++) {
        double height = (double)d->bins[i].count / (double)most * PLOT_HEIGHT;
        put(svg,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%.6g to %.6g: %" PRIu64
            "</title></rect>\n",
            left + width * (double)i, top + PLOT_HEIGHT - height, width > 2 ? width - 1 : width, height, d->bins[i].low,
            d->bins[i].high, d->bins[i].count);
    }
    put(svg, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", left, top + PLOT_HEIGHT,
        left + PANEL_WIDTH - 2 * PLOT_LEFT, top + PLOT_HEIGHT);
    snprintf(text, sizeof text, "%.6g", d->min);
    put_label(svg, left, top + PLOT_HEIGHT + 14, "start", "small", text);
    snprintf(text, sizeof text, "%.6g", d->max);
    put_label(svg, left + PANEL_WIDTH - 2 * PLOT_LEFT, top + PLOT_HEIGHT + 14, "end", "small", text);
}

static void put_panel(struct svg *svg, const mldf_field_summary *f, size_t at) {
    const char *what;
    const mldf_distribution *d = main_distribution(f, &what);
    double x = (double)(at % COLUMNS) * PANEL_WIDTH, y = (double)(at / COLUMNS) * PANEL_HEIGHT + 30;
    char line[160];
    put_label(svg, x + PLOT_LEFT, y + 18, "start", "name", f->name);
    snprintf(line, sizeof line, "%s%s%s, %" PRIu64 " values, %" PRIu64 " nulls", f->type, what[0] ? " " : "", what,
             f->present, f->nulls);
    put_label(svg, x + PLOT_LEFT, y + 34, "start", "small", line);
    if (d && d->count)
        put_bars(svg, d, x + PLOT_LEFT, y + PLOT_TOP);
}

static void put_document(struct svg *svg, const char *title, const mldf_reader *reader, const mldf_summary *summary) {
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
        "fill:#555}.title{font-size:14px}rect{fill:#3b77b5}.page{fill:#fff}line{stroke:#888}</style>\n"
        "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n",
        width, height, width, height, width, height);
    put_label(svg, PLOT_LEFT, 22, "start", "title", title);
    for (size_t i = 0; i < count; i++) {
        const mldf_field_summary *f = mldf_summary_field(summary, i);
        put_panel(svg, f, at++);
        for (size_t m = 0; m < f->member_count; m++)
            put_panel(svg, &f->members[m], at++);
    }
    put(svg, "</svg>\n");
}

static void put_titled(struct svg *svg, const char *source, const mldf_reader *reader, const mldf_summary *summary) {
    const char *slash = strrchr(source, '/');
    char title[300];
    snprintf(title, sizeof title, "%.200s: %" PRIu64 " samples", slash ? slash + 1 : source,
             mldf_reader_sample_count(reader));
    put_document(svg, title, reader, summary);
}

int write_svg(const struct invocation *v, const char *path, const char *source, const mldf_reader *reader,
              const mldf_summary *summary) {
    struct svg svg = {MLDF_BUFFER_INIT, MLDF_OK, {0}};
    mldf_error err;
    int code = EXIT_FINE;
    put_titled(&svg, source, reader, summary);
    if (svg.status < 0)
        code = report_error(v, path, &svg.err);
    else if (strcmp(path, "-") == 0)
        out_bytes((const char *)svg.text.data, svg.text.size);
    else if (mldf_write_file(path, svg.text.data, svg.text.size, true, &err) < 0)
        code = report_error(v, path, &err);
    mldf_buffer_free(&svg.text);
    return code;
}
