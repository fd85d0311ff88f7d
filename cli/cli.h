/* What the files of the command share. main.c is the way in: it finds the command, cli_options.c reads its options from a table, and one
 * cmd_*.c does the work through the library's public interface alone.
 *
 * Results go to stdout through output.c, which remembers a failed write; messages and progress go to stderr. */
#ifndef MLDF_CLI_H
#define MLDF_CLI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mldf/mldf.h"

enum { EXIT_FINE = 0, EXIT_DATA = 1, EXIT_USAGE = 2, EXIT_ENVIRONMENT = 3, EXIT_INTERRUPTED = 130 };

/* ---- Commands and options (cli_options.c) ------------------------------------------------------------------------------- */

struct option_spec {
    char letter;       /* 0: none */
    const char *name;  /* long name, or NULL */
    const char *value; /* what the help calls its value; NULL: a flag; [ID]: --name, --name=ID or --name NUMBER */
    const char *help;  /* NULL: not listed in the help (a long form of a letter) */
};

struct invocation;
struct command {
    const char *name;
    const char *arguments; /* for the usage line */
    const char *summary;
    const char *description;
    const struct option_spec *options; /* ends with {0, NULL, NULL, NULL} */
    const char *examples;
    int min_files, max_files;
    int (*run)(struct invocation *invocation);
};
extern const struct command command_info, command_head, command_cat, command_verify, command_diff, command_plan,
    command_pack, command_append, command_merge, command_split, command_select, command_extract, command_stats,
    command_add_field, command_plan_tokens, command_repack, command_repair, command_clean, command_convert,
    command_bench, command_keygen, command_tar_to_tbl;
extern const struct command *const commands[]; /* NULL at the end */

struct option_use {
    const struct option_spec *spec;
    const char *value;
};

struct invocation {
    const struct command *command;
    struct option_use *uses;
    size_t use_count;
    const char **files;
    size_t file_count;
    bool json, quiet, verbose;
    mldf_context *context; /* passes warnings to stderr */
    mldf_secret secret;    /* from --key or --passphrase-file */
};

/* Fills the invocation; EXIT_FINE, or the code to end with (a message was printed). *help is set when --help or --version was asked for. */
int options_parse(struct invocation *invocation, int argc, char **argv, bool *help);
void options_free(struct invocation *invocation);
void options_help(const struct command *command);
/* What stands before a command's name: "mldf ", or nothing for one that is a program of its own. */
const char *command_prefix(const struct command *command);
bool option_given(const struct invocation *invocation, const char *name);
/* The last value given, or NULL. name is the long name, or the letter as a string. */
const char *option_value(const struct invocation *invocation, const char *name);
/* The values of an option that may be repeated: *at starts at 0; NULL after the last. */
const char *option_next(const struct invocation *invocation, const char *name, size_t *at);
/* The candidate that is nearest to a mistyped word, or NULL when none is near. */
const char *nearest(const char *word, const char *const *candidates, size_t count);

/* ---- Messages and exit codes (cli_report.c) ------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) int usage_error(const struct invocation *invocation, const char *format, ...);
/* "mldf COMMAND: FILE: message" and the exit code for the status. file may be NULL. */
int report_error(const struct invocation *invocation, const char *file, const mldf_error *err);
int exit_code_of(mldf_status status);
/* A message for free(): control characters have become question marks. NULL: no memory. */
__attribute__((format(printf, 1, 0))) char *format_one_line(const char *format, va_list args);
__attribute__((format(printf, 2, 3))) void note(const struct invocation *invocation, const char *format, ...);
/* As note, but an error: said with -q too. Returns code. */
int no_memory(const struct invocation *invocation); /* says so; EXIT_ENVIRONMENT */
__attribute__((format(printf, 3, 4))) int complain(const struct invocation *invocation, int code, const char *format,
                                                   ...);

/* ---- Warnings (warnings.c) -------------------------------------------------------------------------------------------- */

/* Any thread. source may be "". */
void warn(const struct invocation *invocation, const char *source, const char *message);
/* The context's hook; user is the invocation. */
void print_warning(void *user, const char *message);
/* "warnings": [{source, message}], those that came so far: every document has it, once. */
void json_warnings(void);
void json_pair(const char *source, const char *message); /* {source, message} */
void warnings_free(void);

/* ---- Compiled pipelines (cli_compiler.c) ----------------------------------------------------------------------------------- */

