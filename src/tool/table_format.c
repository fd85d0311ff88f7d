/* Names, first bytes and delimiters of tables. See table_format.h. */
#include "tool/table_format.h"

#include <string.h>
#include <strings.h>

#include "interop/tar.h"
#include "interop/tbl.h"
#include "util/error.h"
#include "util/known.h"

/* Two lines are needed to find the delimiter. A header longer than this is taken as it is. */
enum { LOOK_BYTES = 1 << 16 };

static bool ends_with(const char *name, const char *ending) {
    size_t n = strlen(name), e = strlen(ending);
    return n > e && strcasecmp(name + n - e, ending) == 0;
}

/* ---- What is no table ------------------------------------------------------------------------------------------------ */

static mldf_status refuse_others(const struct input *in, const char *text, size_t bytes, mldf_error *err) {
    if (bytes >= 9 && memcmp(text, "\x89MLDF\r\n\x1a\n", 9) == 0)
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, in->name, "is an MLDF file already: use append or repack");
    if (mldfi_tbl_is(text, bytes) || (bytes >= 4 && memcmp(text, "\2\0", 2) == 0))
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, in->name, "is a %s file: convert makes MLDF of it",
                               text[0] == 2 ? ".beton" : "TBL");
    if (ends_with(in->name, ".tar") || mldfi_tar_is(text, bytes))
        return mldfi_fail_file(err, MLDF_E_ARGUMENT, in->name, "is a tar archive: --format tar packs it");
    const char *kind = mldfi_known_kind(text, bytes), *advice = mldfi_known_advice(text, bytes);
    if (kind)
        return mldfi_fail_file(err, MLDF_E_UNSUPPORTED, in->name, "is %s: %s", kind,
                               advice ? advice : "neither a table nor a tar archive that is read here");
    return MLDF_OK;
}

/* ---- The delimiter ---------------------------------------------------------------------------------------------------- */

static const char candidates[] = ",;\t|";
enum { CANDIDATES = sizeof candidates - 1 };

/* How often each candidate is in the line at *at, outside quotes; *at moves to the next line. False: there is no such line, or its end is not to be
 * seen. */
static bool count_line(const char *text, size_t bytes, bool whole, size_t *at, size_t counts[CANDIDATES]) {
    bool quoted = false;
    size_t i = *at;
    memset(counts, 0, CANDIDATES * sizeof *counts);
    while (i < bytes && (text[i] == '\n' || text[i] == '\r'))
        i++;
    size_t begin = i;
    for (; i < bytes && (quoted || text[i] != '\n'); i++) {
        const char *found = text[i] ? strchr(candidates, text[i]) : NULL;
        quoted = text[i] == '"' ? !quoted : quoted;
        if (found && !quoted)
            counts[found - candidates]++;
    }
    *at = i;
    return i > begin && (i < bytes || whole);
}

/* A comma where the first two lines have as many of them; else the candidate of which that is true, the most frequent first; else what the header
 * has. A table of one column has none: a comma then. */
static char find_delimiter(const char *text, size_t bytes, bool whole) {
    size_t header[CANDIDATES], row[CANDIDATES], at = 0, best = 0;
    if (!count_line(text, bytes, whole, &at, header))
        return ',';
    bool second = count_line(text, bytes, whole, &at, row);
    for (size_t pass = second ? 0 : 1; pass < 2; pass++) {
        if (header[0] && (pass || header[0] == row[0]))
            return ',';
        for (size_t i = 1; i < CANDIDATES; i++)
            if (header[i] > (best ? header[best] : 0) && (pass || header[i] == row[i]))
                best = i;
        if (best)
            return candidates[best];
    }
    return ',';
}

/* ---- All of it ---------------------------------------------------------------------------------------------------------- */

static size_t skip_blank(const char *text, size_t bytes, size_t at) {
    while (at < bytes && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n'))
        at++;
    return at;
}

static mldf_source_format format_of_name(const char *name) {
    static const struct {
        const char *ending;
        mldf_source_format format;
    } endings[] = {{".csv", MLDF_SOURCE_CSV},
                   {".tsv", MLDF_SOURCE_TSV},
                   {".tab", MLDF_SOURCE_TSV},
                   {".jsonl", MLDF_SOURCE_JSONL},
                   {".ndjson", MLDF_SOURCE_JSONL}};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_with(name, endings[i].ending))
            return endings[i].format;
    return MLDF_SOURCE_AUTO;
}

/* [ and then an object or the end: an array of objects. A CSV file may begin with a bracket, but hardly so. */
static bool is_array(const char *text, size_t bytes, size_t at) {
    if (at >= bytes || text[at] != '[')
        return false;
    at = skip_blank(text, bytes, at + 1);
    return at < bytes && (text[at] == '{' || text[at] == ']');
}

static mldf_status fill(struct input *in, mldf_error *err) {
    while (in->end - in->begin < LOOK_BYTES) {
        mldf_status status = mldfi_input_more(in, err);
        if (status != MLDF_OK)
            return status < 0 ? status : MLDF_OK;
    }
    return MLDF_OK;
}

mldf_status mldfi_table_format(struct input *in, const struct table_format *given, struct table_format *out,
                               mldf_error *err) {
    mldf_status status = fill(in, err);
    const char *text = in->data + in->begin;
    size_t bytes = in->end - in->begin;
    *out = *given;
    if (status == MLDF_OK)
        status = refuse_others(in, text, bytes, err);
    if (status < 0)
        return status;
    size_t mark = bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, at = skip_blank(text, bytes, mark);
    bool csv_given = given->delimiter != 0;
    if (out->format == MLDF_SOURCE_AUTO)
        out->format = csv_given ? MLDF_SOURCE_CSV : format_of_name(in->name);
    if (out->format == MLDF_SOURCE_AUTO && at < bytes && (text[at] == '{' || is_array(text, bytes, at)))
        out->format = MLDF_SOURCE_JSONL;
    if (out->format == MLDF_SOURCE_AUTO && ends_with(in->name, ".json"))
        return mldfi_fail_file(err, MLDF_E_SYNTAX, in->name,
                               "a table in JSON is an array of objects, or lines of one object each");
    if (out->format == MLDF_SOURCE_JSONL) {
        out->array = is_array(text, bytes, at);
        return csv_given ? mldfi_fail_file(err, MLDF_E_ARGUMENT, in->name, "a delimiter is for CSV, not for JSON")
                         : MLDF_OK;
    }
    if (!csv_given && out->format == MLDF_SOURCE_TSV)
        out->delimiter = '\t';
    else if (!csv_given)
        out->delimiter = find_delimiter(text + mark, bytes - mark, in->at_end);
    if (out->format == MLDF_SOURCE_AUTO)
        out->format = MLDF_SOURCE_CSV;
    return MLDF_OK;
}
