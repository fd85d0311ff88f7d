/* mldf pack: folders of images or recordings, tables and tar archives into a new file. image_options.c reads what concerns images. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

static const struct option_spec options[] = {
    {'o', "output", "OUT", NULL},
    {'o', NULL, "OUT", "the file to write, or - for standard output; refused when it exists, unless -f is given"},
    {'f', "force", NULL, NULL},
    {'f', NULL, NULL, "replace an existing OUT"},
    {0, "schema", "FILE", "the fields and their types: a JSON file, or JSON that begins with { or ["},
    {0, "format", "FORMAT",
     "csv, tsv, jsonl, tar, or text with --text (default: by the name's ending, else by the first bytes)"},
    {0, "delimiter", "C", "of CSV: one character, or tab (default: by the first two lines)"},
    {0, "layout", "LAYOUT",
     "of a folder: flat, classes (sub-folders are classes), frames (each folder of images is a video), or auto (default)"},
    {0, "fps", "N", "--layout frames: frames a second, 30, 29.97 or 30000/1001 (default 1)"},
    {0, "key-column", "NAME", "the column that holds the sample keys; it becomes no field"},
    {0, "files", "COLUMN", "the cells of this column name files, images or recordings; may be repeated"},
    {0, "root", "DIR", "where the paths in a table begin (default: the table's own folder)"},
    {0, "allow-outside", NULL, "paths in a table may lead out of that folder"},
    {0, "on-error", "stop|skip", "a row or image that does not fit: stop (default), or leave it out and list it"},
    {0, "encode", "HOW",
     "images: keep (default), jpeg, raw, smart, proportion, yuv420 or fast-jpeg; recordings: flac, opus or pcm"},
    {0, "quality", "N", "of the JPEG that --encode makes, 1 to 100 (default 90)"},
    {0, "max-resolution", "N", "shrink images whose longer side has more pixels"},
    {0, "min-resolution", "N", "shrink images whose shorter side has more pixels"},
    {0, "smart-threshold", "BYTES",
     "--encode smart: JPEG where the raw pixels take more than this; K, M and G may follow"},
    {0, "compress-probability", "P", "--encode proportion: the share that becomes JPEG, 0 to 1 (default 0.5)"},
    {0, "fast-limit", "X",
     "--encode fast-jpeg: keep the JPEG where the result has more than X times its size (default 1.03)"},
    {0, "baseline", NULL, "turn progressive JPEG into baseline, without loss: it decodes faster"},
    {0, "icc", "keep|card|drop", "colour profiles: in the images (default), in the card, or nowhere"},
    {0, "orientation", "record|apply", "the EXIF orientation: keep it in the record (default), or turn the pixels"},
    {0, "bitrate", "N", "--encode opus: bits a second, 6000 to 510000"},
    {0, "no-decode", NULL, "do not decode compressed recordings while packing: samples are counted from headers"},
    {0, "keep-file", NULL, "keep the whole file where a recording's packets do not give it back: Ogg, MP4"},
    {0, "check", NULL, "decode every image while packing: one that is damaged is an error"},
    {0, "rate", "HZ", "recordings: resample to so many samples a second; stored as PCM"},
    {0, "mono", NULL, "recordings: mix the channels to one; stored as PCM"},
    {0, "cut", NULL,
     "corpora: a sample for each utterance, cut out of its recording; without it a sample is a recording with segments"},
    {0, "text", "FIELD[=NAME]", "turn this column or extension into tokens, as the field NAME (default: tokens)"},
    {0, "tokenizer", "TOKENIZER", "bytes, sp:MODEL, or exec:COMMAND (a program, started without a shell)"},
    {0, "eos", "[ID]", "end every document with this id; without a number, with the tokenizer's eos"},
    {0, "bos", "[ID]", "begin every document with this id; without a number, with the tokenizer's bos"},
    {0, "utf8", "refuse|replace", "text that is not UTF-8: an error (default), or U+FFFD for the broken bytes"},
    {0, "tokenizer-timeout", "SECONDS", "for one answer of the program (default 300)"},
    {0, "tokenizer-processes", "N", "run the program N times side by side (default 1)"},
    {0, "compress", "FIELD[=LEVEL]", "compress this field with zstd, level 1 to 22 (default 3); may be repeated"},
    {0, "dictionary", NULL, "train one zstd dictionary for the compressed fields: for many small values"},
    {0, "encrypt", "KEYFILE",
     "encrypt with this key; --passphrase-file encrypts under a passphrase; payloads are hidden, but keys,\n"
     "                           labels, names of fields and card stay readable (mldf keygen makes a key file)"},
    {0, "encrypt-all", NULL,
     "encrypt names of fields, labels, keys and card too; opening then reads all tables, and needs the key"},
    {0, "card", "FILE", "a JSON object that describes the dataset"},
    {0, "page-size", "N", "a power of two from 4096 to 2G; K, M and G may follow (default: automatic)"},
    {0, "no-checksums", NULL, "leave the checksums out"},
    {0, "resume", NULL, "keep OUT.partial when interrupted, and go on from it; the result is the same"},
    {'j', "workers", "N", "threads; by default the CPUs this process may use, 0: one thread"},
    {0, NULL, NULL, NULL},
};

/* Memory that the options point into. */
struct pack_texts {
    mldf_writer_options writing;
    struct writer_extras extras;
    mldf_schema *schema;
    mldf_buffer images, audio;
    const char **compress, **files;
    mldf_tokenize_options tokenize;
};

