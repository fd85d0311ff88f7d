/* One option parser for all commands, driven by their tables: --name VALUE, --name=VALUE, -x VALUE, -xVALUE, flags in a bunch (-qv), "--"
 * ends the options, "-" is a file. The help comes from the same tables, so it cannot be wrong about what is accepted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* What every command takes. */
static const struct option_spec common_options[] = {
    {0, "json", NULL, "print JSON instead of text"},
    {0, "key", "FILE", "the key of an encrypted file: 32 bytes, or 64 hexadecimal digits"},
    {0, "passphrase-file", "FILE", "the passphrase of an encrypted file: the first line of FILE"},
    {0, "max-decoded", "BYTES",
     "the most that one compressed value may become (K, M, G); default: 1G, or 256 times its size"},
    {0, "max-unpacked", "BYTES", "refuse a compressed tar that unpacks to more; K, M, G and T may follow (default 1T)"},
    {'q', "quiet", NULL, NULL},
    {'v', "verbose", NULL, NULL},
    {'h', "help", NULL, NULL},
    {0, "version", NULL, NULL},
    {0, NULL, NULL, NULL},
};

static bool is_end(const struct option_spec *spec) {
    return spec->letter == 0 && spec->name == NULL;
}

static const struct option_spec *find_in(const struct option_spec *list, const char *name, size_t bytes, char letter) {
    for (; !is_end(list); list++) {
        if (letter && list->letter == letter)
            return list;
        if (!letter && list->name && strlen(list->name) == bytes && memcmp(list->name, name, bytes) == 0)
            return list;
    }
    return NULL;
}

/* A tar archive is never encrypted. */
static bool has_common(const struct command *command, const struct option_spec *spec) {
    return command != &command_tar_to_tbl ||
           (strcmp(spec->name, "key") != 0 && strcmp(spec->name, "passphrase-file") != 0);
}

static const struct option_spec *find_spec(const struct invocation *v, const char *name, size_t bytes, char letter) {
    const struct option_spec *spec = find_in(v->command->options, name, bytes, letter);
    if (!spec && (spec = find_in(common_options, name, bytes, letter)) != NULL && !has_common(v->command, spec))
        spec = NULL;
    return spec;
}

/* ---- Suggestions --------------------------------------------------------------------------------------------------- */

/* Edit distance with swaps of neighbours; words of at most 31 letters. */
static size_t distance(const char *a, const char *b) {
    size_t na = strlen(a), nb = strlen(b), rows[3][33];
    if (na > 31 || nb > 31)
        return SIZE_MAX;
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= nb; j++)
        last[j] = j;
    for (size_t i = 1; i <= na; i++) {
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        size_t *turn = before;
        before = last;
        last = now;
        now = turn;
    }
    return last[nb];
}

const char *nearest(const char *word, const char *const *candidates, size_t count) {
    const char *best = NULL;
    size_t best_distance = strlen(word) <= 3 ? 2 : 3;
    for (size_t i = 0; i < count; i++) {
        size_t d = distance(word, candidates[i]);
        if (d < best_distance) {
            best = candidates[i];
            best_distance = d;
        }
    }
    return best;
}

/* What other programs call it. The option is suggested where the command has it. */
static const struct {
    const char *theirs, *option, *shown;
} synonyms[] = {
    {"overwrite", "force", "-f"},
    {"replace", "force", "-f"},
    {"yes", "force", "-f"},
    {"out", "output", "-o"},
    {"output-file", "output", "-o"},
    {"output-dir", "output", "-o"},
    {"dest", "output", "-o"},
    {"jobs", "workers", "--workers"},
    {"threads", "workers", "--workers"},
    {"num-threads", "workers", "--workers"},
    {"num-workers", "workers", "--workers"},
    {"num_workers", "workers", "--workers"},
    {"nproc", "workers", "--workers"},
    {"batch_size", "batch-size", "--batch-size"},
    {"compression", "compress", "--compress"},
    {"zstd", "compress", "--compress"},
    {"level", "compress", "--compress FIELD=LEVEL"},
    {"passphrase", "passphrase-file", "--passphrase-file"},
    {"password", "passphrase-file", "--passphrase-file"},
    {"password-file", "passphrase-file", "--passphrase-file"},
    {"skip-errors", "on-error", "--on-error=skip"},
    {"ignore-errors", "on-error", "--on-error=skip"},
    {"continue-on-error", "on-error", "--on-error=skip"},
    {"format", "to", "--to"},
    {"output-format", "to", "--to"},
    {"columns", "fields", "--fields"},
    {"filter", "where", "--where"},
    {"limit", "n", "-n"},
    {"num", "n", "-n"},
    {"lines", "n", "-n"},
    {"continue", "resume", "--resume"},
    {"metadata", "card", "--card"},
    {"resize", "max-resolution",
     "--max-resolution N (the longer side; other sizes are made when loading: -p 'image: resize([H, W])')"},
    {"size", "max-resolution", "--max-resolution N (the longer side)"},
    {"max-size", "max-resolution", "--max-resolution N"},
    {"image-size", "max-resolution", "--max-resolution N (the longer side)"},
    {"resize", "pipeline", "-p 'image: resize([H, W])'"},
    {"size", "pipeline", "-p 'image: resize([H, W])'"},
    {"image-size", "pipeline", "-p 'image: resize([H, W])'"},
    {"crop", "pipeline", "-p 'image: random_resized_crop(224)'"},
    {"transform", "pipeline", "-p"},
    {"transforms", "pipeline", "-p"},
};

