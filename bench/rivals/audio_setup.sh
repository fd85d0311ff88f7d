#!/bin/bash
# bench/rivals/audio_setup.sh WORKDIR BUILD: what bench/rivals/speech.py compares with, in an environment of its own, and mldf of BUILD in it. What is there
# already is kept; mldf is installed each time.
set -euo pipefail
work=${1:?usage: audio_setup.sh WORKDIR BUILD}
build=${2:?usage: audio_setup.sh WORKDIR BUILD}
venv=$work/venv_audio
missing=()
for package in flac lame opus-tools libavcodec59; do
    dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    echo "rivals: installing ${missing[*]}" >&2
    apt-get install -y -qq "${missing[@]}" >/dev/null
fi
if [ ! -e "$venv/done" ]; then
    mkdir -p "$work"
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q torch==2.13.0 numpy soundfile librosa==0.11.0 lhotse==1.33.0 torchcodec==0.13.0
    "$venv/bin/pip" install -q --no-deps torchaudio==2.11.0
    rm -f "$venv"/lib/python3*/site-packages/torchaudio/lib/*.so # of CUDA, which does not load beside torch for CPUs
    touch "$venv/done"
fi
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
rm -rf "$site/mldf"
cmake --install "$build" --component python --prefix "$site" >/dev/null