/* The new file's secret: --encrypt, or what --key and --passphrase-file say. */
static int choose_pack_secret(const struct invocation *v, mldf_writer_options *writer) {
    bool given = v->secret.key || v->secret.passphrase;
    if (given && option_given(v, "encrypt"))
        return usage_error(v, "--encrypt cannot be given together with --key or --passphrase-file");
    if (given)
        writer->secret = v->secret;
    return EXIT_FINE;
}

static int pack(struct invocation *v, const char *out, mldf_pack_options *packing) {
    struct pack_report report;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_error err;
    pack_report_begin(&report, v);
    packing->skip = pack_report_skip;
    packing->skip_user = &report;
    packing->warn = pack_report_warning;
    packing->warn_user = &report;
    packing->left_out = pack_report_left_out;
    packing->left_out_user = &report;
    if (mldf_pack(v->files, v->file_count, out, packing, &result, &err) < 0) {
        pack_report_failed(&report);
        return report_error(v, NULL, &err);
    }
    pack_report_end(&report, &result, "written", strcmp(out, "-") == 0 ? "(standard output)" : out);
    return EXIT_FINE;
}

/* 30, 23.976 (which is 24000/1001) or 30000/1001. */
static int parse_fps(struct invocation *v, mldf_pack_options *packing) {
    const char *text = option_value(v, "fps");
    char *end = NULL;
    if (!text)
        return EXIT_FINE;
    bool is_decimal = *text >= '0' && *text <= '9' && strspn(text, "0123456789./") == strlen(text);
    double rate = is_decimal ? strtod(text, &end) : 0;
    uint64_t num = 0, den = 1;
    if (end && *end == '/') {
        char *slash;
        num = strtoull(text, &slash, 10);
        num = slash == end ? num : 0;
        den = end[1] >= '0' && end[1] <= '9' ? strtoull(end + 1, &end, 10) : 0;
    } else if (rate > 0 && rate < 1e6) {
        const uint64_t whole = (uint64_t)(rate * 1.001 + 0.5);
        const double off = (double)whole * 1000 / 1001 - rate;
        const bool is_whole = rate == (double)(uint64_t)rate, ntsc = !is_whole && off < 0.002 && off > -0.002;
        num = is_whole ? (uint64_t)rate : ntsc ? whole * 1000 : (uint64_t)(rate * 1000 + 0.5);
        den = is_whole ? 1 : ntsc ? 1001 : 1000;
    }
    if (!end || *end || num == 0 || den == 0 || num > UINT32_MAX || den > UINT32_MAX)
        return usage_error(v, "--fps: '%s' is not a number of frames a second, such as 30, 29.97 or 30000/1001", text);
    packing->fps_num = (uint32_t)num;
    packing->fps_den = (uint32_t)den;
    return EXIT_FINE;
}

/* What the options say, one step after the other; the first that makes no sense ends it. */
static int read_options(struct invocation *v, mldf_pack_options *packing, struct pack_texts *texts) {
    const char *schema = option_value(v, "schema");
    int code = EXIT_FINE;
    if (!parse_on_error(v, &packing->skip_bad_rows) || !parse_format(v, &packing->format) ||
        !parse_layout(v, &packing->layout) || !parse_delimiter(v, &packing->delimiter))
        code = EXIT_USAGE;
    if (code == EXIT_FINE)
        code = parse_fps(v, packing);
    if (code == EXIT_FINE)
        code = fill_writer_options(v, &texts->writing, &texts->extras);
    if (code == EXIT_FINE)
        code = choose_pack_secret(v, &texts->writing);
    if (code == EXIT_FINE)
        code = image_arguments(v, &texts->images);
    if (code == EXIT_FINE)
        code = audio_arguments(v, &texts->audio);
    if (code == EXIT_FINE && schema)
        code = load_schema(v, schema, &texts->schema);
    if (code == EXIT_FINE)
        code = tokenize_options(v, packing, &texts->tokenize);
    if (code == EXIT_FINE)
        code = collect(v, "compress", &texts->compress, &packing->compress_count);
    if (code == EXIT_FINE)
        code = collect(v, "files", &texts->files, &packing->file_column_count);
    if (code != EXIT_FINE)
        return code;
    packing->writer = &texts->writing;
    packing->image_arguments = texts->images.size ? (const char *)texts->images.data : NULL;
    packing->audio_arguments = texts->audio.size ? (const char *)texts->audio.data : NULL;
    packing->compress_fields = texts->compress;
    packing->file_columns = texts->files;
    packing->file_root = option_value(v, "root");
    packing->allow_outside = option_given(v, "allow-outside");
    packing->schema = texts->schema;
    packing->resume = option_given(v, "resume");
    packing->key_column = option_value(v, "key-column");
    texts->writing.check_values = option_given(v, "check");
    packing->cut = option_given(v, "cut");
    packing->audio_mono = option_given(v, "mono");
    const char *rate = option_value(v, "rate");
    uint64_t hertz = 0;
    if (rate && (!parse_count(v, "--rate", rate, &hertz) || hertz == 0 || hertz > UINT32_MAX / 2))
        return usage_error(v, "--rate: a number of samples a second, not %s", rate);
    packing->audio_rate = (uint32_t)hertz;
    return EXIT_FINE;
}

