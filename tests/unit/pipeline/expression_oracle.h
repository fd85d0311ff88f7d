/* An expression's value for one element, straight from its text: no program, no slots, no strips, no folding. A text that is wrong gives
 * anything; mldfi_expression_parse decides about that. */
#ifndef MLDF_TESTS_EXPRESSION_ORACLE_H
#define MLDF_TESTS_EXPRESSION_ORACLE_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/math.h"

struct oracle {
    const char *at, *end;
    float x, c;
    const double *numbers;
};

static float oracle_choice(struct oracle *o);

static bool oracle_take(struct oracle *o, const char *word) {
    while (o->at < o->end && strchr(" \t\r\n", *o->at) && *o->at)
        o->at++;
    if ((size_t)(o->end - o->at) < strlen(word) || memcmp(o->at, word, strlen(word)) != 0)
        return false;
    o->at += strlen(word);
    return true;
}

static float oracle_call(const char *name, size_t bytes, const float *v) {
#define ORACLE_IS(word) (bytes == strlen(word) && memcmp(name, word, bytes) == 0)
    if (ORACLE_IS("abs"))
        return fabsf(v[0]);
    if (ORACLE_IS("atan2"))
        return (float)mldfi_atan2(v[0], v[1]);
    if (ORACLE_IS("ceil"))
        return ceilf(v[0]);
    if (ORACLE_IS("clamp")) {
        float low = v[0] > v[1] ? v[0] : v[1];
        return low < v[2] ? low : v[2];
    }
    if (ORACLE_IS("cos"))
        return (float)mldfi_cos(v[0]);
    if (ORACLE_IS("exp"))
        return (float)mldfi_exp(v[0]);
    if (ORACLE_IS("floor"))
        return floorf(v[0]);
    if (ORACLE_IS("if"))
        return v[0] != 0 ? v[1] : v[2];
    if (ORACLE_IS("log"))
        return (float)mldfi_log(v[0]);
    if (ORACLE_IS("log10"))
        return (float)mldfi_log10(v[0]);
    if (ORACLE_IS("log2"))
        return (float)mldfi_log2(v[0]);
    if (ORACLE_IS("max"))
        return v[0] > v[1] ? v[0] : v[1];
    if (ORACLE_IS("min"))
        return v[0] < v[1] ? v[0] : v[1];
    if (ORACLE_IS("pow"))
        return (float)mldfi_pow(v[0], v[1]);
    if (ORACLE_IS("round"))
        return rintf(v[0]);
    if (ORACLE_IS("sin"))
        return (float)mldfi_sin(v[0]);
    if (ORACLE_IS("sqrt"))
        return sqrtf(v[0]);
    if (ORACLE_IS("tan"))
        return (float)mldfi_tan(v[0]);
    return (float)mldfi_tanh(v[0]);
#undef ORACLE_IS
}

static float oracle_primary(struct oracle *o) {
    float v[3] = {0, 0, 0};
    if (oracle_take(o, "(")) {
        v[0] = oracle_choice(o);
        (void)oracle_take(o, ")");
        return v[0];
    }
    const char *begin = o->at;
    if (o->at < o->end && *o->at >= '0' && *o->at <= '9') {
        char text[512], *behind;
        size_t bytes = (size_t)(o->end - begin) < sizeof text - 1 ? (size_t)(o->end - begin) : sizeof text - 1;
        memcpy(text, begin, bytes);
        text[bytes] = 0;
        double value = strtod(text, &behind);
        o->at += behind - text;
        return (float)value;
    }
    while (o->at < o->end && ((*o->at >= 'a' && *o->at <= 'z') || (*o->at >= '0' && *o->at <= '9')))
        o->at++;
    size_t bytes = (size_t)(o->at - begin);
    if (bytes == 1 && *begin == 'x')
        return o->x;
    if (bytes == 1 && *begin == 'c')
        return o->c;
    if (bytes == 2 && memcmp(begin, "pi", 2) == 0)
        return (float)3.14159265358979323846;
    if (bytes >= 2 && begin[0] == 'p' && begin[1] >= '0' && begin[1] <= '9') {
        size_t number = 0;
        for (size_t i = 1; i < bytes; i++)
            number = number * 10 + (size_t)(begin[i] - '0');
        return (float)o->numbers[number];
    }
    (void)oracle_take(o, "(");
    for (int i = 0; i < 3; i++) {
        v[i] = oracle_choice(o);
        if (!oracle_take(o, ","))
            break;
    }
    (void)oracle_take(o, ")");
    return oracle_call(begin, bytes, v);
}

static float oracle_unary(struct oracle *o) {
    if (oracle_take(o, "-"))
        return -oracle_unary(o);
    if (oracle_take(o, "+"))
        return oracle_unary(o);
    if (o->at < o->end && oracle_take(o, "!"))
        return oracle_unary(o) != 0 ? 0.0f : 1.0f;
    return oracle_primary(o);
}

static float oracle_product(struct oracle *o) {
    volatile float v = oracle_unary(o);
    for (;;) {
        if (oracle_take(o, "*"))
            v = v * oracle_unary(o);
        else if (oracle_take(o, "/"))
            v = v / oracle_unary(o);
        else
            return v;
    }
}

static float oracle_sum(struct oracle *o) {
    volatile float v = oracle_product(o);
    for (;;) {
        if (oracle_take(o, "+"))
            v = v + oracle_product(o);
        else if (oracle_take(o, "-"))
            v = v - oracle_product(o);
        else
            return v;
    }
}

static float oracle_relation(struct oracle *o) {
    float a = oracle_sum(o);
    if (oracle_take(o, "<="))
        return a <= oracle_sum(o) ? 1.0f : 0.0f;
    if (oracle_take(o, ">="))
        return a >= oracle_sum(o) ? 1.0f : 0.0f;
    if (oracle_take(o, "=="))
        return a == oracle_sum(o) ? 1.0f : 0.0f;
    if (oracle_take(o, "!="))
        return a != oracle_sum(o) ? 1.0f : 0.0f;
    if (oracle_take(o, "<"))
        return a < oracle_sum(o) ? 1.0f : 0.0f;
    if (oracle_take(o, ">"))
        return a > oracle_sum(o) ? 1.0f : 0.0f;
    return a;
}

static float oracle_and(struct oracle *o) {
    float a = oracle_relation(o);
    while (oracle_take(o, "&&")) {
        float b = oracle_relation(o);
        a = a != 0 && b != 0 ? 1.0f : 0.0f;
    }
    return a;
}

static float oracle_choice(struct oracle *o) {
    float a = oracle_and(o);
    while (oracle_take(o, "||")) {
        float b = oracle_and(o);
        a = a != 0 || b != 0 ? 1.0f : 0.0f;
    }
    if (!oracle_take(o, "?"))
        return a;
    float b = oracle_choice(o);
    (void)oracle_take(o, ":");
    float c = oracle_choice(o);
    return a != 0 ? b : c;
}

static inline float oracle_value(const char *text, size_t bytes, float x, float c, const double *numbers) {
    struct oracle o = {text, text + bytes, x, c, numbers};
    float v = oracle_choice(&o);
    return v != v ? (float)NAN : v;
}

#endif
