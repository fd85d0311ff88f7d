# Tokens: from JSON lines, what is shown of them, ids outside the vocabulary, pack plans.
schema='{"fields":[{"name":"tokens","type":"text_tokenized","vocabulary":300,"eos":299},{"name":"mask","type":"ndarray","dtype":"|u1","shape":[null],"along":"tokens"}]}'
printf '{"tokens":[1,2,299],"mask":[0,1,1]}\n{"tokens":[],"mask":[]}\n{"tokens":[5,6,7,8,9],"mask":[1,1,1,1,1]}\n' >t.jsonl
expect 0 mldf pack t.jsonl --schema "$schema" -o t.mldf -q <<'END'
END
expect 0 mldf cat t.mldf --samples 0,1 <<'END'
sample 0
  tokens: [1,2,299]
  mask: [0,1,1]
sample 1
  tokens: []
  mask: []
END
expect 0 mldf verify --deep t.mldf <<'END'
t.mldf: ok: 3 samples
END
mldf info t.mldf >info.txt
check grep -qx '  tokens  text_tokenized {"dtype":"<u2","eos":299,"vocabulary":300}  16 B stored  1 .. 299  8 tokens, up to 5' info.txt

printf '{"tokens":[1,300],"mask":[0,1]}\n' >bad.jsonl
expect 1 mldf pack bad.jsonl --schema "$schema" -o x.mldf -q <<'END'
--- stderr
mldf pack: bad.jsonl:1: sample 0, field tokens: token 1 is 300, outside the vocabulary: 0 to 299
END
printf '{"tokens":[1,2],"mask":[0]}\n' >bad.jsonl
expect 1 mldf pack bad.jsonl --schema "$schema" -o x.mldf -q <<'END'
--- stderr
mldf pack: bad.jsonl:1: sample 0, field mask: 1 entries for the 2 of "tokens"
END
check test ! -e x.mldf

expect 0 mldf plan-tokens t.mldf --length 4 --json <<'END'
{"algorithm":"best-fit","length":4,"align":1,"long":"cut","max_pieces":null,"bos":null,"eos":null,"bins":2,"pieces":3,"most_pieces":2,"documents":3,"tokens":8,"left_out":0,"slots":8,"fill":1.0,"cut_documents":1}
END
expect 0 mldf plan-tokens t.mldf --length 4 --algorithm next-fit --long drop <<'END'
t.mldf: next-fit, length 4, long documents drop: 1 sequences of 1 pieces (up to 1 in one), 75.0000 % full, 3 tokens of 3 documents, 0 cut, 5 tokens left out
END
mldf info t.mldf >info.txt
check grep -q '^  tokens: best-fit, length 4' info.txt
expect_error 2 'length is needed' mldf plan-tokens t.mldf
expect_error 2 'no option' mldf plan-tokens t.mldf --len 4
expect_error 2 'does not divide' mldf plan-tokens t.mldf --length 10 --align 4
expect 0 mldf verify --deep t.mldf <<'END'
t.mldf: ok: 3 samples
END
expect 1 mldf select t.mldf -o x.mldf --fields mask <<'END'
--- stderr
mldf select: t.mldf: field "mask" goes along "tokens", which is not there
END
check test ! -e x.mldf
