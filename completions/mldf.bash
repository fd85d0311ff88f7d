# bash completion of mldf. Installed as share/bash-completion/completions/mldf, which bash-completion loads by name.

_mldf_options() { # command
    local common="--help --json --key --max-decoded --max-unpacked --passphrase-file -q -v"
    local reading="-n --range --samples --keys --fields --raw --full"
    local writing="-o -f -j --workers --compress --page-size --encrypt --encrypt-all --no-checksums --dictionary --card"
    case $1 in
    info) echo "$common --keep-index --view" ;;
    head | cat) echo "$common $reading --view --tokenizer --tokenizer-timeout" ;;
    verify) echo "$common --deep -j --workers" ;;
    diff) echo "$common --max --layout" ;;
    plan) echo "$common --samples --schema --payload-bytes --page-size --no-checksums --to" ;;
    pack)
        echo "$common $writing --schema --format --layout --fps --delimiter --key-column --files --root --allow-outside --on-error= --resume" \
            "--encode --quality --max-resolution --min-resolution --smart-threshold --compress-probability --text --tokenizer --eos --bos --utf8 --tokenizer-timeout --tokenizer-processes --fast-limit --baseline" \
            "--icc --orientation --check --bitrate --no-decode --keep-file --cut --mono --rate"
        ;;
    append) echo "$common -j --workers --format --layout --delimiter --key-column --number-keys --on-error=" \
            "--text --tokenizer --eos --bos --utf8 --tokenizer-timeout --tokenizer-processes" ;;
    stats) echo "$common --svg -f" ;;
    merge) echo "$common $writing --decrypt" ;;
    split) echo "$common $writing --decrypt --count --bytes --fractions --names --by --shuffle --seed" ;;
    select) echo "$common $writing --decrypt --fields --samples --keys --where" ;;
    extract) echo "$common -o -f --fields --videos --frames" ;;
    add-field) echo "$common -j --workers --schema --format --column --key-column --compress" ;;
    plan-tokens) echo "$common --length --field --algorithm --align --long --max-pieces --seed --bos --eos" ;;
    repack) echo "$common $writing --decompress --decrypt" ;;
    repair) echo "$common -o -f -j --workers" ;;
    keygen) echo "$common" ;;
    clean) echo "$common --dry-run --other-hosts" ;;
    convert) echo "$common $writing --from --dtype --eos --eos-at --vocabulary --to --fields --drop-fields --on-error= --lz4 --dataset-version --created --decrypt" ;;
    bench)
        echo "$common -p --pipeline --view --batch-size --order --seed --block --window --epochs --last --bucket-window --budget -j" \
            "--threads --in-flight --backend --direct --no-prefetch --forget-behind --on-error= --isa --exact --reference" \
            "--codegen --hash --explain"
        ;;
    tar_to_tbl) echo "--help --json --max-decoded --max-unpacked -q -v --v1 --v2 --lz4 --no-compress --dataset-version --created -f -j --workers" \
            "--threads" ;;
    esac
}

_mldf_values() { # command option: the words that it takes
    case $1:$2 in
    bench:--on-error) echo "stop skip substitute" ;;
    *:--on-error) echo "stop skip" ;;
    *:--order) echo "sequential random quasi-random" ;;
    *:--backend) echo "map read" ;;
    pack:--format) echo "csv tsv jsonl tar text" ;;
    append:--format) echo "csv tsv jsonl tar" ;;
    *:--format) echo "csv tsv jsonl" ;;
    pack:--layout) echo "auto classes flat frames" ;;
    append:--layout) echo "auto classes flat" ;;
    extract:--videos) echo "file frames sound" ;;
    convert:--encode) echo "fast-jpeg jpeg-original" ;;
    *:--encode) echo "keep jpeg raw smart proportion yuv420 fast-jpeg flac opus pcm" ;;
    *:--last) echo "keep drop pad" ;;
    *:--codegen) echo "auto off wait" ;;
    *:--isa) echo "portable sse4 avx2 avx512 neon" ;;
    *:--algorithm) echo "best-fit next-fit concat" ;;
    *:--long) echo "cut truncate drop" ;;
    *:--from) echo "nanogpt olmo datatrove" ;;
    *:--dtype) echo "u8 u16 u32 u64" ;;
    *:--eos-at) echo "start end" ;;
    *:--orientation) echo "record apply" ;;
    *:--icc) echo "keep card drop" ;;
    *:--utf8) echo "refuse replace" ;;
    plan:--to) echo "mldf 1.0 tbl beton" ;;
    *:--to) echo "mldf tbl tbl1 tbl2 beton tar tar.gz tar.zst megatron nanogpt datatrove" ;;
    esac
}

_mldf() {
    local commands="info head cat verify diff stats plan pack append convert merge split select extract add-field plan-tokens repack repair clean bench keygen"
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command="" word i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word != -* ]]; then
            command=$word
            break
        fi
    done
    if [[ -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$current")
        return
    fi
    if [[ $current == = ]]; then
        current=""
    elif [[ $previous == = ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    local values
    values=$(_mldf_values "$command" "$previous")
    if [[ -n $values ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
        return
    fi
    case $previous in
    -n | -j | --workers | --range | --samples | --keys | --page-size | --fields | --raw | --compress | --payload-bytes | \
        --key-column | --max | --dataset-version | --created | --count | --bytes | --fractions | --names | --by | --seed | --where | --column | --eos | --bos | --vocabulary | --length | --align | --text | --view | -p | --pipeline | \
        --delimiter | --quality | --rate | --bitrate | --epochs | --batch-size | --threads | --max-decoded | --max-unpacked)
        return
        ;;
    esac
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_mldf_options "$command")" -- "$current")
        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}

_tar_to_tbl() {
    local current=${COMP_WORDS[COMP_CWORD]}
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_mldf_options tar_to_tbl)" -- "$current")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}

complete -F _mldf mldf
complete -F _tar_to_tbl tar_to_tbl
