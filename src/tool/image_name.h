/* What can be told of an image file without decoding it. */
#ifndef MLDF_TOOL_IMAGE_NAME_H
#define MLDF_TOOL_IMAGE_NAME_H

#include "mldf/image.h"

typedef void (*image_warning_fn)(void *user, const char *message);

/* Probes the bytes: an error when they are no image that an image field takes. Calls warn for each thing that is odd and yet
 * no error: a name that says another format, more than one frame, an end that is missing. */
mldf_status mldfi_image_look(const char *name, const void *data, size_t bytes, image_warning_fn warn, void *user,
                             mldf_error *err);

/* Does the name end like an image's: ".jpg", ".PNG", ".heic" ...? */
bool mldfi_image_name(const char *name);

#endif
