/* Random expressions that parse. */
#ifndef MLDF_TESTS_RANDOM_EXPRESSION_H
#define MLDF_TESTS_RANDOM_EXPRESSION_H

#include "check.h"

CHECK_UNUSED static void random_expression(uint64_t *state, unsigned depth, char *out, size_t room) {
    static const char *const leaves[] = {"x",   "x",    "x",   "c",    "pi", "0",  "1",
                                         "2.5", "1e-3", "255", "1e30", "p0", "p1", "0.1"};
    static const char *const unary[] = {"abs",   "sqrt", "floor", "ceil", "round", "exp", "log", "log2",
                                        "log10", "sin",  "cos",   "tan",  "tanh",  "-",   "!",   "+"};
    static const char *const binary[] = {"+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=", "&&", "||"};
    static const char *const pairs[] = {"min", "max", "pow", "atan2"};
    char a[512], b[512], c[512];
    uint64_t kind = check_rand(state) >> 33;
    if (depth == 0 || kind % 8 == 0) {
        snprintf(out, room, "%s", leaves[(check_rand(state) >> 33) % (sizeof leaves / sizeof *leaves)]);
        return;
    }
    random_expression(state, depth - 1, a, sizeof a);
    random_expression(state, depth - 1, b, sizeof b);
    uint64_t pick = check_rand(state) >> 33;
    if (kind % 8 < 3) {
        snprintf(out, room, "(%s %s %s)", a, binary[pick % (sizeof binary / sizeof *binary)], b);
    } else if (kind % 8 < 5) {
        snprintf(out, room, "%s(%s)", unary[pick % (sizeof unary / sizeof *unary)], a);
    } else if (kind % 8 < 6) {
        snprintf(out, room, "%s(%s, %s)", pairs[pick % 4], a, b);
    } else {
        random_expression(state, depth - 1, c, sizeof c);
        snprintf(out, room,
                 pick % 3 == 0   ? "(%s ? %s : %s)"
                 : pick % 3 == 1 ? "if(%s, %s, %s)"
                                 : "clamp(%s, %s, %s)",
                 a, b, c);
    }
}

#endif
