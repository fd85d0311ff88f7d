/* Calls that may take long: the GIL is given up, and hooks take it back for a moment. Ctrl-C works because the
 * library asks call_progress, on the calling thread, whether to go on; the exception then goes before the status
 * MLDF_E_CANCELLED. */
#include "py_extension.h"

#include <string.h>
#include <time.h>

enum { TELL_EVERY = 50 * 1000 * 1000 }; /* nanoseconds */

void call_begin(struct call *call, PyObject *progress, PyObject *list) {
    memset(call, 0, sizeof *call);
    call->progress = progress == Py_None ? NULL : progress;
    call->list = list;
    call->thread = PyEval_SaveThread();
}

void call_end(struct call *call) {
    PyEval_RestoreThread(call->thread);
    call->thread = NULL;
}

bool call_resume(struct call *call) {
    PyEval_RestoreThread(call->thread);
    return !call->failed;
}

void call_pause(struct call *call) {
    call->failed = call->failed || PyErr_Occurred();
    call->thread = PyEval_SaveThread();
}

void call_append(struct call *call, PyObject *item) {
    if (item && PyList_Append(call->list, item) < 0)
        call->failed = true;
    else if (!item)
        call->failed = true;
    Py_XDECREF(item);
}

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* False: the user's callback raised, or asks to stop with False. */
static bool tell(struct call *call, const mldf_progress *p) {
    PyObject *samples_total = number_or_none(p->samples_total), *bytes_total = number_or_none(p->bytes_total);
    PyObject *answer = NULL;
    if (samples_total && bytes_total)
        answer = PyObject_CallFunction(
            call->progress, "sKOKOK", p->phase ? p->phase : "", (unsigned long long)p->samples_done, samples_total,
            (unsigned long long)p->bytes_done, bytes_total, (unsigned long long)p->frames_done);
    bool go_on = answer && answer != Py_False;
    Py_XDECREF(answer);
    Py_XDECREF(samples_total);
    Py_XDECREF(bytes_total);
    return go_on;
}

bool call_progress(void *user, const mldf_progress *progress) {
    struct call *call = user;
    bool last = progress->samples_total != MLDF_NONE && progress->samples_done == progress->samples_total;
    bool fresh = !call->phase || !progress->phase || strcmp(call->phase, progress->phase) != 0;
    int64_t time = now();
    if (call->failed)
        return false;
    if (!fresh && !last && time - call->told_at < TELL_EVERY)
        return true;
    call->told_at = time;
    call->phase = progress->phase;
    bool go_on = call_resume(call) && PyErr_CheckSignals() == 0 && (!call->progress || tell(call, progress));
    call_pause(call);
    return go_on;
}

bool call_check(struct call *call, struct module_state *state, mldf_status status, const mldf_error *err) {
    if (call->failed || PyErr_Occurred()) {
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        return false;
    }
    if (status < 0)
        raise_error(state, err);
    return status >= 0;
}
