/* The tokenizer "exec:COMMAND": a program beside ours, or several of them, each with one request at a time. Its one idea: a thread takes a
 * program that is free, asks it, and gives it back; more programs are started when all are busy, up to options.processes. A program
 * that failed is gone, and its error ends what was asked. tokenizer_protocol.h has the bytes, os/coprocess.h the pipes. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/coprocess.h"
#include "os/file.h"
#include "os/thread.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_protocol.h"
#include "util/buffer.h"
#include "util/error.h"

enum { HELLO_SECONDS = 60, REQUEST_SECONDS = 300, FINISH_SECONDS = 10, PROCESSES_MAX = 256, WORDS_MAX = 256 };

struct program {
    struct os_coprocess *process; /* NULL: it failed, or was never started */
    bool busy;
    mldf_buffer request;
};

struct exec_state {
    char *command; /* its words, each terminated */
    char *words[WORDS_MAX + 1];
    unsigned limit;

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t free;
    struct program *programs;
    unsigned count, most;
};

/* ---- The command ------------------------------------------------------------------------------------------------------------ */

/* Words are separated by white space; '...' and "..." keep what is inside as it is. No other character has a meaning. */
static mldf_status split(struct exec_state *s, const char *text, mldf_error *err) {
    size_t words = 0;
    s->command = mldfi_alloc(strlen(text) + 1, err);
    if (!s->command)
        return MLDF_E_MEMORY;
    for (char *to = s->command;;) {
        text += strspn(text, " \t\n");
        if (!*text)
            break;
        if (words == WORDS_MAX)
            return mldfi_fail(err, MLDF_E_ARGUMENT, "a command of more than %d words", WORDS_MAX);
        s->words[words++] = to;
        while (*text && !strchr(" \t\n", *text)) {
            char quote = *text == '\'' || *text == '"' ? *text : 0;
            const char *end = quote ? strchr(text + 1, quote) : NULL;
            if (quote && !end)
                return mldfi_fail(err, MLDF_E_ARGUMENT, "the quote %c in the command is not closed", quote);
            if (!quote) {
                *to++ = *text++;
                continue;
            }
            memcpy(to, text + 1, (size_t)(end - text - 1));
            to += end - text - 1;
            text = end + 1;
        }
        *to++ = 0;
    }
    return words ? MLDF_OK : mldfi_fail(err, MLDF_E_ARGUMENT, "no command after exec:");
}

/* Two words as they are. */
static mldf_status take_words(struct exec_state *s, const char *const words[2], mldf_error *err) {
    size_t first = strlen(words[0]) + 1, second = strlen(words[1]) + 1;
    s->command = mldfi_alloc(first + second, err);
    if (!s->command)
        return MLDF_E_MEMORY;
    s->words[0] = memcpy(s->command, words[0], first);
    s->words[1] = memcpy(s->command + first, words[1], second);
    return MLDF_OK;
}

/* ---- Programs --------------------------------------------------------------------------------------------------------------- */

static mldf_status start(mldf_tokenizer *t, struct program *program, const struct tokenizer_cancel *cancel,
                         mldf_error *err) {
    struct exec_state *s = t->state;
    mldf_buffer line = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_coprocess_start(&program->process, s->words, err);
    if (status == MLDF_OK)
        status = mldfi_coprocess_line(program->process, &line, PROTOCOL_HELLO_MAX, mldfi_time() + HELLO_SECONDS,
                                      cancel ? cancel->asked : NULL, cancel ? cancel->user : NULL, err);
    if (status == MLDF_OK)
        status = mldfi_protocol_hello(t, (const char *)line.data, line.size, err);
    mldf_buffer_free(&line);
    if (status < 0) {
        mldfi_coprocess_free(program->process);
        program->process = NULL;
    }
    return status;
}

/* Another program of the same command must say the same of itself. */
static mldf_status start_another(mldf_tokenizer *t, struct program *program, const struct tokenizer_cancel *cancel,
                                 mldf_error *err) {
    mldf_tokenizer *other = mldfi_alloc_zero(1, sizeof *other, err);
    if (!other)
        return MLDF_E_MEMORY;
    other->state = t->state;
    other->info = (mldf_tokenizer_info){other->name, NULL, 0, -1, -1, -1, "text", false};
    mldf_status status = start(other, program, cancel, err);
    if (status == MLDF_OK && (strcmp(t->name, other->name) != 0 || strcmp(t->sha256, other->sha256) != 0 ||
                              t->info.vocabulary != other->info.vocabulary || t->info.bos != other->info.bos ||
                              t->info.eos != other->info.eos || strcmp(t->info.specials, other->info.specials) != 0)) {
        status = mldfi_fail(err, MLDF_E_IO, "started again, the program says that it is another tokenizer (%.100s)",
                            other->name);
        mldfi_coprocess_free(program->process);
        program->process = NULL;
    }
    free(other);
    return status;
}

