# Wrong usage: exit code 2, one line on stderr, a suggestion where one is near.
expect 2 mldf <<'END'
--- stderr
mldf: a command is missing; mldf --help lists them
END
expect 2 mldf inof x <<'END'
--- stderr
mldf: no command is named 'inof': did you mean 'info'?
END
expect 2 mldf zzzzzz <<'END'
--- stderr
mldf: no command is named 'zzzzzz'; mldf --help lists them
END
expect 2 mldf info <<'END'
--- stderr
mldf info: a file is missing: usage: mldf info [options] FILE
END
expect 2 mldf info a b <<'END'
--- stderr
mldf info: 'b' is one argument too many: usage: mldf info [options] FILE
END
expect 2 mldf head --feilds a x <<'END'
--- stderr
mldf head: no option is named --feilds: did you mean --fields?
END
expect 2 mldf head -z x <<'END'
--- stderr
mldf head: no option is named -z
END
expect 2 mldf head -n <<'END'
--- stderr
mldf head: -n needs a value: -n COUNT
END
expect 2 mldf head --json=1 x <<'END'
--- stderr
mldf head: --json takes no value
END
expect 2 mldf verify -j 99999 x <<'END'
--- stderr
mldf verify: -j: 99999 threads are too many; the limit is 1024
END
expect 2 mldf pack a.csv <<'END'
--- stderr
mldf pack: -o OUT is missing
END
expect 2 mldf pack a.csv -o x --on-error=maybe <<'END'
--- stderr
mldf pack: --on-error: 'maybe' is neither stop nor skip
END
expect 2 mldf pack a.csv -o x --page-size 1000 <<'END'
--- stderr
mldf pack: --page-size: '1000' is not a power of two from 4096 to 2G
END
printf '[1]' >card.json
expect 2 mldf pack a.csv -o x --card card.json <<'END'
--- stderr
mldf pack: card.json: a card is one JSON object
END
mkdir folder
expect 1 mldf pack folder -o x <<'END'
--- stderr
mldf pack: folder: there are no images, recordings, videos or files of optical flow in this folder
END
expect 2 mldf plan --samples 1 <<'END'
--- stderr
mldf plan: --schema FILE is missing
END
expect 2 mldf info --key k --passphrase-file p x <<'END'
--- stderr
mldf info: --key and --passphrase-file cannot be given together
END
# What other programs call it; a value glued on with '='; an option before the command.
expect 2 mldf pack a.csv -o x --overwrite <<'END'
--- stderr
mldf pack: no option is named --overwrite: did you mean -f?
END
expect_error 2 'did you mean --workers?' mldf pack a.csv -o x --num_workers=4
expect_error 2 'did you mean --to?' mldf convert a.mldf -o x --format tar
expect_error 2 'did you mean --on-error=skip?' mldf pack a.csv -o x --ignore-errors
expect 2 mldf info x --overwrite <<'END'
--- stderr
mldf info: no option is named --overwrite
END
expect 2 mldf pack a.csv -o=x <<'END'
--- stderr
mldf pack: -o takes its value without '=': -o x
END
check test ! -e =x
expect_error 2 'options follow the command' mldf --json info x
# A name cannot write on the terminal.
expect 3 mldf info $'no\nsuch\033[31m' <<'END'
--- stderr
mldf info: no?such?[31m: cannot be opened: No such file or directory
END
# Help is no error, and every command has it.
for command in info head cat verify diff stats plan pack append merge split select extract add-field plan-tokens repack repair; do
    expect_error 0 '' mldf $command --help
    check grep -q "^Usage: mldf $command " "$work/got.out"
    mldf help $command >help.txt
    check cmp -s help.txt "$work/got.out"
done
expect_error 0 '' mldf --help
expect_error 0 '' mldf --version
check grep -q '^mldf [0-9]' "$work/got.out"
mldf --version >version.txt
expect 0 mldf info --version <version.txt
ln -s "$MLDF" tar_to_tbl
expect 0 ./tar_to_tbl --version <version.txt
# "--" ends the options; options may stand behind the files.
printf 'a\n1\n' >-x.csv
expect_error 0 '' mldf pack -o out.mldf -- -x.csv
expect_error 0 '' mldf info out.mldf --json
# What a field cannot do is the option's mistake, not the data's.
for command in 'pack -- -x.csv' 'repack out.mldf' 'merge out.mldf' 'select out.mldf --samples 0' 'convert out.mldf --to mldf'; do
    # shellcheck disable=SC2086
    expect_error 2 'field "a": type int has no payload to compress' mldf ${command%% *} -o other.mldf --compress a ${command#* }
done
check test ! -e other.mldf
