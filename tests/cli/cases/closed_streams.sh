# A program that is started without stdin, stdout or stderr must not give their numbers to its files: what it says would go into them.
mkdir pics
for i in 1 2 3; do cp "$source_dir/tests/data/images/rgb.jpg" pics/$i.png; done # each one warns: the name says PNG
mldf pack pics -o good.mldf -q
for closed in '2>&-' '>&-' '<&-' '>&- 2>&-' '<&- 2>&-' '<&- >&- 2>&-'; do
    for threads in 0 2; do
        eval "mldf pack pics -o out.mldf -f -v -j $threads $closed" 2>/dev/null || complain "pack $closed: exit code $?"
        check cmp good.mldf out.mldf
    done
    cp good.mldf grown.mldf
    eval "mldf append grown.mldf pics -v $closed" 2>/dev/null && complain "append $closed: the keys are there already"
    check cmp good.mldf grown.mldf
done
# A result that cannot be printed is still an error, and so is a source that cannot be read.
expect_error 3 'standard output' bash -c '"$0" info good.mldf >&-' "$MLDF"
expect_error 3 'standard input' bash -c '"$0" pack - -o x.mldf <&-' "$MLDF"
check test ! -e x.mldf
