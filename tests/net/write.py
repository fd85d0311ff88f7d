#!/usr/bin/env python3
"""The expected values in tests/net, which tests/python/test_net_*.py compare.

    MLDF=build/dev/bin/mldf .venv/bin/python tests/net/write.py --add

--add writes the values of cases that are new, and lists those that differ, without touching them. The values that stand here are a promise:
no batch of an existing file and pipeline changes its bytes, states are read for ever, scripts read --json. --rewrite NAME... replaces
the values of these cases; it goes with a page in docs/decisions that says why the promise is broken, and with nothing else in the commit.
"""

import argparse
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
import mldf  # noqa: E402
import net_data  # noqa: E402
import net_run  # noqa: E402
import test_net_batches  # noqa: E402
import test_net_command  # noqa: E402
import test_net_states  # noqa: E402
import test_net_text  # noqa: E402

PARTS = {"batches": test_net_batches, "states": test_net_states, "text": test_net_text, "command": test_net_command}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--add", action="store_true", help="values of new cases")
    what.add_argument(
        "--rewrite", nargs="+", metavar="NAME", default=[], help="with a page in docs/decisions: other values of these"
    )
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS), help="these alone")
    given = parser.parse_args()
    mldf.register_field(net_data.Pairs)
    files, added, differing = {}, [], []
    with tempfile.TemporaryDirectory() as scratch:
        folder = net_data.Folder(scratch)
        for part in given.part:
            for file, path, value in PARTS[part].current(folder):
                at = files.setdefault(file, net_run.stored(file))
                for step in path[:-1]:
                    at = at.setdefault(step, {})
                if path[-1] not in at or path[-1] in given.rewrite:
                    added += [] if at.get(path[-1]) == value else [path[-1]]
                    at[path[-1]] = value
                elif at[path[-1]] != value:
                    differing.append(path[-1])
    for file, value in files.items():
        net_run.dump(file, value)
    print(f"{len(added)} written")
    for name in differing:
        print(f"differs, and stays: {name}")
    return 1 if differing else 0


sys.exit(main())
