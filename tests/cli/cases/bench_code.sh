# mldf bench --codegen: expressions as compiled C give the batches that the built-in kernels give; where compiled code is kept.
mkdir photos
for i in 1 2 3 4 5; do
    cp "$source_dir/tests/data/images/rgb.jpg" "photos/$i.jpg"
done
mldf pack photos -o p.mldf -q || complain 'pack fails'
chain='image: resize([16, 12]) | to_float | contrast(0.7) | expr("clamp(x * p0 - c / 8, 0, 1)", 1.5) | chw(f16)'
XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME
mldf bench p.mldf -p "$chain" --hash --codegen off >off.txt || complain 'bench --codegen off fails'
check test ! -e cache
mldf bench p.mldf -p "$chain" --hash --codegen wait --explain >wait.txt 2>messages || complain 'bench --codegen wait fails'
drop_progress messages
grep '^batch' off.txt >want
grep '^batch' wait.txt >got
cmp want got || complain 'compiled C gives other batches'
check grep -q 'expr + chw (generated C)' wait.txt
if grep -q 'did not end within' messages; then
    skip 'this machine is too busy to compile ten lines in the time that a compiler has'
elif [ -x /usr/bin/cc ] || [ -x /usr/local/bin/cc ]; then
    check test ! -s messages
    check grep -q '^generated C: 1 function, compiled$' wait.txt
    check test "$(find cache/mldf -type f | wc -l)" -eq 1
    check test "$(stat -c %a cache/mldf)" = 700
    mldf bench p.mldf -p "$chain" --explain >again.txt || complain 'bench with a cache fails'
    check grep -q '^generated C: 1 function, from the cache$' again.txt
fi
expect_error 2 'none of auto, off, wait' mldf bench p.mldf --codegen never
expect_error 2 'column 5 of the expression: expected a value' mldf bench p.mldf -p 'image: expr("x * ")'
