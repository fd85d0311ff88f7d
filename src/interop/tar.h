/* tar archives, and the samples that WebDataset sees in them.
 *
 *     tar_input.c   bytes: memory, a descriptor or any function; gzip, zstd, bzip2 and xz are recognised and undone (tar_unpack.c)
 *     tar_read.c    members: ustar, GNU and PAX headers          tar_write.c   the other way, tar_squeeze.c compressed
 *     tar_group.c   samples: members whose names agree up to the first dot
 *     tar_index.c   all samples of an archive in memory          tar_shards.c  data-{000..009}.tar
 *     tar_stream.c  a compressed archive, sample after sample
 *     tar_field.c   what an extension stands for                 tar_sidecar.c the index in a file beside the archive
 *     tar_about.c   schema and card of an archive of ours        tar_value.c   values out of parts
 *     tar_npz.c     arrays in .npz members
 *
 * "0001.jpg", "0001.cls", "0001.json" are three parts of the sample "0001". */
#ifndef MLDF_INTEROP_TAR_H
#define MLDF_INTEROP_TAR_H

#include <pthread.h>
#include <stdatomic.h>

#include "field/field.h"
#include "field/npy.h"
#include "mldf/base.h"

enum { TAR_BLOCK = 512, TAR_RECORD = 10240, TAR_ENDING_MAX = 30 };
enum { TAR_LOOKED = 10000 }; /* samples that say what the arrays of a field have in common */
/* The field of bytes that an archive without files gets where a dataset must have one. */
#define TAR_EMPTY_FIELD "bin"
/* A member of a compressed archive that is read as a stream is held in memory, and a few kilobytes can unpack to all there is. */
#define TAR_STREAMED_MEMBER_MAX (UINT64_C(4) << 30)

/* ---- Bytes ---------------------------------------------------------------------------------------------------------- */

struct tar_input;
/* Up to `room` bytes to dst; *got = 0 at the end. */
typedef mldf_status (*tar_pull_fn)(void *user, void *dst, size_t room, size_t *got, mldf_error *err);

/* The memory must outlive the input. Plain tar in memory is used in place, without a copy. */
mldf_status mldfi_tar_input_memory(struct tar_input **out, const void *data, uint64_t bytes, mldf_error *err);
/* Reads on from where the descriptor stands; does not close it. A pipe is fine. */
mldf_status mldfi_tar_input_fd(struct tar_input **out, int fd, mldf_error *err);
mldf_status mldfi_tar_input_pull(struct tar_input **out, tar_pull_fn pull, void *user, mldf_error *err);
void mldfi_tar_input_free(struct tar_input *input);

/* A compressed archive that unpacks to more is MLDF_E_LIMIT. */
void mldfi_tar_input_limit(struct tar_input *input, uint64_t unpacked_max);
/* "tar", "tar.gz", "tar.zst", "tar.bz2" or "tar.xz". */
const char *mldfi_tar_input_kind(const struct tar_input *input);
/* Bytes of the archive (not of its compressed form) given so far. */
uint64_t mldfi_tar_input_position(const struct tar_input *input);
/* Fewer than `want` only at the end. */
mldf_status mldfi_tar_input_read(struct tar_input *input, void *dst, size_t want, size_t *got, mldf_error *err);
mldf_status mldfi_tar_input_skip(struct tar_input *input, uint64_t want, uint64_t *got, mldf_error *err);
/* Plain tar in memory: the next `want` bytes in place, *data NULL when there are fewer. False for other inputs. */
bool mldfi_tar_input_borrow(struct tar_input *input, uint64_t want, const uint8_t **data);

/* ---- Members -------------------------------------------------------------------------------------------------------- */

typedef void (*tar_warning_fn)(void *user, const char *message);

struct tar_member {
    const char *name; /* terminated; valid until the next call */
    size_t name_bytes;
    uint64_t size;
    uint64_t header_offset; /* of its first header, long names included */
    uint64_t offset;        /* of its content */
};

/* Do the bytes begin with a tar header: "ustar", or an older one whose checksum fits? Text never does. */
bool mldfi_tar_is(const void *data, uint64_t bytes);

struct tar_reader;
/* The input must outlive the reader. warn may be NULL. */
mldf_status mldfi_tar_reader_new(struct tar_reader **out, struct tar_input *input, tar_warning_fn warn, void *user,
                                 mldf_error *err);
