"""MLDF_NO_SKIPS=1 (.ci/run): a test that was skipped, or a warning that nobody expected, fails the run."""

import os
import tempfile

import pytest


def pytest_configure(config):
    # The sockets of Python's processes have names of at most 107 bytes; torch's workers hang for ever where they are longer.
    if len(os.fsencode(tempfile.gettempdir()) + b"/pymp-12345678/listener-12345678") > 107:
        raise pytest.UsageError(f"TMPDIR is too long for the sockets of multiprocessing: {tempfile.gettempdir()}")
    # JAX, once it is imported, warns of every fork. The children here use nothing of JAX's.
    config.addinivalue_line("filterwarnings", r"ignore:os\.fork\(\) was called:RuntimeWarning")
    # torch, where there are fewer processors than a test asks for workers.
    config.addinivalue_line("filterwarnings", "ignore:This DataLoader will create:UserWarning")
    # Most tests of loaders ask for one field of a file that has several. Those of the warning itself expect it (pytest.warns).
    config.addinivalue_line("filterwarnings", "ignore:left out of the batches:UserWarning")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    if not os.environ.get("MLDF_NO_SKIPS") or hasattr(session.config, "workerinput"):  # the main process counts for all
        return
    stats = session.config.pluginmanager.get_plugin("terminalreporter").stats
    found = {kind: len(stats.get(kind, [])) for kind in ("skipped", "xfailed", "warnings")}
    if any(found.values()) and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        session.config.stash[WHY] = ", ".join(f"{count} {kind}" for kind, count in found.items() if count)


WHY = pytest.StashKey[str]()


def pytest_terminal_summary(terminalreporter, config):
    if WHY in config.stash:
        terminalreporter.write_line(f"MLDF_NO_SKIPS: {config.stash[WHY]}, and there may be none", red=True)
