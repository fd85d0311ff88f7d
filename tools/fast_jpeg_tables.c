/* Trains the codes of the fast JPEG store (table set 1) and prints src/codec/fast_jpeg_set.c. It is run once for a set; the set never changes
 * afterwards. tools/fast_jpeg_photos.py makes the files, docs/decisions/15-fast-jpeg.md says from what.
 *
 *     cc -O2 -Isrc -Iinclude -Ibuild/release/include tools/fast_jpeg_tables.c build/release/lib/libmldf.a -ljpeg … -o /tmp/train
 *     find train/ -name '*.jpg' | sort | /tmp/train > src/codec/fast_jpeg_set.c
 *
 * k-means on files: each of 16 codes is the best one for the files that are shortest with it. Code lengths: package-merge, at most 12 bits;
 * every symbol has a code. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/fast_jpeg.h"
#include "mldf/base.h"

enum { MOST = 8192, ROUNDS = 25, STREAMS = 6, SYMBOLS = FAST_AC_SYMBOLS };

static struct fast_counts *files;
static int file_count;

/* ---- Package-merge --------------------------------------------------------------------------------------------------------- */

struct package {
    double weight;
    uint8_t uses[SYMBOLS]; /* how often each symbol is in it */
};

static int by_weight(const void *a, const void *b) {
    double x = ((const struct package *)a)->weight, y = ((const struct package *)b)->weight;
    return x < y ? -1 : x > y;
}

static void lengths(const double *weight, int n, uint8_t *out) {
    static struct package list[2 * SYMBOLS], next[2 * SYMBOLS], leaves[SYMBOLS];
    int count = 0;
    memset(leaves, 0, sizeof leaves);
    for (int i = 0; i < n; i++) {
        leaves[i].weight = weight[i];
        leaves[i].uses[i] = 1;
    }
    qsort(leaves, (size_t)n, sizeof *leaves, by_weight);
    for (int level = 0; level < FAST_CODE_BITS; level++) {
        int made = 0;
        for (int i = 0; i + 1 < count; i += 2, made++) {
            next[made] = list[i];
            next[made].weight += list[i + 1].weight;
            for (int s = 0; s < n; s++)
                next[made].uses[s] = (uint8_t)(next[made].uses[s] + list[i + 1].uses[s]);
        }
        memcpy(next + made, leaves, (size_t)n * sizeof *leaves);
        count = made + n;
        qsort(next, (size_t)count, sizeof *next, by_weight);
        memcpy(list, next, (size_t)count * sizeof *next);
    }
    memset(out, 0, (size_t)n);
    for (int i = 0; i < 2 * n - 2; i++)
        for (int s = 0; s < n; s++)
            out[s] = (uint8_t)(out[s] + list[i].uses[s]);
}

/* ---- k-means ---------------------------------------------------------------------------------------------------------------- */

static const uint32_t *counts_of(int file, int stream) {
    return stream < 2 ? files[file].dc[stream] : files[file].ac[stream - 2];
}