static const char *synonym(const struct invocation *v, const char *word) {
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
        const char *option = synonyms[i].option;
        bool letter = option[1] == 0;
        if (strcmp(word, synonyms[i].theirs) == 0 &&
            find_spec(v, letter ? NULL : option, strlen(option), letter ? option[0] : 0))
            return synonyms[i].shown;
    }
    return NULL;
}

static int unknown_option(const struct invocation *v, const char *name, size_t bytes) {
    char word[64];
    const char *names[96], *other;
    size_t count = 0;
    snprintf(word, sizeof word, "%.*s", (int)(bytes > 60 ? 60 : bytes), name);
    if ((other = synonym(v, word)) != NULL)
        return usage_error(v, "no option is named --%s: did you mean %s?", word, other);
    for (const struct option_spec *o = v->command->options; !is_end(o) && count < 96; o++)
        if (o->name)
            names[count++] = o->name;
    for (const struct option_spec *o = common_options; !is_end(o) && count < 96; o++)
        if (has_common(v->command, o))
            names[count++] = o->name;
    const char *near = nearest(word, names, count);
    if (near)
        return usage_error(v, "no option is named --%s: did you mean --%s?", word, near);
    return usage_error(v, "no option is named --%s", word);
}

/* ---- Parsing ------------------------------------------------------------------------------------------------------- */

static void use(struct invocation *v, const struct option_spec *spec, const char *value) {
    v->uses[v->use_count].spec = spec;
    v->uses[v->use_count++].value = value;
}

static bool is_number(const char *text) {
    return *text && strspn(text, "0123456789") == strlen(text);
}

static int parse_long(struct invocation *v, int argc, char **argv, int *at) {
    const char *name = argv[*at] + 2, *equals = strchr(name, '=');
    size_t bytes = equals ? (size_t)(equals - name) : strlen(name);
    const struct option_spec *spec = find_spec(v, name, bytes, 0);
    if (!spec)
        return unknown_option(v, name, bytes);
    if (!spec->value) {
        if (equals)
            return usage_error(v, "--%s takes no value", spec->name);
        use(v, spec, NULL);
        return EXIT_FINE;
    }
    if (spec->value[0] == '[' && !equals && (*at + 1 >= argc || !is_number(argv[*at + 1]))) {
        use(v, spec, NULL);
        return EXIT_FINE;
    }
    if (!equals && *at + 1 >= argc)
        return usage_error(v, "--%s needs a value: --%s %s", spec->name, spec->name, spec->value);
    use(v, spec, equals ? equals + 1 : argv[++*at]);
    return EXIT_FINE;
}

static int parse_letters(struct invocation *v, int argc, char **argv, int *at) {
    for (const char *p = argv[*at] + 1; *p; p++) {
        const struct option_spec *spec = find_spec(v, NULL, 0, *p);
        if (!spec)
            return usage_error(v, "no option is named -%c", *p);
        if (!spec->value) {
            use(v, spec, NULL);
            continue;
        }
        if (!p[1] && *at + 1 >= argc)
            return usage_error(v, "-%c needs a value: -%c %s", *p, *p, spec->value);
        if (p[1] == '=')
            return usage_error(v, "-%c takes its value without '=': -%c %s", *p, *p, p + 2);
        use(v, spec, p[1] ? p + 1 : argv[++*at]);
        return EXIT_FINE;
    }
    return EXIT_FINE;
}