/* The system's cc, with its results in $XDG_CACHE_HOME/mldf or ~/.cache/mldf. Call it before the context is used. */
mldf_status compiler_begin(mldf_context *context, mldf_error *err);

/* ---- Values of options (values.c, secret.c) -------------------------------------------------------------------------- */

/* Each prints its message and returns false when the text makes no sense. */
bool parse_count(const struct invocation *invocation, const char *option, const char *text, uint64_t *out);
/* All 64 bits, where a count has no largest number. */
bool parse_seed(const struct invocation *invocation, const char *option, const char *text, uint64_t *out);
bool parse_bytes(const struct invocation *invocation, const char *option, const char *text,
                 uint64_t *out); /* K, M, G */
/* -j / --workers: -1 when not given. */
bool parse_threads(const struct invocation *invocation, int *out);
/* The whole of a small file; EXIT_FINE or the code to end with. */
int read_small_file(const struct invocation *invocation, const char *path, size_t limit, mldf_buffer *out);
/* --schema: a file, or JSON that begins with { or [. */
int load_schema(const struct invocation *invocation, const char *text, mldf_schema **out);
/* --on-error */
bool parse_on_error(const struct invocation *invocation, bool *skip);
/* --format */
bool parse_format(const struct invocation *invocation, mldf_source_format *out);
/* --delimiter */
bool parse_delimiter(const struct invocation *invocation, char *out);
/* Token ids as text (show_tokens.c). rows: the fields of the file. */
struct token_text {
    mldf_tokenizer *tokenizer; /* NULL: none is at hand */
    bool given;                /* --tokenizer */
    const mldf_schema *rows;
    mldf_buffer ids, shown;
};
int token_text_begin(const struct invocation *v, const mldf_schema *rows, struct token_text *out);
void token_text_end(const struct invocation *v, struct token_text *text, bool well);
/* Writes a value that is tokens as a string. *shown false: it is not, and nothing was written. */
mldf_status token_text_show(struct token_text *text, const mldf_field *field, const mldf_value *value, bool full,
                            bool *shown, mldf_error *err);

/* --tokenizer, --tokenizer-timeout, --tokenizer-processes; NULL when not given. (tokenize_options.c) */
int open_tokenizer(const struct invocation *invocation, mldf_tokenizer **out);
/* --text, --tokenizer, --eos, --bos, --utf8. `how` outlives the packing. */
int tokenize_options(const struct invocation *invocation, mldf_pack_options *packing, mldf_tokenize_options *how);
/* well: its program is asked to end, and what goes wrong is a warning; else it is ended at once. NULL is fine. */
void close_tokenizer(const struct invocation *invocation, mldf_tokenizer *tokenizer, bool well);
/* --layout */
bool parse_layout(const struct invocation *invocation, mldf_layout *out);
/* Every value of a repeatable option; the array is the caller's to free. */
int collect(const struct invocation *invocation, const char *option, const char ***list, size_t *count);
double seconds_now(void);
double seconds_since(double start); /* to the microsecond */

enum { SECRET_MAX = 4096 };
struct secret_store {
    unsigned char bytes[SECRET_MAX];
    size_t size;
};
int load_key(const struct invocation *invocation, const char *path, struct secret_store *store, mldf_secret *out);
int load_passphrase(const struct invocation *invocation, const char *path, struct secret_store *store,
                    mldf_secret *out);
void secret_wipe(struct secret_store *store);

/* ---- stdout (output.c) ------------------------------------------------------------------------------------------------ */

void out_bytes(const void *data, size_t bytes);
void out_text(const char *text);
__attribute__((format(printf, 1, 2))) void out_printf(const char *format, ...);
/* A line with names of files or from them in it: what a terminal may obey becomes question marks. The line end comes by itself. */
__attribute__((format(printf, 1, 2))) void out_line(const char *format, ...);
void out_char(char c);
/* Standard output was closed by its reader, as the library found out. */
void out_broken(void);
/* Something could not be printed for want of memory: the command ends with a message and EXIT_ENVIRONMENT. */
void out_no_memory(void);
/* True once a write failed: stop producing. */
bool out_failed(void);
void out_flush(void);
/* The last word before the program ends: flushes, and turns a failed write into its exit code. */
int out_finish(const struct invocation *invocation, int code);

/* ---- JSON (json_out.c) ------------------------------------------------------------------------------------------------ */

