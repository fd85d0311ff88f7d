/* The rule for structs that may grow (util/options.h). */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "util/options.h"

struct grown {
    size_t struct_bytes;
    uint32_t a, b;
    uint64_t c;
};
enum { BEFORE = offsetof(struct grown, c) };

static void shorter_options_leave_the_rest_at_its_default(void) {
    struct grown own = {sizeof own, 1, 2, 3}, given = {BEFORE, 10, 20, 30};
    mldf_error err;
    CHECK_OK(mldfi_take_options(&own, sizeof own, "grown", &given, &err), &err);
    CHECK_EQ_U64(10, own.a);
    CHECK_EQ_U64(20, own.b);
    CHECK_EQ_U64(3, own.c);
    CHECK_EQ_U64(sizeof own, own.struct_bytes);
    CHECK_OK(mldfi_take_options(&own, sizeof own, "grown", NULL, &err), &err);
    CHECK_EQ_U64(10, own.a);
}

static void longer_options_are_taken_when_the_rest_is_zero(void) {
    struct grown own = {BEFORE, 1, 2, 3}, given = {sizeof given, 10, 20, 0};
    mldf_error err;
    CHECK_OK(mldfi_take_options(&own, BEFORE, "grown", &given, &err), &err);
    CHECK_EQ_U64(20, own.b);
    CHECK_EQ_U64(3, own.c); /* not the library's to touch */
    given.c = 5;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_take_options(&own, BEFORE, "grown", &given, &err), &err);
    CHECK_CONTAINS("grown: byte 16 is set", err.message);
}

static void structs_that_nobody_initialised_are_refused(void) {
    struct grown own = {sizeof own, 1, 2, 3}, given;
    mldf_error err;
    const size_t wrong[] = {0, sizeof(size_t) - 1, 65537, SIZE_MAX};
    for (size_t i = 0; i < 4; i++) {
        memset(&given, 0xee, sizeof given);
        given.struct_bytes = wrong[i];
        CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_take_options(&own, sizeof own, "grown", &given, &err), &err);
        CHECK_CONTAINS("grown: struct_bytes is", err.message);
        CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_check_result("grown", &given, &err), &err);
    }
    CHECK_EQ_U64(1, own.a);
    CHECK_OK(mldfi_check_result("grown", NULL, &err), &err);
}

static void results_fill_what_there_is_room_for(void) {
    struct grown own = {0, 1, 2, 3}, out = {BEFORE, 9, 9, 9};
    mldfi_give_result(&out, &own, sizeof own);
    CHECK_EQ_U64(BEFORE, out.struct_bytes);
    CHECK_EQ_U64(2, out.b);
    CHECK_EQ_U64(9, out.c); /* behind the caller's struct */
    out.struct_bytes = sizeof out;
    mldfi_give_result(&out, &own, BEFORE);
    CHECK_EQ_U64(0, out.c); /* the library does not know it */
    mldfi_give_result(NULL, &own, sizeof own);
}

static void the_headers_have_the_version_of_the_library(void) {
    CHECK_EQ_STR(MLDF_VERSION, mldf_version());
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", MLDF_VERSION_MAJOR, MLDF_VERSION_MINOR, MLDF_VERSION_PATCH);
    CHECK_EQ_STR(MLDF_VERSION, text);
    CHECK(MLDF_VERSION_NUMBER >= MLDF_VERSION_AT(0, 2, 0));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(shorter_options_leave_the_rest_at_its_default);
    RUN(longer_options_are_taken_when_the_rest_is_zero);
    RUN(structs_that_nobody_initialised_are_refused);
    RUN(results_fill_what_there_is_room_for);
    RUN(the_headers_have_the_version_of_the_library);
    return check_end();
}
