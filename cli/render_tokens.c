/* Tokens as JSON: text_tokenized is an array like any other; packed sequences and streams also show where their documents end. */
#include "cli.h"

enum { SHOWN = 64 };

static void render_ends(const mldf_tokens *t, bool full) {
    uint64_t begin, end;
    if (!full && t->documents > SHOWN)
        return;
    json_key("ends");
    json_begin('[');
    for (uint64_t i = 0; i < t->documents && mldf_tokens_document(t, i, &begin, &end, NULL) == MLDF_OK; i++)
        json_u64(end);
    json_end(']');
}

bool render_tokens(const mldf_field *field, const mldf_value *v, bool full) {
    mldf_tokens t;
    if (mldf_tokens_of(field, v, &t, NULL) < 0 || t.type_id == MLDF_TEXT_TOKENIZED)
        return false;
    json_begin('{');
    json_key("tokens");
    render_array(v, full);
    json_key("documents");
    json_u64(t.documents);
    render_ends(&t, full);
    json_end('}');
    return true;
}