/* A program for this thread alone, started if need be. */
static mldf_status take(mldf_tokenizer *t, const struct tokenizer_cancel *cancel, struct program **out,
                        mldf_error *err) {
    struct exec_state *s = t->state;
    struct program *found = NULL;
    mldf_status status = MLDF_OK;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        for (unsigned i = 0; !found && i < s->count; i++)
            found = s->programs[i].busy ? NULL : &s->programs[i];
        if (!found && s->count < s->most)
            found = &s->programs[s->count++];
        if (found || (cancel && cancel->asked(cancel->user)))
            break;
        (void)mldfi_cond_wait_ms(&s->free, &s->lock, 50);
    }
    if (found)
        found->busy = true;
    pthread_mutex_unlock(&s->lock);
    if (!found)
        return mldfi_fail(err, MLDF_E_CANCELLED, "cancelled");
    if (!found->process)
        status = start_another(t, found, cancel, err);
    *out = found;
    return status;
}

static void give_back(mldf_tokenizer *t, struct program *program, mldf_status status) {
    struct exec_state *s = t->state;
    if (status < 0 && status != MLDF_E_RANGE) { /* what it would answer next is not known */
        mldfi_coprocess_free(program->process);
        program->process = NULL;
    }
    mldfi_buffer_trim(&program->request, 16 << 20);
    pthread_mutex_lock(&s->lock);
    program->busy = false;
    pthread_cond_signal(&s->free);
    pthread_mutex_unlock(&s->lock);
}

struct asked {
    struct os_coprocess *process;
    double deadline;
    const struct tokenizer_cancel *cancel;
    bool failed; /* reading did: its message has the end of stderr already */
};

static mldf_status read_answer(void *user, void *dst, size_t bytes, mldf_error *err) {
    struct asked *asked = user;
    mldf_status status =
        mldfi_coprocess_read(asked->process, dst, bytes, asked->deadline, asked->cancel ? asked->cancel->asked : NULL,
                             asked->cancel ? asked->cancel->user : NULL, err);
    asked->failed = status < 0;
    return status;
}

/* Nonsense gets the program's stderr into its message; a time limit is named with the option that changes it. */
static mldf_status explain(struct program *program, const struct asked *asked, unsigned limit, mldf_status status,
                           mldf_error *err) {
    mldf_error why = *err;
    if (status != MLDF_E_IO)
        return status;
    if (asked->failed && why.sys_errno == ETIMEDOUT)
        return mldfi_coprocess_fail(program->process, err, "no answer within %u s (--tokenizer-timeout)", limit);
    return asked->failed ? status : mldfi_coprocess_fail(program->process, err, "%s", why.message);
}

static struct asked ask(const mldf_tokenizer *t, struct program *program, const struct tokenizer_cancel *cancel) {
    const struct exec_state *s = t->state;
    mldfi_coprocess_send(program->process, program->request.data, program->request.size);
    return (struct asked){program->process, mldfi_time() + s->limit, cancel, false};
}

/* The answer is complete: then so must the request be. */
static mldf_status check_sent(const struct program *program, mldf_error *err) {
    return mldfi_coprocess_sent(program->process)
               ? MLDF_OK
               : mldfi_fail(err, MLDF_E_IO, "it answered before it had read the whole request");
}

static mldf_status exec_encode(mldf_tokenizer *t, const struct tokenizer_texts *texts, uint32_t *counts,
                               mldf_buffer *ids, const struct tokenizer_cancel *cancel, mldf_error *err) {
    struct program *program = NULL;
    mldf_status status = take(t, cancel, &program, err);
    if (!program)
        return status;
    if (status == MLDF_OK)
        status = mldfi_protocol_encode(texts, &program->request, err);
    if (status == MLDF_OK) {
        struct asked asked = ask(t, program, cancel);
        struct protocol_source source = {read_answer, &asked};
        status = mldfi_protocol_ids(&source, texts, counts, ids, err);
        if (status == MLDF_OK || status == MLDF_E_RANGE) {
            mldf_error unsent;
            if (check_sent(program, &unsent) < 0)
                *err = unsent, status = MLDF_E_IO;
        }
        status = explain(program, &asked, ((struct exec_state *)t->state)->limit, status, err);
    }
    give_back(t, program, status);
    if (status < 0 && status != MLDF_E_MEMORY && status != MLDF_E_CANCELLED && status != MLDF_E_RANGE)
        mldfi_error_prefix(err, "tokenizer %.100s", t->info.name);
    return status;
}

