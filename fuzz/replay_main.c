/* fuzz/replay_main.c: runs a fuzz target over files, without libFuzzer. `replay_open fuzz/corpus/open file...`: every file of
 * the folders, in order of name, goes once through LLVMFuzzerTestOneInput, so that what fuzzing once found stays found in
 * ordinary test runs, with any compiler and sanitizer. A crash is the failure; the name is printed first with -v. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
/* A target may have one; most have not. */
#if defined(__GNUC__)
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    return 0;
}
#endif

static int verbose;

static int replay_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return -1;
    }
    fseek(f, 0, SEEK_END);
    long end = ftell(f);
    rewind(f);
    /* Exactly the file's size, so that the address sanitizer sees a read one byte past the end. */
    size_t size = end > 0 ? (size_t)end : 0;
    uint8_t *data = malloc(size ? size : 1);
    if (!data || fread(data, 1, size, f) != size) {
        perror(path);
        free(data);
        fclose(f);
        return -1;
    }
    fclose(f);
    if (verbose)
        fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

static int replay(const char *path, unsigned long *count) {
    struct stat st;
    if (stat(path, &st) != 0) {
        perror(path);
        return -1;
    }
    if (!S_ISDIR(st.st_mode)) {
        ++*count;
        return replay_file(path);
    }
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort);
    if (n < 0) {
        perror(path);
        return -1;
    }
    int result = 0;
    for (int i = 0; i < n; i++) {
        char child[4096];
        int length = snprintf(child, sizeof child, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && (length < 0 || (size_t)length >= sizeof child || replay(child, count) != 0))
            result = -1;
        free(entries[i]);
    }
    free(entries);
    return result;
}

int main(int argc, char **argv) {
    unsigned long count = 0;
    int result = 0;
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0)
            verbose = 1;
        else if (replay(argv[i], &count) != 0)
            result = 1;
    }
    printf("%lu inputs replayed\n", count);
    if (count == 0) {
        fprintf(stderr, "nothing to replay: give files or folders\n");
        return 2;
    }
    return result;
}