void mldfi_tar_reader_free(struct tar_reader *reader);
/* The next file; MLDF_END after the last. What is left of the content before it is skipped. Folders are passed over, links and
 * devices with a warning; sparse files are MLDF_E_UNSUPPORTED. An archive that ends between two members, without its
 * end mark, ends with a warning; one that ends elsewhere is MLDF_E_TRUNCATED. */
mldf_status mldfi_tar_next(struct tar_reader *reader, struct tar_member *out, mldf_error *err);
/* The whole content of the current member: in place, or in `scratch`. Memory grows with what really comes. */
mldf_status mldfi_tar_content(struct tar_reader *reader, mldf_buffer *scratch, const uint8_t **data, mldf_error *err);
/* A piece of it; *got = 0 after its end. */
mldf_status mldfi_tar_read(struct tar_reader *reader, void *dst, size_t room, size_t *got, mldf_error *err);

/* ---- Samples -------------------------------------------------------------------------------------------------------- */

/* Cuts a name as WebDataset does: the key ends at the first dot after the last slash, the extension is the rest. False: no
 * part of a sample (no dot, nothing before or behind it, or one of WebDataset's own, "__name__"). */
bool mldfi_tar_split(const char *name, size_t bytes, size_t *key_bytes, size_t *extension_at);

/* Keys are UTF-8. WebDataset takes others too, so an archive with such a key opens, and its values are read; what needs the key itself
 * gets this error, which names the member: `offset` is the place of its content. */
mldf_status mldfi_tar_check_key(const char *key, size_t bytes, uint64_t offset, mldf_error *err);

/* See TAR_STREAMED_MEMBER_MAX; offset is the header's. */
mldf_status mldfi_tar_member_too_large(const char *name, uint64_t bytes, uint64_t offset, mldf_error *err);

/* The type of the field that an extension stands for, by what is behind its last dot: "seg.png" is an image too. */
uint16_t mldfi_tar_type(const char *extension);
/* The same for types that are made from files, and what such a part may be; ARCHIVE_BYTES: it stands for none. */
archive_part mldfi_tar_file(const char *extension, const struct field_type **type);
/* The number in a ".cls"; white space around it does not count. */
mldf_status mldfi_tar_integer(const uint8_t *data, uint64_t bytes, int64_t *out, mldf_error *err);

struct tar_part {
    const char *extension; /* lower case, terminated: "jpg", "seg.png" */
    const uint8_t *data;
    uint64_t bytes;
    uint64_t offset;      /* of the content in the archive */
    uint64_t known_bytes; /* in data: fewer than `bytes` with headers_only */
};

struct tar_sample {
    const char *key; /* terminated */
    size_t key_bytes;
    const struct tar_part *parts; /* in the archive's order */
    size_t part_count;
    uint64_t header_offset;
};

struct tar_group_options {
    uint64_t member_max;  /* a larger member is MLDF_E_LIMIT; 0: no limit */
    uint64_t decoded_max; /* the same for members of compressed archives; 0: no limit */
    bool
        repeated_keys; /* a key may come again later (as another sample); saves about 50 bytes of memory for each sample */
    bool headers_only; /* no content is read, but the first NPY_HEAD_MAX bytes of arrays */
    tar_warning_fn warn;
    void *user;
};

/* Puts samples together, over any number of archives (shards). Everything it gives is valid until its next call. */
struct tar_group;
mldf_status mldfi_tar_group_new(struct tar_group **out, const struct tar_group_options *options, mldf_error *err);
void mldfi_tar_group_free(struct tar_group *group);
/* Samples now come from `input`, under the name `shard` in messages (copied). */
mldf_status mldfi_tar_group_begin(struct tar_group *group, struct tar_input *input, const char *shard, mldf_error *err);
/* MLDF_END after the shard's last sample. Errors name the last sample that was whole. */
mldf_status mldfi_tar_group_next(struct tar_group *group, struct tar_sample *out, mldf_error *err);
/* Files so far that are no part of a sample. */
uint64_t mldfi_tar_group_passed_over(const struct tar_group *group);

/* ---- A plain archive in memory, by number and by key ------------------------------------------------------------------ */

struct tar_index_part {
    uint64_t offset, bytes;
    uint32_t extension; /* number in tar_index.extensions */
};
struct tar_index_sample {
    uint64_t first_part;
    uint64_t key_at; /* in tar_index.keys, terminated */
    uint32_t part_count, key_bytes;
};
struct name_set;

