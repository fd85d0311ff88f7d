/* Any text as an expression: when it parses, its program gives the bits of an evaluator that walks the text, for a strip of values; when it
 * does not, the error says a place in the text. */
#include <stdlib.h>
#include <string.h>

#include "../tests/unit/pipeline/expression_oracle.h"
#include "pipeline/expression_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const double numbers[3] = {0.7, -3.25, 1e30};
static const float values[] = {0.0f,  -0.0f,   1.0f,     -1.5f,     2.5f, 255.0f,
                               1e38f, -1e-40f, INFINITY, -INFINITY, NAN,  8388607.5f};
enum { VALUES = sizeof values / sizeof *values };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static _Alignas(64) float room[(EXPRESSION_SLOTS + 1) * EXPRESSION_STRIP];
    struct expression e;
    mldf_error err;
    const char *text = (const char *)data;
    if (mldfi_expression_parse(text, size, numbers, 3, &e, &err) < 0) {
        if (err.offset > size || err.message[0] == 0 || (err.status != MLDF_E_SYNTAX && err.status != MLDF_E_LIMIT))
            abort();
        return 0;
    }
    if (mldfi_expression_room(&e) > sizeof room)
        abort();
    mldfi_expression_begin(&e, room);
    for (size_t i = 0; i < VALUES; i++) {
        mldfi_expression_slot(&e, room, EXPRESSION_X)[i] = values[i];
        mldfi_expression_slot(&e, room, EXPRESSION_CHANNEL)[i] = (float)(i % 3);
    }
    const float *got = mldfi_expression_strip(&e, room, VALUES);
    for (size_t i = 0; i < VALUES; i++) {
        float want = oracle_value(text, size, values[i], (float)(i % 3), numbers);
        if (memcmp(&want, &got[i], sizeof want) != 0)
            abort();
    }
    return 0;
}
