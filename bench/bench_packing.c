/* Pack plans: documents a second, and padding, for log-normal lengths (mean about 902 tokens, sigma 1.1).
 *
 *     build/release/bench/bench_packing [DOCUMENTS [LENGTH]]      default: 10000000 2048 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "format/packing.h"
#include "os/memory.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t *log_normal(uint64_t rows) {
    uint64_t *lengths = malloc((size_t)rows * sizeof *lengths), state = 88172645463325252u;
    for (uint64_t i = 0; lengths && i < rows; i++) {
        double sum = 0;
        for (int k = 0; k < 12; k++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            sum += (double)(state >> 11) / 9007199254740992.0;
        }
        lengths[i] = (uint64_t)exp(log(902.0) - 0.605 + 1.1 * (sum - 6));
    }
    return lengths;
}

int main(int argc, char **argv) {
    uint64_t rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
    uint32_t length = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 2048;
    static const char *const names[] = {"", "best-fit", "next-fit", "concat"};
    uint64_t *lengths = log_normal(rows);
    if (!lengths)
        return 3;
    for (uint8_t algorithm = PACKING_BEST_FIT; algorithm <= PACKING_CONCAT; algorithm++) {
        struct packing_rule rule = {.length = length, .align = 1, .algorithm = algorithm, .large = mldfi_memory_huge};
        struct packing plan = {0};
        double best = 1e9;
        for (int round = 0; round < 5; round++) {
            mldf_error err;
            mldfi_packing_free(&plan);
            double begin = now();
            if (mldfi_packing_make(&rule, lengths, rows, &plan, &err) < 0)
                return 1;
            double took = now() - begin;
            best = took < best ? took : best;
        }
        printf("%-9s %llu documents, L %u: %.3f s, %.1f M documents/s, %llu sequences, padding %.4f %%\n",
               names[algorithm], (unsigned long long)rows, length, best, (double)rows / best / 1e6,
               (unsigned long long)plan.bins, 100 * (1 - (double)plan.placed / ((double)plan.bins * length)));
        mldfi_packing_free(&plan);
    }
    free(lengths);
    return 0;
}
