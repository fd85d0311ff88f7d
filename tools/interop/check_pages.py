"""check_pages.py PEER FOLDER: the names and the page docs/migrate-PEER.md (tests/python/peers.py, pages.py) before the real FFCV
or TurboLoader. "Before" and "after" run, and their batches are compared. Runs in the peer's own environment (venvs.sh), with the
package mldf on PYTHONPATH; FOLDER gets the data."""
import os
import pathlib
import shutil
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "python"))
import pages  # noqa: E402
import peers  # noqa: E402

# Numba's finalizers complain in this combination of versions, about nothing that concerns us.
sys.unraisablehook = lambda *_: None
warnings.simplefilter("ignore")


def main(peer, folder):
    peers.check_real(peer)
    print(f"ok    {len(peers.names(peer))} names of {peer} {peers.PEERS[peer]['version']} are here or listed", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    pages.make_data(folder)
    os.chdir(folder)
    compared = pages.run(f"migrate-{peer}.md", {})
    print(f"ok    docs/migrate-{peer}.md: before and after give the same, {compared} times")


main(*sys.argv[1:])