static double cost(const uint32_t *counts, const uint8_t *length, int n) {
    double sum = 0;
    for (int s = 0; s < n; s++)
        sum += (double)counts[s] * length[s];
    return sum;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void train(int stream, uint8_t (*best)[SYMBOLS]) {
    int n = stream < 2 ? FAST_DC_SYMBOLS : FAST_AC_SYMBOLS;
    int *group = calloc(MOST, sizeof *group);
    double *measure = calloc(MOST, sizeof *measure), *sorted = calloc(MOST, sizeof *sorted);
    /* The first groups: by bits of information in a symbol. */
    for (int f = 0; f < file_count; f++) {
        const uint32_t *c = counts_of(f, stream);
        double all = 1e-9, bits = 0;
        for (int s = 0; s < n; s++)
            all += c[s];
        for (int s = 0; s < n; s++)
            bits += c[s] ? -c[s] * log2(c[s] / all) : 0;
        measure[f] = sorted[f] = bits / all;
    }
    qsort(sorted, (size_t)file_count, sizeof *sorted, compare_doubles);
    for (int f = 0; f < file_count; f++)
        for (int k = 1; k < FAST_CODES; k++)
            if (measure[f] > sorted[file_count * k / FAST_CODES])
                group[f] = k;
    for (int round = 0; round < ROUNDS; round++) {
        static double weight[FAST_CODES][SYMBOLS];
        memset(weight, 0, sizeof weight);
        for (int f = 0; f < file_count; f++) {
            const uint32_t *c = counts_of(f, stream);
            double all = 1;
            for (int s = 0; s < n; s++)
                all += c[s];
            /* A large file weighs more than a small one, but not as its size: the loss in percent counts. */
            for (int s = 0; s < n; s++)
                weight[group[f]][s] += c[s] / sqrt(all);
        }
        for (int k = 0; k < FAST_CODES; k++) {
            double all = 0;
            for (int s = 0; s < n; s++)
                all += weight[k][s];
            for (int s = 0; s < n; s++)
                weight[k][s] += all * 1e-6 + 1e-9;
            lengths(weight[k], n, best[k]);
        }
        for (int f = 0; f < file_count; f++) {
            double least = 1e300;
            for (int k = 0; k < FAST_CODES; k++) {
                double c = cost(counts_of(f, stream), best[k], n);
                if (c < least) {
                    least = c;
                    group[f] = k;
                }
            }
        }
    }
    free(group);
    free(measure);
    free(sorted);
}

static void print_set(int first, int streams, int symbols, uint8_t (*all)[FAST_CODES][SYMBOLS]) {
    for (int s = first; s < first + streams; s++) {
        printf("    {\n");
        for (int k = 0; k < FAST_CODES; k++) {
            printf("        {");
            for (int i = 0; i < symbols; i += 2)
                printf("%s0x%02x", i ? ", " : "", all[s][k][i] | all[s][k][i + 1] << 4);
            printf("},\n");
        }
        printf("    },\n");
    }
}

int main(void) {
    static uint8_t all[STREAMS][FAST_CODES][SYMBOLS];
    char path[4096];
    files = calloc(MOST, sizeof *files);
    while (fgets(path, sizeof path, stdin) && file_count < MOST) {
        path[strcspn(path, "\n")] = 0;
        FILE *f = fopen(path, "rb");
        if (!f || fseek(f, 0, SEEK_END))
            return 1;
        long bytes = ftell(f);
        uint8_t *data = malloc((size_t)bytes + 1);
        rewind(f);
        if (!data || fread(data, 1, (size_t)bytes, f) != (size_t)bytes)
            return 1;
        fclose(f);
        struct fast_source source;
        enum fast_reason reason;
        if (mldfi_fast_read(data, (size_t)bytes, &source, &reason, NULL) == MLDF_OK && reason == FAST_TAKEN) {
            files[file_count++] = source.counts;
            mldfi_fast_source_free(&source);
        } else {
            fprintf(stderr, "%s: %s\n", path, mldfi_fast_reason_name(reason));
        }
        free(data);
    }
    fprintf(stderr, "%d files\n", file_count);
    for (int s = 0; s < STREAMS; s++)
        train(s, all[s]);
    printf(
        "/* Table set 1 of the fast JPEG store: lengths of code words, as nibbles. Written by tools/fast_jpeg_tables.c; never changes. */\n"
        "#include \"codec/fast_jpeg.h\"\n\n"
        "const uint8_t mldfi_fast_dc_set[2][FAST_CODES][FAST_DC_SYMBOLS / 2] = {\n");
    print_set(0, 2, FAST_DC_SYMBOLS, all);
    printf("};\nconst uint8_t mldfi_fast_ac_set[FAST_AC_KINDS][FAST_CODES][FAST_AC_SYMBOLS / 2] = {\n");
    print_set(2, 4, FAST_AC_SYMBOLS, all);
    printf("};\n");
    return 0;
}
