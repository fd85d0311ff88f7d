/* Mutants: a file of the corpus, changed in a way that (seed, run) alone decides, so that every run can be repeated. */
#ifndef MLDF_ATTACK_MUTATE_H
#define MLDF_ATTACK_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file of the corpus. kind: "mldf", "crypt", "tar", "tbl", "beton", "image", "csv", "jsonl", "schema", "card", "pipeline", "state". */
struct seed_file {
    char kind[16];
    char *path;
    char secret[160]; /* "": none; "key:HEX" or "passphrase:TEXT" */
    uint8_t *data;
    size_t size;
};

struct mutant {
    uint8_t *data;
    size_t size, capacity;
    bool mended;    /* its checksums were made right again: only a MAC can tell it from a true file */
    char what[160]; /* in words */
};

struct rng {
    uint64_t state;
};
uint64_t rng_next(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t n); /* 0 when n is 0 */
struct rng rng_of_run(uint64_t seed, uint64_t run);

/* `other` gives the bytes of a splice. out is filled anew; its memory is used again. */
void mutate(struct rng *rng, const struct seed_file *base, const struct seed_file *other, struct mutant *out);

#endif