/* Commas come by themselves. At most 64 levels. */
void json_begin(char bracket); /* '{' or '[' */
void json_end(char bracket);   /* '}' or ']' */
void json_key(const char *name);
void json_key_bytes(const char *name, size_t bytes);
void json_null(void);
void json_bool(bool value);
void json_u64(uint64_t value);
void json_i64(int64_t value);
void json_double(double value); /* not finite: a string */
void json_string(const char *text);
/* Bytes that are not UTF-8 become U+FFFD. */
void json_string_bytes(const char *text, size_t bytes);
/* JSON text as it is, without white space; as a string when it is not valid (render.c). */
void json_text(const char *text, size_t bytes);
/* Fails when memory ends. */
mldf_status json_is_object(const char *text, size_t bytes, bool *object);
/* u64 that may be MLDF_NONE: null */
void json_u64_or_null(uint64_t value);
void json_line_end(void);
/* The comma that the next value needs: for what prints itself. */
void json_separate(void);

/* ---- Values (render.c) ----------------------------------------------------------------------------------------------- */

/* A value as JSON. full: arrays of any size, and the bytes of payloads; of a large array in full there is no text. */
mldf_status value_text(const mldf_schema *schema, size_t field, const mldf_value *value, bool full, mldf_buffer *out,
                       mldf_error *err);
/* Prints the value whose text this is; of an array without a text, piece by piece. */
void render_value(const mldf_schema *schema, size_t field, const mldf_value *value, mldf_buffer *text);
/* The name of a label, or NULL. */
static inline const char *class_name(const mldf_classes *classes, const mldf_value *value, size_t *bytes) {
    bool whole = (value->kind == MLDF_KIND_INT && value->as.i >= 0) || value->kind == MLDF_KIND_UINT;
    return classes && whole ? mldf_classes_name(classes, value->as.u, bytes) : NULL;
}
/* The class of a label, where the card names it, as " (dark)" behind the number; classes may be NULL. */
void out_class(const mldf_classes *classes, const mldf_value *value);
/* render_plan.c: the pack plans of a file; nothing where it has none. */
void json_token_plan(const mldf_token_plan *plan);
void text_token_plan(const mldf_token_plan *plan);
void json_token_plans(const mldf_reader *reader);
void text_token_plans(const mldf_reader *reader);

/* ---- Progress and signals (progress.c, signals.c) ---------------------------------------------------------------------- */

/* First of all: no file may get the number of a standard stream that is closed. */
void streams_open(void);
void signals_install(void);
/* For a command whose result goes to standard output: it has no files to remove, and a pipe that nobody empties would hold it up. */
void signals_end_at_once(void);
bool interrupted(void);
void progress_begin(const struct invocation *invocation);
bool progress_hook(void *user, const mldf_progress *progress);
/* The same for loading: so many batches came. */
bool progress_batches(const mldf_progress *progress, uint64_t batches);
/* Takes the bar off the terminal before something else is printed. */
void progress_clear(void);
void format_bytes(char out[32], uint64_t bytes);
void format_count(char out[32], uint64_t count);

/* ---- Shared between commands ------------------------------------------------------------------------------------------ */

/* Is any of the files - , which is read at random and so cannot be standard input? EXIT_FINE or the code to end with. */
int check_no_stdin(const struct invocation *invocation, size_t begin, size_t end);
/* Opens a file for reading with the invocation's secret; EXIT_FINE or the code to end with. */
int open_reader(const struct invocation *invocation, const char *path, bool verify, mldf_reader **out);
/* For samples in ascending order: a compressed tar is not unpacked first. */
int open_reader_in_order(const struct invocation *invocation, const char *path, bool verify, mldf_reader **out);
bool same_file(const char *a, const char *b);
/* -f must not put OUT in the place of a file that the command itself reads: a key, a card, a schema. The library, which reads the sources, sees
 * to those. */
