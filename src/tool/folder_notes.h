/* What lies beside the recordings of a folder: transcripts. Two ways are known:
 *
 *     19/198/19-198.trans.txt     LibriSpeech: lines "19-198-0000 NORTHANGER ABBEY" for 19/198/19-198-0000.flac; fields text, speaker, chapter
 *     a.wav a.txt (a.lab, a.json) a file of the same name beside each: fields text (.txt, .lab) and note (.json)
 *
 * folder_pack.c asks; a folder of anything else than recordings has none. */
#ifndef MLDF_TOOL_FOLDER_NOTES_H
#define MLDF_TOOL_FOLDER_NOTES_H

#include "field/field.h"
#include "tool/folder_pack.h"

struct folder_notes {
    char **lists; /* the *.trans.txt that the walk came by */
    size_t list_count, list_capacity;
    bool from_lists, has_text, has_json, text_missing, json_missing;
    mldf_buffer *files; /* the lists' own bytes */
    struct note {
        char *path; /* of the recording without its ending */
        const char *text;
        size_t bytes;
    } * notes; /* sorted by path */
    size_t note_count, note_capacity;
    size_t text, speaker, chapter, json; /* fields; SIZE_MAX: none */
    mldf_buffer text_file, json_file, path;
};

/* A file that is no sample: its path is kept if it is a list of transcripts. */
mldf_status mldfi_notes_see(struct folder_notes *notes, const char *path, mldf_error *err);
/* Reads the lists, or looks for files beside the recordings. Errors name file and line. */
mldf_status mldfi_notes_begin(struct folder_notes *notes, const struct folder_list *list, mldf_error *err);
/* The fields, if there are any notes. */
mldf_status mldfi_notes_fields(struct folder_notes *notes, mldf_schema *schema, mldf_error *err);
/* The values of a recording's; those that it lacks are null. */
mldf_status mldfi_notes_values(struct folder_notes *notes, const char *path, mldf_value *values, mldf_error *err);
void mldfi_notes_free(struct folder_notes *notes);

#endif
