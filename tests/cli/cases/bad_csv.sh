# CSV that is refused: exit code 1, with file, line and column; --on-error=skip leaves the row out.
bad() { # content message
    printf "$1" >bad.csv
    rm -f bad.mldf
    expect 1 mldf pack bad.csv -o bad.mldf <<END
--- stderr
mldf pack: $2
END
    check test ! -e bad.mldf
}
bad '' 'bad.csv:1:1: no header line: the file is empty'
bad 'a,a\n1,2\n' "bad.csv:1:3: two columns are named 'a'"
bad 'a,\n1,2\n' 'bad.csv:1:3: a column without a name'
bad 'a,b\n1,2\n3\n' 'bad.csv:3:1: 1 cell, but the header has 2'
bad 'a,b\n1,2\n"x\ny",2,3\n' 'bad.csv:4:6: 3 cells, but the header has 2'
bad 'a,b\n"1\n",2\n1,"2"x\n' 'bad.csv:4:6: text after a closing quote'
bad 'a,b\n1,"2\n3,4\n' 'bad.csv:2:3: a quote that is not closed before the end of the file'
bad 'a,b\n1,\0003\n' 'bad.csv:2:3: a NUL byte'
bad 'a,b\n1,x\xff\n' 'bad.csv:2:4: bytes that are not UTF-8'
bad 'a,b\n1,x\ry\n' 'bad.csv:2:4: a carriage return that is neither part of a line end nor inside quotes'
# A row after the first 10,000 that does not fit.
{ echo n,f; for i in $(seq 10000); do echo "$i,$i.5"; done; echo 7,8.5; echo '8,x'; echo 9.5,1.5; echo ,1.5; echo 10,2; } >late.csv
expect 1 mldf pack late.csv -o late.mldf <<'END'
--- stderr
mldf pack: late.csv:10003:3: column 'f' (float): 'x' is not a number that a float64 holds
END
check test ! -e late.mldf
expect 0 mldf pack late.csv -o late.mldf --on-error=skip <<'END'
--- stderr
mldf pack: skipped late.csv:10003:3: column 'f' (float): 'x' is not a number that a float64 holds
mldf pack: skipped late.csv:10004:1: column 'n' (int): '9.5' is not an integer
mldf pack: skipped late.csv:10005:1: column 'n' (int): the cell is empty, and the field is not nullable
mldf pack: late.mldf: 10,002 samples written, 160.8 KiB in all, 3 skipped
END
mldf pack late.csv -o late.mldf -f --on-error=skip --json 2>/dev/null |
    json 'd["written"] == 10002 and [s["source"] for s in d["skipped"]] == ["late.csv:10003", "late.csv:10004", "late.csv:10005"]'
expect_error 0 '' mldf verify --deep late.mldf
