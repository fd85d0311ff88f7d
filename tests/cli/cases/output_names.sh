# Commands that write MLDF refuse a name that says another format, before they do anything; convert obeys it.
printf 'a\n1\n2\n' >t.csv && mldf pack t.csv -o a.mldf -q && cp a.mldf b.mldf
for ending in tbl tar tar.gz tgz tar.zst beton idx TBL; do
    expect_error 2 "x.$ending: the name says " mldf pack t.csv -o x.$ending -f
    expect_error 2 "x.$ending: the name says " mldf merge a.mldf b.mldf -o x.$ending
    expect_error 2 "x.$ending: the name says " mldf select a.mldf -o x.$ending --samples 0
    expect_error 2 "x-0.$ending: the name says " mldf split a.mldf -o x-{}.$ending --count 2
    expect_error 2 "x.$ending: the name says " mldf repack a.mldf -o x.$ending -f
    expect_error 2 "x.$ending: the name says " mldf repair a.mldf -o x.$ending
done
expect_error 2 "x.tbl: the name says tbl2, but an MLDF file would be written: give it a name in .mldf; convert then makes tbl2 of it" mldf pack t.csv -o x.tbl
check test "$(ls)" = "$(printf 'a.mldf\nb.mldf\nt.csv')"
mldf pack t.csv -o x.data -q && mldf info --json x.data | json 'd["format"] == "mldf"'
mldf convert a.mldf -o x.beton -q && mldf info --json x.beton | json 'd["format"] == "beton"'
