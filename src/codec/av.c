/* See av.h. This file keeps no state: it asks the system's loader for a module each time, and the loader knows what is loaded. */
#include "codec/av.h"

#include "os/module.h"
#include "util/error.h"

#define TEXT_OF(x) #x
#define MAJOR_TEXT(x) TEXT_OF(x)
#if !defined(MLDF_AV_MAJOR)
#define MLDF_AV_MAJOR 59
#endif

static mldf_status check(const void *module, uint32_t abi, const char *name, const char *text, mldf_error *err) {
    if (!module)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "%s: %s", name, text);
    if (abi != AV_MODULE_ABI)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED, "%s belongs to another version of mldf (%u, and this is %d)", name,
                          (unsigned)abi, AV_MODULE_ABI);
    return MLDF_OK;
}

mldf_status mldfi_av_decode_module(const struct av_decode_module **out, mldf_error *err) {
    static const char name[] = "libmldf-av-" MAJOR_TEXT(MLDF_AV_MAJOR) ".so";
    const struct av_decode_module *(*get)(char text[AV_TEXT]);
    char text[AV_TEXT] = "";
    void *symbol;
    TRY(mldfi_module_symbol(name, AV_DECODE_SYMBOL, &symbol, err));
    __builtin_memcpy(&get, &symbol, sizeof get);
    *out = get(text);
    return check(*out, *out ? (*out)->abi : 0, name, text, err);
}

mldf_status mldfi_av_file_module(const struct av_file_module **out, mldf_error *err) {
    static const char name[] = "libmldf-avformat-" MAJOR_TEXT(MLDF_AV_MAJOR) ".so";
    const struct av_file_module *(*get)(char text[AV_TEXT]);
    char text[AV_TEXT] = "";
    void *symbol;
    TRY(mldfi_module_symbol(name, AV_FILE_SYMBOL, &symbol, err));
    __builtin_memcpy(&get, &symbol, sizeof get);
    *out = get(text);
    return check(*out, *out ? (*out)->abi : 0, name, text, err);
}
