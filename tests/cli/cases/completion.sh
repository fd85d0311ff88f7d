# Completion, as bash runs it: commands, options and the words that options take.
. "$source_dir/completions/mldf.bash"
complete_words() { # WORD...: what is offered for the last one
    local COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    "_$1" 2>/dev/null
    echo "${COMPREPLY[@]}"
}
offers() { # EXPECTED WORD...
    local want=$1 got
    shift
    got=$(complete_words "$@")
    [ "$got" = "$want" ] || complain "completion of '$*' offers '$got', not '$want'"
}
offers 'pack' mldf pac
offers '--order' mldf bench x.mldf --ord
offers 'random' mldf bench x.mldf --order ra
offers 'random' mldf bench x.mldf --order = ra
offers 'sequential random quasi-random' mldf bench x.mldf --order ''
offers 'stop skip substitute' mldf bench --on-error = ''
offers 'stop skip' mldf pack --on-error = ''
offers 'mldf 1.0 tbl beton' mldf plan --to ''
offers 'tar tar.gz tar.zst' mldf convert x --to ta
offers 'fast-jpeg' mldf convert x.mldf --encode fa
touch photo.mldf
offers 'photo.mldf' mldf info pho
offers '' mldf split photo.mldf --seed pho
offers '--v1 --v2' tar_to_tbl --v
offers '' tar_to_tbl --key
# Every word that is offered is one that the help of the command names.
for command in $(complete_words mldf ''); do
    [[ $command == -* ]] && continue
    mldf "$command" --help >help.txt || complain "mldf $command --help"
    for option in $(_mldf_options "$command"); do
        for word in $(_mldf_values "$command" "${option%=}"); do
            check grep -qE -- "(^|[^a-z0-9.-])$word([^a-z0-9-]|$)" help.txt
        done
    done
    # ... and the words of a choice that the help shows as a|b are offered.
    grep -oE -- '--[a-z0-9-]+ [a-z0-9.-]+(\|[a-z0-9.-]+)+' help.txt | while read -r option words; do
        [ "$(_mldf_values "$command" "$option")" = "${words//|/ }" ] || complain "mldf $command $option takes $words, completion says $(_mldf_values "$command" "$option")"
    done
done
