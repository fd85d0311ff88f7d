/* What is done with a mutant inside the process, and what must hold afterwards. */
#ifndef MLDF_ATTACK_USE_H
#define MLDF_ATTACK_USE_H

#include "mutate.h"

/* What a file of the corpus holds, to be compared with: one hash for each value. */
struct content {
    bool opens, checksummed, encrypted;
    bool states; /* the file was appended to: an older or newer number of samples is a state of it as well */
    uint64_t samples, schema, rest; /* rest: keys and card */
    size_t fields;
    uint64_t *values; /* samples x fields */
};

/* kind: "silent" (bytes changed and nobody said so), "exit" (a status or message that is wrong), "leftover", "changed" (a file that must be
 * as it was), "output" (a result that does not verify), "note" (counted, and no failure). */
typedef void (*finding_fn)(const char *kind, const char *format, ...);

struct use {
    const char *folder; /* an empty one, for the files of the run */
    const struct seed_file *base;
    const struct content *truth; /* of base; NULL where there is none to compare */
    finding_fn finding;
};

void content_of(const struct seed_file *file, struct content *out);
/* Removes what is in it; each thing is a finding, unless finding is NULL. */
void empty_folder(const char *folder, finding_fn finding);
void use_mutant(const struct use *use, struct rng *rng, const struct mutant *m);

#endif