struct tar_index {
    const uint8_t *data;  /* NULL: of a stream */
    bool made;            /* the lock is */
    uint64_t passed_over; /* files that are no part of a sample */
    struct tar_index_sample *samples;
    size_t sample_count, sample_capacity;
    struct tar_index_part *parts;
    size_t part_count, part_capacity;
    char **extensions; /* every one that occurs, in the order of its first use */
    size_t extension_count, extension_capacity;
    mldf_buffer keys;
    struct npy_common
        *arrays; /* what the first TAR_LOOKED samples say, for each extension; NULL: they have no arrays */
    size_t array_capacity;
    struct name_set *by_extension;
    pthread_mutex_t lock; /* guards the making of by_key, by the first that asks */
    atomic_bool keys_ready;
    struct name_set *by_key; /* NULL when ready: there was no memory, and keys are searched one by one */
};

/* An empty one, for tar_index.c and tar_sidecar.c to fill. */
void mldfi_tar_index_init(struct tar_index *index, const void *data);
/* One pass over the headers; O(members) memory. Compressed archives are MLDF_E_UNSUPPORTED. */
mldf_status mldfi_tar_index_build(struct tar_index *index, const void *data, uint64_t bytes, tar_warning_fn warn,
                                  void *user, mldf_error *err);
/* The same of any input, read to its end; no content is kept. */
mldf_status mldfi_tar_index_read(struct tar_index *index, struct tar_input *input, tar_warning_fn warn, void *user,
                                 mldf_error *err);
void mldfi_tar_index_free(struct tar_index *index);
/* Looks at the headers of the arrays of the first TAR_LOOKED samples, if nobody has; a stream's were looked at on the way. */
mldf_status mldfi_tar_index_arrays(struct tar_index *index, mldf_error *err);
/* Number of the sample with this key, or MLDF_NONE. */
uint64_t mldfi_tar_index_find(struct tar_index *index, const char *key, size_t bytes);

/* ---- Names of shards -------------------------------------------------------------------------------------------------- */

struct tar_shards {
    char **paths;
    size_t count, capacity;
};
/* "a-{000..002}.tar" or "{train,val}.tar", any number of them in one pattern; without braces: the pattern itself. */
mldf_status mldfi_tar_shards_expand(struct tar_shards *out, const char *pattern, mldf_error *err);
void mldfi_tar_shards_free(struct tar_shards *shards);

/* ---- Writing ---------------------------------------------------------------------------------------------------------- */

/* ustar, with a PAX header where a name or a size needs it. The same input gives the same bytes: no times, no users. */
struct tar_writer;
/* A file that appears under its name when finished. */
mldf_status mldfi_tar_writer_open(struct tar_writer **out, const char *path, bool overwrite, mldf_error *err);
/* Straight to a descriptor, a pipe for instance; not closed. */
mldf_status mldfi_tar_writer_fd(struct tar_writer **out, int fd, mldf_error *err);
typedef enum tar_compression { TAR_PLAIN, TAR_GZIP, TAR_ZSTD } tar_compression;
/* Before the first member: the archive is compressed on its way out. */
mldf_status mldfi_tar_writer_compress(struct tar_writer *writer, tar_compression kind, mldf_error *err);
mldf_status mldfi_tar_writer_add(struct tar_writer *writer, const char *name, const void *data, uint64_t bytes,
                                 mldf_error *err);
/* The same in pieces: begin with the size, then exactly that many bytes. */
mldf_status mldfi_tar_writer_begin(struct tar_writer *writer, const char *name, uint64_t bytes, mldf_error *err);
mldf_status mldfi_tar_writer_write(struct tar_writer *writer, const void *data, uint64_t bytes, mldf_error *err);
/* Can key.extension be a member that is read back as this key and this extension? */
mldf_status mldfi_tar_writer_check(struct tar_writer *writer, const char *key, const char *extension, mldf_error *err);
/* The member key.extension. A key that would be cut elsewhere when read back (a dot after its last slash) is refused. */
mldf_status mldfi_tar_writer_part(struct tar_writer *writer, const char *key, const char *extension, const void *data,
                                  uint64_t bytes, mldf_error *err);
mldf_status mldfi_tar_writer_file(struct tar_writer *writer, const char *key, const char *extension,
                                  const struct exported *file, mldf_error *err);
/* Of the archive so far; of the finished file, compressed or not. */
uint64_t mldfi_tar_writer_bytes(const struct tar_writer *writer);
mldf_status mldfi_tar_writer_finish(struct tar_writer *writer, mldf_error *err);
void mldfi_tar_writer_free(struct tar_writer *writer);

#endif
