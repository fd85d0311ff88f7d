# A full disk in the middle of pack: exit code 3, the disk as it was.
mkdir small
if [ "$(id -u)" -ne 0 ] || ! mount -t tmpfs -o size=256k tmpfs small 2>/dev/null; then
    skip "a full disk: mounting a small tmpfs needs root"
else
    seq 100000 | sed '1i n' >many.csv
    printf 'a\n1\n' >a.csv
    mldf pack a.csv -o small/a.mldf -q
    cp small/a.mldf before.mldf
    expect_error 3 'No space left on device' mldf pack many.csv -o small/b.mldf
    check test "$(ls -A small)" = a.mldf
    expect_error 3 'No space left on device' mldf pack many.csv -o small/a.mldf -f
    check cmp -s small/a.mldf before.mldf
    sed 's/n/a/' many.csv >more.csv
    expect_error 3 'No space left on device' mldf append small/a.mldf more.csv
    check cmp -s small/a.mldf before.mldf
    check test "$(ls -A small)" = a.mldf
    # With --resume what is there stays, and the same command goes on when there is space again.
    rm small/a.mldf
    head -c 150000 /dev/zero >small/other
    expect_error 3 'small/b.mldf.partial is kept' mldf pack many.csv -o small/b.mldf --resume
    check test -e small/b.mldf.partial
    mount -o remount,size=16m small
    expect_error 0 '' mldf pack many.csv -o small/b.mldf --resume
    check test "$(ls -A small | tr '\n' ' ')" = 'b.mldf other '
    mldf pack many.csv -o whole.mldf -q
    check cmp -s small/b.mldf whole.mldf
    umount small
fi
