/* What can be told of a picture file without decoding it. */
#ifndef MLDF_TOOL_IMAGE_NAME_H
#define MLDF_TOOL_IMAGE_NAME_H

#include "mldf/image.h"

typedef void (*picture_warning_fn)(void *user, const char *message);

/* Probes the bytes: an error when they are no picture that an image field takes. Calls warn for each thing that is odd and yet
 * no error: a name that says another format, more than one frame, an end that is missing. */
mldf_status mldfi_picture_look(const char *name, const void *data, size_t bytes, picture_warning_fn warn, void *user,
                               mldf_error *err);

/* Does the name end like a picture's: ".jpg", ".PNG", ".heic" ...? */
bool mldfi_picture_name(const char *name);

#endif
