/* mldf: the command. Finds COMMAND in the table, has its options read, runs it. Each command is one cmd_*.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

const struct command *const commands[] = {&command_info,      &command_head,
                                          &command_cat,       &command_verify,
                                          &command_diff,      &command_stats,
                                          &command_plan,      &command_pack,
                                          &command_append,    &command_convert,
                                          &command_merge,     &command_select,
                                          &command_split,     &command_extract,
                                          &command_add_field, &command_repack,
                                          &command_repair,    &command_clean,
                                          &command_bench,     &command_plan_tokens,
                                          &command_keygen,    NULL};

static const struct command *find_command(const char *name) {
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static void print_usage(void) {
    out_text("Usage: mldf COMMAND [options] FILE...\n"
             "\n"
             "Make, inspect, convert and check dataset files: MLDF, and TBL, .beton and tar.\n"
             "\n"
             "Commands:\n");
    for (size_t i = 0; commands[i]; i++)
        out_printf("  %-11s %s\n", commands[i]->name, commands[i]->summary);
    out_text("\n"
             "  mldf help COMMAND or mldf COMMAND --help shows its options; mldf --version the version.\n"
             "\n"
             "Exit status: 0 fine, 1 the data is bad or differs, 2 usage, 3 environment (no such file, no permission,\n"
             "disk full, missing codec or key, OUT exists), 130 interrupted.\n");
}

static int unknown_command(const char *name) {
    const char *names[32];
    size_t count = 0;
    while (commands[count] && count < 32) {
        names[count] = commands[count]->name;
        count++;
    }
    if (name[0] == '-') {
        static const char *const flags[] = {"--version", "--help"};
        const char *flag = nearest(name, flags, 2);
        if (flag)
            fprintf(stderr, "mldf: no option is named %s: did you mean %s?\n", name, flag);
        else
            fprintf(stderr,
                    "mldf: %s: options follow the command: mldf COMMAND %s ...; mldf --help lists the commands\n", name,
                    name);
        return EXIT_USAGE;
    }
    const char *near =
        strcmp(name, "version") == 0 || strcmp(name, "features") == 0 ? "--version" : nearest(name, names, count);
    fprintf(stderr, "mldf: no command is named '%s'", name);
    if (near)
        fprintf(stderr, ": did you mean '%s'?\n", near);
    else
        fprintf(stderr, "; mldf --help lists them\n");
    return EXIT_USAGE;
}

static int help(int argc, char **argv) {
    if (argc < 3) {
        print_usage();
        return out_finish(NULL, EXIT_FINE);
    }
    const struct command *command = find_command(argv[2]);
    if (!command)
        return unknown_command(argv[2]);
    options_help(command);
    return out_finish(NULL, EXIT_FINE);
}

static void print_version(void) {
    uint32_t format = mldf_format_version();
    out_printf("mldf %s (writes format %u.%u; built with %s)\n", mldf_version(), (unsigned)(format >> 16),
               (unsigned)(format & 0xffff), mldf_build_features());
}

/* --key and --passphrase-file, which every command has. */
static int load_secret(struct invocation *invocation, struct secret_store *store) {
    const char *key = option_value(invocation, "key"), *passphrase = option_value(invocation, "passphrase-file");
    if (key && passphrase)
        return usage_error(invocation, "--key and --passphrase-file cannot be given together");
    if (key)
        return load_key(invocation, key, store, &invocation->secret);
    if (passphrase)
        return load_passphrase(invocation, passphrase, store, &invocation->secret);
    return EXIT_FINE;
}

/* Limits that every command has. Temporary files go where TMPDIR says; a path that is not absolute counts as none. */
static int begin_context(struct invocation *v) {
    const char *folder = getenv("TMPDIR"), *unpacked = option_value(v, "max-unpacked");
    const char *decoded = option_value(v, "max-decoded");
    uint64_t most_unpacked = 0, most_decoded = 0;
    mldf_error err;
    if ((unpacked && !parse_bytes(v, "--max-unpacked", unpacked, &most_unpacked)) ||
        (decoded && !parse_bytes(v, "--max-decoded", decoded, &most_decoded)))
        return EXIT_USAGE;
    if (unpacked && most_unpacked == 0)
        return usage_error(v, "--max-unpacked: nothing unpacks to 0 bytes");
    if (decoded && most_decoded == 0)
        return usage_error(v, "--max-decoded: nothing can be read with a limit of 0 bytes");
    if (mldf_context_new(&v->context, &err) < 0)
        return report_error(v, NULL, &err);
    mldf_context_set_warning(v->context, print_warning, v);
    mldf_context_set_max_unpacked(v->context, most_unpacked);
    mldf_context_set_max_decoded(v->context, most_decoded);
    if (folder && folder[0] == '/' && mldf_context_set_temporary_folder(v->context, folder, &err) < 0)
        return report_error(v, NULL, &err);
    return EXIT_FINE;
}

static int run_command(const struct command *command, int argc, char **argv) {
    struct invocation invocation;
    struct secret_store store;
    bool wants_help = false;
    memset(&invocation, 0, sizeof invocation);
    memset(&store, 0, sizeof store);
    invocation.command = command;
    int code = options_parse(&invocation, argc, argv, &wants_help);
    if (code == EXIT_FINE && wants_help) {
        if (option_given(&invocation, "help"))
            options_help(command);
        else
            print_version();
    } else if (code == EXIT_FINE) {
        code = load_secret(&invocation, &store);
        if (code == EXIT_FINE)
            code = begin_context(&invocation);
        if (code == EXIT_FINE) {
            progress_begin(&invocation);
            code = command->run(&invocation);
            progress_clear();
        }
    }
    code = out_finish(&invocation, code);
    mldf_context_free(invocation.context);
    warnings_free();
    options_free(&invocation);
    secret_wipe(&store);
    return code;
}

/* One program under two names: called as tar_to_tbl it is that command. */
static bool is_called(const char *path, const char *name) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    return path && strcmp(slash ? slash + 1 : path, name) == 0;
}

int main(int argc, char **argv) {
    streams_open();
    signals_install();
    if (argc > 0 && is_called(argv[0], command_tar_to_tbl.name)) {
        return run_command(&command_tar_to_tbl, argc - 1, argv + 1);
    }
    if (argc < 2) {
        fprintf(stderr, "mldf: a command is missing; mldf --help lists them\n");
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        print_version();
        return out_finish(NULL, EXIT_FINE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return help(strcmp(argv[1], "help") == 0 ? argc : 2, argv);
    const struct command *command = find_command(argv[1]);
    if (!command)
        return unknown_command(argv[1]);
    return run_command(command, argc - 2, argv + 2);
}
