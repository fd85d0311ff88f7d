/* One run from the inside: what the files of attack_runner that use a mutant share.
 *
 *   use.c        the truth, the rules, one run
 *   use_write.c  the loader, and functions that write
 *   use_text.c   tables, texts and images */
#ifndef MLDF_ATTACK_RUN_H
#define MLDF_ATTACK_RUN_H

#include "mldf/mldf.h"
#include "mldf/tool.h"
#include "use.h"

enum { SAMPLES_MAX = 2000, WRITE_MAX = 20000 };

struct run {
    const struct use *use;
    struct rng *rng;
    const struct mutant *mutant;
    char path[512], other[512]; /* the mutant; a second file */
    mldf_secret secret;
    uint8_t key[MLDF_KEY_BYTES];
    bool guarded;      /* changed values must be noticed */
    char problem[300]; /* the first that the last verify told of */
};

void write_file(const char *path, const void *data, size_t bytes);
/* Are these the file's bytes? how says in words what differs. */
bool file_is(const char *path, const uint8_t *data, size_t bytes, char how[80]);
/* A failure has a status and a message. */
void check_error(struct run *run, const char *what, mldf_status status, const mldf_error *err);
/* How many problems verify finds; -1: it could not be done. */
long problems_of(struct run *run, const char *path, bool deep);
/* A file that was to be changed in place, after a failure: as it was. */
void check_unchanged(struct run *run, const char *what, mldf_status status, const mldf_error *err);
/* After a function that makes a new file: nothing there when it failed; else it verifies and has the truth. */
void check_output(struct run *run, const char *what, const char *path, mldf_status status, const mldf_error *err,
                  bool whole);
/* After a function that changes a file in place. before: the problems that it had. */
void check_in_place(struct run *run, const char *what, mldf_status status, const mldf_error *err, long before,
                    bool whole);
void remove_tree(const char *path);

/* Batches of the mutant. */
void load_batches(struct run *run);
/* One of the functions that write, or that look at the whole file; drawn by the run. problems: what verify found. */
void write_something(struct run *run, long problems);
void use_table(struct run *run);
void use_text(struct run *run, const char *kind);
void use_image(struct run *run);

#endif
