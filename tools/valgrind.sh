#!/bin/sh
# tools/valgrind.sh BUILD [TEST...]: C tests under valgrind's memcheck, which sees what the address sanitizer does not: decisions on memory
# that nobody has written. TEST is the end of a program's path, as in reader_test_reader; without one all of the list below, which is
# everything that takes bytes of a file to values or values to bytes.
#
# Not all tests: those of the kernels repeat the same loops millions of times, those that fork or count allocations say nothing more here.
# Random tests have one seed, so that a finding can be repeated. JOBS (1) is how many run at a time.
set -eu

build=$(cd "${1:?the build folder}" && pwd)
shift
MLDF_SOURCE_DIR=$(cd "$(dirname "$0")/.." && pwd)
MLDF_BUILD_DIR=$build
MLDF_TEST_SEED=${MLDF_TEST_SEED:-1}
export MLDF_SOURCE_DIR MLDF_BUILD_DIR MLDF_TEST_SEED
[ $# -gt 0 ] || set -- \
    unit_codec_test_crypt unit_codec_test_image_jpeg unit_codec_test_image_png unit_codec_test_zstd \
    unit_field_test_bytes unit_field_test_image unit_field_test_inline unit_field_test_ndarray unit_field_test_scalar \
    unit_field_test_schema unit_field_test_schema_file unit_field_test_schema_json unit_format_test_descriptor \
    unit_format_test_directory unit_format_test_header unit_format_test_layout unit_format_test_stats unit_loader_test_bad \
    unit_loader_test_batches unit_loader_test_bounds unit_loader_test_boxes unit_loader_test_nulls unit_loader_test_samples \
    unit_pipeline_test_null unit_pipeline_test_ops_samples unit_reader_test_reader unit_reader_test_repair \
    unit_reader_test_verify unit_tool_test_csv unit_tool_test_infer unit_tool_test_pack unit_util_test_json \
    unit_writer_test_keyslots unit_writer_test_measure unit_writer_test_spill unit_writer_test_writer \
    golden_test_vectors_invalid golden_test_vectors_valid interop_test_beton interop_test_tar interop_test_tbl roundtrip_test_tampering

logs=$build/valgrind
rm -rf "$logs"
mkdir -p "$logs"
# shellcheck disable=SC2016 # for the inner shell
printf '%s\n' "$@" | LOGS=$logs BUILD=$build xargs -P "${JOBS:-1}" -I {} sh -c '
    program=$(ls "$BUILD"/tests/*{})
    if valgrind -q --error-exitcode=9 --leak-check=no --fair-sched=try "$program" >"$LOGS/{}" 2>&1; then
        echo "ok {}"
    else
        echo "FAIL {}: $LOGS/{}"
        cat "$LOGS/{}" >&2
        touch "$LOGS/failed"
    fi'
[ ! -e "$logs/failed" ]