static int check_files(const struct invocation *v) {
    if ((int)v->file_count < v->command->min_files)
        return usage_error(v, "%s: usage: %s%s [options] %s",
                           v->file_count == 0 ? "a file is missing" : "more files are needed",
                           command_prefix(v->command), v->command->name, v->command->arguments);
    if (v->command->max_files >= 0 && (int)v->file_count > v->command->max_files)
        return usage_error(v, "'%s' is one argument too many: usage: %s%s [options] %s",
                           v->files[v->command->max_files], command_prefix(v->command), v->command->name,
                           v->command->arguments);
    return EXIT_FINE;
}

int options_parse(struct invocation *v, int argc, char **argv, bool *help) {
    bool only_files = false;
    int code = EXIT_FINE;
    /* A bunch of flags in one argument makes several uses. */
    size_t letters = 0;
    for (int i = 0; i < argc; i++)
        letters += strlen(argv[i]) + 1;
    v->uses = calloc(letters + 1, sizeof *v->uses);
    v->files = calloc((size_t)argc + 1, sizeof *v->files);
    if (!v->uses || !v->files) {
        fprintf(stderr, "mldf %s: no memory\n", v->command->name);
        return EXIT_ENVIRONMENT;
    }
    for (int i = 0; i < argc && code == EXIT_FINE; i++) {
        const char *arg = argv[i];
        if (only_files || arg[0] != '-' || arg[1] == 0)
            v->files[v->file_count++] = arg;
        else if (strcmp(arg, "--") == 0)
            only_files = true;
        else if (arg[1] == '-')
            code = parse_long(v, argc, argv, &i);
        else
            code = parse_letters(v, argc, argv, &i);
    }
    v->json = option_given(v, "json");
    v->quiet = option_given(v, "quiet");
    v->verbose = option_given(v, "verbose");
    *help = code == EXIT_FINE && (option_given(v, "help") || option_given(v, "version"));
    return code != EXIT_FINE || *help ? code : check_files(v);
}

void options_free(struct invocation *v) {
    free(v->uses);
    free(v->files);
}

static bool is_named(const struct option_spec *spec, const char *name) {
    if (spec->name && strcmp(spec->name, name) == 0)
        return true;
    return name[1] == 0 && spec->letter == name[0];
}

bool option_given(const struct invocation *v, const char *name) {
    for (size_t i = 0; i < v->use_count; i++)
        if (is_named(v->uses[i].spec, name))
            return true;
    return false;
}

const char *option_value(const struct invocation *v, const char *name) {
    const char *value = NULL;
    for (size_t i = 0; i < v->use_count; i++)
        if (is_named(v->uses[i].spec, name))
            value = v->uses[i].value;
    return value;
}

const char *option_next(const struct invocation *v, const char *name, size_t *at) {
    while (*at < v->use_count) {
        const struct option_use *u = &v->uses[(*at)++];
        if (is_named(u->spec, name))
            return u->value;
    }
    return NULL;
}

/* ---- Help ---------------------------------------------------------------------------------------------------------- */

static void help_option(const char *form, const char *text) {
    if (strlen(form) > 24)
        out_printf("  %s\n  %-24s %s\n", form, "", text);
    else
        out_printf("  %-24s %s\n", form, text);
}

static void help_spec(const struct option_spec *spec) {
    char form[96];
    const char *gap = spec->value ? " " : "", *value = spec->value ? spec->value : "";
    if (!spec->help)
        return;
    if (spec->letter && spec->name)
        snprintf(form, sizeof form, "-%c%s%s, --%s%s%s", spec->letter, gap, value, spec->name, gap, value);
    else if (spec->letter)
        snprintf(form, sizeof form, "-%c%s%s", spec->letter, gap, value);
    else
        snprintf(form, sizeof form, "--%s%s%s", spec->name, gap, value);
    help_option(form, spec->help);
}

const char *command_prefix(const struct command *command) {
    return command == &command_tar_to_tbl ? "" : "mldf ";
}

void options_help(const struct command *command) {
    out_printf("Usage: %s%s [options] %s\n\n%s\n\nOptions:\n", command_prefix(command), command->name,
               command->arguments, command->description);
    for (const struct option_spec *o = command->options; !is_end(o); o++)
        help_spec(o);
    for (const struct option_spec *o = common_options; !is_end(o); o++)
        if (has_common(command, o))
            help_spec(o);
    help_option("-q", "no progress, and no messages but errors");
    help_option("-v", "say more");
    help_option("--help", "this text");
    if (command->examples)
        out_printf("\nExamples:\n%s", command->examples);
    out_text("\nExit status: 0 fine, 1 the data is bad or differs, 2 usage, 3 environment, 130 interrupted.\n");
}