static mldf_status exec_decode(mldf_tokenizer *t, const uint32_t *ids, size_t count, mldf_buffer *text,
                               mldf_error *err) {
    struct program *program = NULL;
    mldf_error own;
    err = err ? err : &own;
    mldf_status status = take(t, NULL, &program, err);
    if (!program)
        return status;
    if (status == MLDF_OK)
        status = mldfi_protocol_decode(ids, count, &program->request, err);
    if (status == MLDF_OK) {
        struct asked asked = ask(t, program, NULL);
        struct protocol_source source = {read_answer, &asked};
        status = mldfi_protocol_text(&source, count, text, err);
        status = explain(program, &asked, ((struct exec_state *)t->state)->limit, status, err);
    }
    give_back(t, program, status);
    return status;
}

/* ---- Opening and ending ----------------------------------------------------------------------------------------------------- */

static mldf_status open_words(mldf_tokenizer *t, const char *command, const char *const words[2], mldf_error *err) {
    struct exec_state *s = mldfi_alloc_zero(1, sizeof *s, err);
    mldf_error own;
    err = err ? err : &own;
    if (!s)
        return MLDF_E_MEMORY;
    t->state = s;
    pthread_mutex_init(&s->lock, NULL);
    mldfi_cond_init(&s->free);
    s->limit = t->options.timeout_seconds ? t->options.timeout_seconds : REQUEST_SECONDS;
    s->most = t->options.processes ? t->options.processes : 1;
    if (s->most > PROCESSES_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "%u processes; at most %d are possible", s->most, PROCESSES_MAX);
    mldf_status status = command ? split(s, command, err) : take_words(s, words, err);
    if (status == MLDF_OK && !(s->programs = mldfi_alloc_zero(s->most, sizeof *s->programs, err)))
        status = MLDF_E_MEMORY;
    if (status < 0)
        return status;
    s->count = 1;
    return start(t, &s->programs[0], NULL, err);
}

static mldf_status exec_open(mldf_tokenizer *t, const char *argument, mldf_error *err) {
    return open_words(t, argument, NULL, err);
}

/* The same with a program of our own, which is where this one is, or where the system looks for programs. */
static mldf_status sentencepiece_open(mldf_tokenizer *t, const char *argument, mldf_error *err) {
    mldf_buffer program = MLDF_BUFFER_INIT;
    mldf_status status = mldfi_program_beside("mldf-sentencepiece", &program, err);
    if (status == MLDF_OK) {
        const char *const words[2] = {(const char *)program.data, argument};
        status = open_words(t, NULL, words, err);
    }
    mldf_buffer_free(&program);
    if (status == MLDF_E_NOT_FOUND)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                          "the program mldf-sentencepiece is not here: mldf was built without libsentencepiece-dev");
    return status;
}

static mldf_status exec_finish(mldf_tokenizer *t, mldf_error *err) {
    struct exec_state *s = t->state;
    mldf_status status = MLDF_OK;
    for (unsigned i = 0; i < s->count; i++)
        if (s->programs[i].process) {
            mldf_error why;
            if (mldfi_coprocess_finish(s->programs[i].process, mldfi_time() + FINISH_SECONDS, &why) < 0 &&
                status == MLDF_OK) {
                status = why.status;
                if (err)
                    *err = why;
            }
        }
    return status;
}

static void exec_close(mldf_tokenizer *t) {
    struct exec_state *s = t->state;
    if (!s)
        return;
    for (unsigned i = 0; s->programs && i < s->count; i++) {
        mldfi_coprocess_free(s->programs[i].process);
        mldf_buffer_free(&s->programs[i].request);
    }
    pthread_cond_destroy(&s->free);
    pthread_mutex_destroy(&s->lock);
    free(s->programs);
    free(s->command);
    free(s);
}

const struct tokenizer_type mldfi_tokenizer_sentencepiece = {
    .name = "sentencepiece",
    .open = sentencepiece_open,
    .encode = exec_encode,
    .decode = exec_decode,
    .finish = exec_finish,
    .close = exec_close,
};

const struct tokenizer_type mldfi_tokenizer_exec = {
    .name = "exec",
    .open = exec_open,
    .encode = exec_encode,
    .decode = exec_decode,
    .finish = exec_finish,
    .close = exec_close,
};
