/* mldf extract: the samples of a file as files in a folder. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const struct option_spec options[] = {
    {'o', "output", "DIR", NULL},
    {'o', NULL, "DIR", "the folder to make or to fill; refused when it is not empty, unless -f is given"},
    {'f', "force", NULL, NULL},
    {'f', NULL, NULL, "fill a folder that is not empty, replacing files of the same names"},
    {0, "fields", "A,B,...", "these fields only"},
    {0, "videos", "file|frames|sound",
     "videos of packets: a video file (default), a folder of PNG images for each, or the sound as WAV"},
    {0, "frames", "A:B[:STEP]",
     "of each video these frames, counted from 0, without B; as files: a clip without sound, packets copied"},
    {0, NULL, NULL, NULL},
};

/* A, A:, A:B, :B, with :STEP. */
static bool parse_frames(const char *text, mldf_extract_options *out) {
    uint64_t *const to[] = {&out->first, &out->end, &out->step};
    size_t part = 0;
    for (const char *at = text; part < 3; part++) {
        if (*at >= '0' && *at <= '9') {
            char *end;
            errno = 0;
            *to[part] = strtoull(at, &end, 10);
            at = end;
            if (errno || *to[part] > INT64_MAX || (part && *to[part] == 0))
                return false;
        } else if (part == 2) {
            return false;
        }
        if (*at == 0)
            break;
        if (*at++ != ':')
            return false;
    }
    if (part == 0)
        out->end = out->first + 1;
    return part < 3 && *text && (!out->end || out->first < out->end);
}

static int parse_videos(struct invocation *v, mldf_extract_options *out) {
    static const char *const names[] = {"file", "frames", "sound"};
    const char *videos = option_value(v, "videos"), *frames = option_value(v, "frames");
    size_t i = 0;
    while (videos && i < 3 && strcmp(videos, names[i]) != 0)
        i++;
    if (i == 3)
        return usage_error(v, "--videos: '%s' is none of file, frames and sound", videos);
    out->video = (mldf_extract_video)i;
    if (frames && i == 2)
        return usage_error(v, "--frames is for videos as files or frames, not for their sound");
    if (frames && !parse_frames(frames, out))
        return usage_error(v, "--frames: '%s' is not A:B or A:B:STEP with A below B", frames);
    return EXIT_FINE;
}

static int run(struct invocation *v) {
    mldf_extract_options extracting = MLDF_EXTRACT_OPTIONS_INIT;
    struct pack_report report;
    struct choice choice;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_reader *reader = NULL;
    mldf_error err;
    const char *out = option_value(v, "o"), *fields = option_value(v, "fields");
    memset(&choice, 0, sizeof choice);
    int code = out ? EXIT_FINE : usage_error(v, "-o DIR is missing");
    if (code == EXIT_FINE && strcmp(out, "-") == 0)
        code = usage_error(v, "-o -: extract fills a folder; cat writes to standard output");
    if (code == EXIT_FINE && fields)
        code = choose_words(v, "--fields", fields, &choice);
    if (code == EXIT_FINE)
        code = parse_videos(v, &extracting);
    if (code == EXIT_FINE)
        code = open_reader_in_order(v, v->files[0], true, &reader);
    if (code == EXIT_FINE) {
        extracting.overwrite = option_given(v, "force");
        extracting.fields = (const char *const *)choice.fields;
        extracting.field_count = choice.field_count;
        extracting.progress = progress_hook;
        pack_report_begin(&report, v);
        if (mldf_extract(reader, out, &extracting, &result, &err) < 0)
            code = report_error(v, v->files[0], &err);
        else
            pack_report_end(&report, &result, "extracted", out);
    }
    mldf_reader_close(reader);
    free_choice(&choice);
    return code;
}

const struct command command_extract = {
    "extract",
    "FILE -o DIR",
    "samples as files in a folder",
    "Writes each payload to a separate file, named by the sample's key or its number: .txt for text, .json for JSON, .npy\n"
    "for arrays, .bin for bytes, .wav for recordings. Images are named for what they are (.jpg, .png, .webp, .bmp, .tif), once if\n"
    "the key says it already; raw pixels become PNG. Videos of packets become MP4 or MKV, with the same packets; videos of frames a folder of\n"
    "images: KEY/000000.jpg and so on. Where two fields have the same ending, the names are KEY.FIELD.EXT. A slash in a key makes\n"
    "folders; a dot at the beginning of a name and what else could mislead is written as %XX. manifest.jsonl has one line for\n"
    "each sample: its key, its numbers and structs, and the names of its files. The folder appears whole or not at all.\n"
    "\n"
    "With --json, one object: written, skipped, warnings, bytes (of the files), seconds.",
    options,
    "  mldf extract train.mldf -o train/\n"
    "  mldf extract films.mldf -o stills/ --videos frames --frames 0:300:30\n",
    1,
    1,
    run,
};
