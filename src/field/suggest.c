/* "Did you mean ...?": the nearest of some names, by Levenshtein's distance on bytes. */
#include <string.h>

#include "field/type.h"

enum { LONGEST = 128, NEAR = 2 };

/* Edits between a and b; two rows of the usual table are enough. */
static size_t edit_distance(const char *a, size_t a_bytes, const char *b, size_t b_bytes) {
    size_t above[LONGEST + 1], row[LONGEST + 1];
    for (size_t j = 0; j <= b_bytes; j++)
        above[j] = j;
    for (size_t i = 1; i <= a_bytes; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_bytes; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
        memcpy(above, row, (b_bytes + 1) * sizeof row[0]);
    }
    return above[b_bytes];
}

void mldfi_suggest(struct suggestion *suggestion, const char *candidate) {
    size_t wanted_bytes = strlen(suggestion->wanted), bytes = strlen(candidate);
    size_t common = wanted_bytes < bytes ? wanted_bytes : bytes;
    size_t gap = wanted_bytes < bytes ? bytes - wanted_bytes : wanted_bytes - bytes;
    size_t distance = SIZE_MAX;
    if (common == 0 || wanted_bytes > LONGEST || bytes > LONGEST)
        return;
    if (gap <= NEAR)
        distance = edit_distance(suggestion->wanted, wanted_bytes, candidate, bytes);
    /* "xy" is two edits from every name that short: something must be right. */
    if (distance > NEAR || distance >= common)
        distance = memcmp(suggestion->wanted, candidate, common) == 0 ? NEAR + gap : SIZE_MAX;
    if (distance != SIZE_MAX && (!suggestion->best || distance < suggestion->distance)) {
        suggestion->best = candidate;
        suggestion->distance = distance;
    }
}
