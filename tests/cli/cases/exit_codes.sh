# The same kind of mistake ends with the same code in every command: 1 the data, 2 the command line, 3 the environment.
printf 'a,b\n1,2\n3,4\n' >t.csv
mldf pack t.csv -o t.mldf -q
head -c 3000 t.mldf >cut.mldf
echo junk >junk.mldf
touch old.mldf
mkdir folder full
touch full/x
mldf keygen k1 2>/dev/null
mldf keygen k2 2>/dev/null
mldf pack t.csv -o enc.mldf --encrypt k1 -q

code() { # CODE COMMAND WITH ARGUMENTS
    local wanted=$1 got
    shift
    rm -rf out*
    mldf "$@" >got.out 2>got.err </dev/null
    got=$?
    [ "$got" -eq "$wanted" ] || complain "mldf $*: exit $got, not $wanted: $(head -n 1 got.err)"
}
inputs() { # CODE FILE [OPTIONS]: every command that reads a file
    local wanted=$1 file=$2
    shift 2
    for command in "head $file" "cat $file" "stats $file" "bench $file" "diff $file t.mldf" \
        "merge $file $file -o out.mldf" "convert $file -o out.mldf" "convert $file -o out.tar" \
        "split $file -o out-%d.mldf --count 2" "select $file -o out.mldf --fields a" "extract $file -o outdir" \
        "append $file t.csv" "repack $file -o out.mldf"; do
        # shellcheck disable=SC2086
        code "$wanted" $command "$@"
    done
}
inputs 3 missing.mldf
inputs 3 folder
inputs 1 junk.mldf
inputs 1 cut.mldf
inputs 3 enc.mldf
inputs 3 enc.mldf --key k2
for command in info verify 'repair -o out.mldf' 'plan-tokens --length 8'; do
    # shellcheck disable=SC2086
    code 3 $command missing.mldf
    # shellcheck disable=SC2086
    code 1 $command junk.mldf
done
while read -r wanted line; do
    # shellcheck disable=SC2086
    code "$wanted" $line
done <<'END'
2 head t.mldf --fields none
2 cat t.mldf --raw none
2 select t.mldf -o out.mldf --fields none
2 select t.mldf -o out.mldf --where none>1
2 convert t.mldf -o out.mldf --fields none
2 convert t.mldf -o out.mldf --compress none
2 pack t.csv -o out.mldf --compress none
2 repack t.mldf -o out.mldf --compress none
2 merge t.mldf t.mldf -o out.mldf --compress none
2 split t.mldf -o out-%d.mldf --count 2 --by none
2 extract t.mldf -o outdir --fields none
2 plan-tokens t.mldf --length 8 --field none
2 bench t.mldf -p none:hflip
2 cat t.mldf --view windows(none,3)
2 bench t.mldf --view windows(none,3)
1 head t.mldf --samples 99
1 cat t.mldf --samples 99
1 select t.mldf -o out.mldf --samples 99
1 cat t.mldf --keys none
1 select t.mldf -o out.mldf --keys none
3 pack t.csv -o old.mldf
3 convert t.mldf -o old.mldf
3 merge t.mldf t.mldf -o old.mldf
3 select t.mldf -o old.mldf --fields a
3 repack t.mldf -o old.mldf
3 repair t.mldf -o old.mldf
3 extract t.mldf -o full
3 stats t.mldf --svg old.mldf
3 keygen k1
3 pack t.csv -o no/x.mldf
3 convert t.mldf -o no/x.mldf
3 merge t.mldf t.mldf -o no/x.mldf
3 select t.mldf -o no/x.mldf --fields a
3 repack t.mldf -o no/x.mldf
3 extract t.mldf -o no/x/y
3 split t.mldf -o no/x-%d.mldf --count 2
3 stats t.mldf --svg no/x.svg
3 keygen no/k
2 head t.mldf -n x
2 split t.mldf -o out-%d.mldf --count x
2 bench t.mldf --batch-size x
2 plan --samples x --schema []
2 pack t.csv -o out.mldf --page-size 5
2 convert t.mldf -o out.mldf --page-size 5
2 head t.mldf --none
2 pack t.csv -o out.mldf --none
2 convert t.mldf -o out.none
3 pack t.csv -o out.mldf --schema none.json
3 plan --samples 3 --schema none.json
3 pack t.csv -o out.mldf --card none.json
3 convert t.mldf -o out.mldf --card none.json
3 head t.mldf --key none.key
3 pack t.csv -o out.mldf --encrypt none.key
2 pack t.csv -o out.mldf --schema {
2 plan --samples 3 --schema {
2 pack t.csv -o out.mldf --card t.csv
2 convert t.mldf -o out.mldf --card t.csv
2 select t.mldf -o out.mldf --where a>>
2 bench t.mldf -p a:none
END