static int run(struct invocation *v) {
    mldf_pack_options packing = MLDF_PACK_OPTIONS_INIT;
    struct pack_texts texts;
    const char *out = option_value(v, "o");
    memset(&texts, 0, sizeof texts);
    texts.writing = (mldf_writer_options)MLDF_WRITER_OPTIONS_INIT;
    texts.tokenize = (mldf_tokenize_options)MLDF_TOKENIZE_OPTIONS_INIT;
    int code = check_output(v, out);
    if (code == EXIT_FINE)
        code = check_out_is_no_option(v, out);
    if (code == EXIT_FINE)
        code = read_options(v, &packing, &texts);
    if (code == EXIT_FINE)
        code = pack(v, out, &packing);
    close_tokenizer(v, texts.tokenize.tokenizer, code == EXIT_FINE);
    free(texts.compress);
    free(texts.files);
    mldf_buffer_free(&texts.images);
    mldf_buffer_free(&texts.audio);
    mldf_schema_free(texts.schema);
    free_writer_extras(&texts.extras);
    return code;
}

const struct command command_pack = {
    "pack",
    "SRC... -o OUT",
    "make a file from a folder of images or recordings, tables or tar archives",
    "Makes one new file of sources that are all of one kind.\n"
    "\n"
    "Folders: every image below becomes a sample with the field image; its key is its path. When images lie only in\n"
    "sub-folders, the first of these names the class: the field label is its number, the card's \"classes\" has the names.\n"
    "Hidden files, notes and tables (.txt, .csv, .json ...) are left out; -v names them. What an image is, its bytes say.\n"
    "Folders of recordings (WAV, FLAC, MP3, Opus, Vorbis) are packed the same way, with the field audio: compressed files as\n"
    "the packets they are made of. Images and recordings in one folder are an error.\n"
    "Folders of videos (MP4, MKV, WebM, MOV, AVI, MPEG-TS) too, with the field video: the packets of images and sound as they are.\n"
    "--layout frames: every folder of images is a video, frame by frame, in the order of the numbers in their names.\n"
    "Transcripts beside them become fields: LibriSpeech's *.trans.txt, or a .txt, .lab or .json of the same name.\n"
    "\n"
    "Speech corpora: a Kaldi folder (wav.scp, segments, text, utt2spk), lhotse's cuts (JSON lines, also .gz) or a Shar folder,\n"
    "a table of Common Voice, a manifest of NeMo, a table with one --files column and start and duration in seconds.\n"
    "A sample is a recording with segments, or with --cut an utterance. Commands in manifests are never run.\n"
    "\n"
    "CSV, TSV and JSON lines: a sample for each row; all sources must have the same columns. A source named - is standard\n"
    "input. Without a schema the type of each column comes from the first 10,000 rows: integers, floats, booleans, text;\n"
    "nested values as JSON; lists of numbers of one length as arrays. Numbers beyond 64 bits and numbers with leading zeros\n"
    "are text. An empty CSV cell is a null, or an empty text in a text column. A later row that does not fit is an error\n"
    "that names file, line and column. Cells of fields of images or\n"
    "recordings and of --files columns are paths of files to read.\n"
    "\n"
    "tar archives (plain, gzip, zstd, bzip2, xz; - with --format tar): a sample for each key, a field for each extension.\n"
    "\n"
    "--text with --tokenizer makes tokens of one field: a column, an extension; of folders every file is a document, and so is\n"
    "a source named .txt or .md (or any with --format text). Strings of special tokens inside documents are text. The file keeps\n"
    "the tokenizer's name and SHA-256, its vocabulary and ids.\n"
    "\n"
    "With --json, one object: written, skipped and warnings (source, message), bytes, seconds.",
    options,
    "  mldf pack photos/ -o photos.mldf\n"
    "  mldf pack photos/ -o small.mldf --max-resolution 512 --encode jpeg --on-error=skip\n"
    "  mldf pack speech/ -o speech.mldf\n"
    "  mldf pack kaldi/data/train --allow-outside --rate 16000 -o train.mldf\n"
    "  mldf pack train.csv --files image -o train.mldf\n"
    "  mldf pack 'shard-{000..009}.tar' -o all.mldf\n"
    "  mldf pack corpus.jsonl --text text --tokenizer 'exec:python3 -m mldf.tokenize tokenizer.json' --eos -o c.mldf\n"
    "  zcat rows.csv.gz | mldf pack - --format csv -o rows.mldf\n",
    1,
    -1,
    run,
};
