/* Names and their numbers, many of them. */
#include "check.h"
#include "interop/name_set.h"

static void names_keep_their_numbers(void) {
    struct name_set *set;
    mldf_error err;
    char name[32];
    REQUIRE_OK(mldfi_name_set_new(&set, &err), &err);
    CHECK_EQ_U64(MLDF_NONE, mldfi_name_set_find(set, "", 0));
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t number = i * 3;
        int bytes = snprintf(name, sizeof name, "k%llu", (unsigned long long)i);
        CHECK_OK(mldfi_name_set_add(set, name, (size_t)bytes, &number, &err), &err);
    }
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t number = 7;
        int bytes = snprintf(name, sizeof name, "k%llu", (unsigned long long)i);
        CHECK_EQ_U64(i * 3, mldfi_name_set_find(set, name, (size_t)bytes));
        CHECK_STATUS(MLDF_END, mldfi_name_set_add(set, name, (size_t)bytes, &number, &err), &err);
        CHECK_EQ_U64(i * 3, number);
    }
    CHECK_EQ_U64(MLDF_NONE, mldfi_name_set_find(set, "k20000", 6));
    mldfi_name_set_free(set);
    mldfi_name_set_free(NULL);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(names_keep_their_numbers);
    return check_end();
}
