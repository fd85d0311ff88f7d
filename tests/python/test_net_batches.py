"""The net, part one: the batches of many pipelines are those that tests/net says, byte for byte, whatever makes them.

Raw, PNG and everything but lossy images: the same on every machine (batches.json). JPEG and WebP: as the codec libraries' versions
decide (codecs.json); with versions that nobody has recorded, the shapes, and all plans against the reference plan.
"""

import shutil

import mldf
import net_cases
import net_data
import net_operations
import net_run
import pytest
from mldf import _mldf

VARIANTS = {
    "": {},
    "reference plan": {"reference": True, "threads": 0},
    "portable kernels": {"isa": "portable", "threads": 3},
    "read back end": {"backend": "read", "threads": 3, "batches_ahead": 1},
}
BATCHES, CODECS = net_run.stored("batches.json"), net_run.stored("codecs.json")
COMPILED = ("long chain", "imagenet", "cifar", "values, expressions", "expr/1", "normalize/1", "group then alone")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    mldf.register_field(net_data.Pairs)
    return net_data.Folder(tmp_path_factory.mktemp("net"))


def codecs(folder):
    """The versions, as a state has them."""
    with mldf.Loader(folder.open("many"), 8, fields=["i"]) as loader:
        return loader.state_dict()["codecs"]


def current(folder):
    """What tests/net/write.py writes."""
    for case in net_cases.PORTABLE:
        yield "batches.json", [case.name], net_run.record(case, folder)
    for case in net_cases.CODECS:
        yield "codecs.json", [codecs(folder), case.name], net_run.record(case, folder)


@pytest.mark.parametrize("case", net_cases.PORTABLE, ids=lambda c: c.name)
def test_batches(folder, case):
    net_run.need_codecs(case)
    for variant, options in VARIANTS.items():
        net_run.check(case, BATCHES[case.name], net_run.record(case, folder, **options), variant)


def without_hashes(record):
    """Names, element types and dims."""
    lines = {place: [line.rsplit(" ", 1)[0] for line in lines] for place, lines in record["batches"].items()}
    return {**record, "batches": lines}


@pytest.mark.parametrize("case", net_cases.CODECS, ids=lambda c: c.name)
def test_batches_of_codecs(folder, case):
    net_run.need_codecs(case)
    known = CODECS.get(codecs(folder), {}).get(case.name)
    wanted = known or net_run.record(case, folder, reference=True, threads=0)
    for variant, options in VARIANTS.items():
        got = net_run.record(case, folder, **options)
        net_run.check(case, wanted, got, variant)
    for versions, cases in CODECS.items():
        net_run.check(case, without_hashes(cases[case.name]), without_hashes(wanted), f" against {versions}")


@pytest.mark.parametrize("name", COMPILED)
def test_batches_of_generated_code(folder, tmp_path, name):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    case = next(c for c in net_cases.PORTABLE if c.name == name)
    got = net_run.record(case, folder, codegen="wait", cache_dir=tmp_path)
    net_run.check(case, BATCHES[name], got, "generated code")


def test_no_case_is_lost():
    """What stands in tests/net is run, under names that are there once."""
    portable, lossy = [c.name for c in net_cases.PORTABLE], [c.name for c in net_cases.CODECS]
    assert len(set(portable)) == len(portable) and len(set(lossy)) == len(lossy)
    assert set(BATCHES) == set(portable)
    assert all(set(cases) == set(lossy) for cases in CODECS.values()) and CODECS


def test_every_operation_is_in_the_net():
    """With defaults, and with arguments where it has any."""
    there = {name: parameters for name, _, _, parameters in _mldf.operations()}
    assert sorted(there) == sorted(net_operations.STEPS)
    assert [name for name, steps in net_operations.STEPS.items() if there[name] and len(steps[3]) < 2] == []
