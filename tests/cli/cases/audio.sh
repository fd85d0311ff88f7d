# Recordings: tables that name WAV files, what is shown of them, files that are refused.
schema='{"fields":[{"name":"audio","type":"audio_waveform","source":"file","rate":8000},{"name":"n","type":"int"}]}'
data=$source_dir/tests/data/audio
cp "$data/codes_alaw.wav" "$data/sox_mulaw.wav" "$data/ffmpeg_s16.wav" .
printf 'audio,n\ncodes_alaw.wav,1\nsox_mulaw.wav,2\n' >t.csv
expect 0 mldf pack t.csv --schema "$schema" -o t.mldf -q <<'END'
END
expect 0 mldf cat t.mldf <<'END'
sample 0
  audio: {"bytes":256,"sha256":"40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880","samples":256,"rate":8000,"channels":1,"bits":8,"codec":"alaw"}
  n: 1
sample 1
  audio: {"bytes":37,"sha256":"330f58ed3112ee1c8a01a9d99e24f2f27cefefd559b0263963f9b0a23679a665","samples":37,"rate":8000,"channels":1,"bits":8,"codec":"mulaw"}
  n: 2
END
expect 0 mldf verify --deep t.mldf <<'END'
t.mldf: ok: 2 samples
END
mldf info t.mldf >info.txt
check grep -qx '  audio  audio_waveform {"rate":8000}  293 B stored  8000 .. 8000, mean 8000' info.txt

printf 'audio,n\nffmpeg_s16.wav,1\n' >other.csv
expect 1 mldf pack other.csv --schema "$schema" -o x.mldf -q <<'END'
--- stderr
mldf pack: other.csv:2: sample 0, field audio: a recording of 44100 samples a second, and the field's rate is 8000
END
head -c 60 sox_mulaw.wav >short.wav
printf 'audio,n\nshort.wav,1\n' >short.csv
expect 1 mldf pack short.csv --schema "$schema" -o x.mldf -q <<'END'
--- stderr
mldf pack: short.csv:2:1: column 'audio' (audio_waveform): ./short.wav: byte 60: the WAV file is cut short: its header announces 35 bytes of samples more than it has
END
printf 'audio,n\nt.csv,1\n' >none.csv
expect 1 mldf pack none.csv --schema "$schema" -o x.mldf -q <<'END'
--- stderr
mldf pack: none.csv:2:1: column 'audio' (audio_waveform): ./t.csv: byte 0: not a WAV file: it does not begin with RIFF....WAVE or its like
END
check test ! -e x.mldf

# Windows in batches: the same for every number of threads, back end and plan.
printf 'audio,n\n' >many.csv
for i in $(seq 20); do
    printf 'codes_alaw.wav,%s\nsox_mulaw.wav,%s\n' "$i" "$i" >>many.csv
done
mldf pack many.csv --schema "$schema" -o many.mldf -q || complain 'pack fails'
hashes() { mldf bench "$@" --json --hash -q | python3 -c 'import json,sys; print("\n".join(json.load(sys.stdin)["batch_hashes"]))'; }
windows='audio: window(0.01, random) | pad'
hashes many.mldf -p "$windows" --order random --batch-size 7 --seed 3 --threads 0 --epochs 2 >want
check test "$(sort -u want | wc -l)" -eq 12
for more in '--threads 1' '--threads 3 --backend read' '--isa portable --threads 1' '--reference --threads 2' '--threads 0 --backend read'; do
    # shellcheck disable=SC2086
    hashes many.mldf -p "$windows" --order random --batch-size 7 --seed 3 --epochs 2 $more >got
    cmp -s want got || complain "the batches with $more differ"
done
expect 2 mldf bench t.mldf -p 'audio: window(2)' -q <<'END'
--- stderr
mldf bench: line 1, column 1: audio: its length differs from sample to sample (up to 256); add pad or ragged
END
expect 1 mldf bench t.mldf -p 'audio: window(samples=40, short=error)' --order sequential -q <<'END'
--- stderr
mldf bench: t.mldf: sample 1, field audio: window: the value has 37 samples from the start of the window on, and the window needs 40
END