int check_out_is_no_option(const struct invocation *invocation, const char *out);
/* --encode and its like as the arguments of an image field; empty when none is given (image_options.c). */
int image_arguments(const struct invocation *invocation, mldf_buffer *out);
/* --encode and --fast-limit of repack and convert. */
int recode_options(const struct invocation *v, const char **encode, double *fast_limit);
/* The same for recordings (audio_options.c). --encode has the words of both: this one is a recording's. */
int audio_arguments(const struct invocation *invocation, mldf_buffer *out);
bool is_audio_encoding(const char *word);
/* pack, append, repack: {written, skipped[], warnings[], bytes, seconds}, or a line of text. */
struct pack_report {
    const struct invocation *invocation;
    uint64_t skipped;
    double started;
};
void pack_report_begin(struct pack_report *report, const struct invocation *invocation);
void pack_report_skip(void *user, const mldf_skip *skip);
void pack_report_warning(void *user, const mldf_skip *warning);
/* Said only with -v. */
void pack_report_left_out(void *user, const mldf_skip *file);
void pack_report_end(struct pack_report *report, const mldf_pack_result *result, const char *verb, const char *file);
void pack_report_failed(struct pack_report *report);
/* Options of writers that several commands have: page size, checksums, dictionary, card, threads, overwrite. */
struct writer_extras {
    mldf_buffer card;
    struct secret_store secret;
};
int fill_writer_options(const struct invocation *invocation, mldf_writer_options *out, struct writer_extras *extras);
void free_writer_extras(struct writer_extras *extras);
/* Is -o OUT there, and if it is - , may standard output be written to? */
int check_output(const struct invocation *invocation, const char *out);
/* The secret of a file made from others: --encrypt, or, unless --decrypt is given, what opened them when one is encrypted. Its tables are encrypted
 * if those of one of them are, with another key too. */
int choose_secret(const struct invocation *invocation, const char *const *sources, size_t count,
                  mldf_writer_options *writer);
/* err, NULL before it has begun, came of a command that changes or mends MLDF files alone. If path is a whole file of another format, says so, with advice, and
 * returns the code to end with; else EXIT_FINE. */
int report_foreign(const struct invocation *invocation, const char *path, const mldf_error *err, const char *advice);
/* The text of an error without its file, where the line has named it. It lives until the block ends. */
#define ERROR_INSIDE(err) error_inside((err), (char[MLDF_TEXT_MAX + 1]){0}, MLDF_TEXT_MAX + 1)
const char *error_inside(const mldf_error *err, char *out, size_t room);
/* One side of A:B as Python has it: negative counts from the end, beyond the ends is cut. */
bool parse_side(const char *text, size_t bytes, uint64_t count, uint64_t otherwise, uint64_t *out);

/* ---- Which samples and fields a new file gets (choose.c) ---------------------------------------------------------------- */

struct choice {
    mldf_sample_range *ranges; /* NULL: all */
    size_t range_count, range_capacity;
    char **fields; /* words of a list; one allocation each */
    size_t field_count;
};
/* --samples 3,9,10:20 or @FILE. */
int choose_samples_list(const struct invocation *invocation, const mldf_reader *reader, const char *path,
                        const char *text, struct choice *choice);
/* --keys a,b or @FILE with a key on each line. */
int choose_keys_list(const struct invocation *invocation, const mldf_reader *reader, const char *path, const char *text,
                     struct choice *choice);
/* Words between commas. */
int choose_words(const struct invocation *invocation, const char *option, const char *text, struct choice *choice);
void free_choice(struct choice *choice);

/* ---- diff (diff_layout.c) -------------------------------------------------------------------------------------------------- */

/* diff --layout: how two files are built, side by side. */
int diff_layout(const struct invocation *invocation);

/* ---- Statistics (cmd_stats.c, svg.c) ------------------------------------------------------------------------------------ */

/* The distribution that says most about a field, or NULL; *what: "" for its values, else "length" or "bytes". */
const mldf_distribution *main_distribution(const mldf_field_summary *field, const char **what);
/* names: of each field, or NULL. */
int write_svg(const struct invocation *invocation, const char *path, const char *source, const mldf_reader *reader,
              const mldf_summary *summary, mldf_classes **names);

/* ---- head and cat (samples.c) --------------------------------------------------------------------------------------------- */

extern const struct option_spec samples_options[]; /* of both */
/* --view: a view of these readers (shared.c). A mistake in its text is one of usage. */
int open_view(const struct invocation *invocation, const mldf_reader *const *readers, size_t count, const char *text,
              mldf_view **out);

#define SAMPLES_DESCRIPTION \
    "Numbers, text and JSON are shown as\n" \
    "themselves; other payloads as their size and SHA-256; arrays of at most 64 elements as lists, larger ones as dtype, shape\n" \
    "and SHA-256. Checksums are verified on the way.\n" \
    "\n" \
    "With --view a sample is an item of the view: windows and pieces are shown as the elements that are stored (a random window\n" \
    "as its row's first).\n" \
    "\n" \
    "With --json, a line for each sample: {index, key, fields}, with --view row too. Numbers that are not finite are the strings \"NaN\",\n" \
    "\"Infinity\" and \"-Infinity\"; complex numbers are [re, im]."
int cmd_samples(struct invocation *invocation, bool head);

#endif
