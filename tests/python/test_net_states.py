"""The net, part two: states that an earlier build wrote (tests/net/states) load, and the run goes on with the batches that it would have had.

A state that is taken now has the same text, but for the versions of the codec libraries.
"""

import json
import warnings
from dataclasses import dataclass, replace

import mldf
import net_data
import net_run
import pytest
from net_run import Case

FOLDER = net_run.STORED / "states"
EXPECTED = net_run.stored("states.json")


@dataclass(frozen=True)
class Stop:
    """Where a run was stopped: so many batches into an epoch, on each of so many ranks."""

    case: Case
    taken: int
    epoch: int = 0
    world: int = 1
    resumed: tuple = ()
    """Other ways to go on: (ranks, batch size)."""

    @property
    def name(self):
        return self.case.name


_LISTS = {"bucket": "list", "bucket_window": 30, "shuffle": True, "seed": 5}
_CROPS = "image: random_crop(9) | hflip\ngray: drop\ndeep: drop"
_THREE = "part_a+part_b+part_c"

STOPS = [
    Stop(Case("plain", "fixed", _CROPS, 3), 2, resumed=((1, 4), (2, 2))),
    Stop(Case("before the first batch", "fixed", _CROPS, 3), 0),
    Stop(Case("at the end of an epoch", "fixed", _CROPS, 3), 5),
    Stop(Case("at the end of an epoch, drop", "fixed", _CROPS, 3, options={"last": "drop", "shuffle": True}), 4),
    Stop(Case("random", "fixed", _CROPS, 3, options={"order": "random", "seed": 2**63 + 5}), 3, 7, resumed=((3, 2),)),
    Stop(
        Case("quasi-random", "many", "list: drop", 16, options={"order": "quasi-random", "block": 6, "window": 4}), 5, 1
    ),
    Stop(
        Case("subset", "many", "list: drop", 4, options={"subset": [5, 9, 9, 2, 100, 44, 43, 17], "shuffle": True}),
        1,
        2,
    ),
    Stop(
        Case("weighted", "many", "list: drop", 16, options={"weights": [1 + i % 3 for i in range(211)]}),
        4,
        1,
        resumed=((2, 16),),
    ),
    Stop(Case("balanced", "many", "list: drop", 16, options={"balance": "label", "samples_per_epoch": 100}), 2, 1),
    Stop(Case("ranked", "fixed", _CROPS, 2, options={"shuffle": True, "seed": 3}), 2, 1, 2, ((1, 4), (3, 2), (4, 1))),
    Stop(Case("ranked, three", "fixed", _CROPS, 0, options={"shuffle": True, "global_batch_size": 5}), 1, 0, 3),
    Stop(Case("bucketed", "some", "list: pad", 8, options=_LISTS), 2, 1, resumed=((1, 12), (2, 4), (3, 4))),
    Stop(Case("bucketed at the end of a window", "some", "list: pad", 10, options=_LISTS), 3, 1, resumed=((1, 12),)),
    Stop(Case("bucketed, ranked", "some", "list: pad", 4, options=_LISTS), 2, 0, 2, ((1, 8), (3, 4))),
    Stop(
        Case(
            "bucketed images",
            "sizes",
            "image: pad\nseg: drop\nbox: drop\npts: drop",
            2,
            options={"bucket": "image", "bucket_window": 8, "shuffle": True},
        ),
        2,
        1,
    ),
    Stop(Case("budget", "some", "list: pad", 8, options={**_LISTS, "budget": 200}), 4, 1, resumed=((2, 8),)),
    Stop(
        Case("budget, ranked", "some", "list: pad(multiple=4)", 8, options={**_LISTS, "budget": 200}),
        2,
        0,
        2,
        ((1, 8), (3, 8)),
    ),
    Stop(Case("mixture", _THREE, _CROPS, 4, options={"ratios": [3, 1, 2], "seed": 4}), 3, 2),
    Stop(
        Case("mixture, ranked", _THREE, _CROPS, 2, options={"ratios": [1, 1, 2], "samples_per_epoch": 25}),
        3,
        1,
        2,
        ((3, 2),),
    ),
    Stop(Case("several files", _THREE, _CROPS, 4, options={"shuffle": True}), 2, 1),
    Stop(Case("several files with keys", "key_a+key_b", _CROPS, 4, options={"shuffle": True}), 1, 1),
    Stop(Case("keys", "keyed", "list: pad", 4), 2),
    Stop(Case("values", "values", "list: pad", 4), 2),
    Stop(Case("values, zstd", "zstd", "list: pad", 4), 2),
    Stop(Case("values, encrypted", "secret", "list: pad", 4), 2),
    Stop(Case("floats, structs and texts", "letters", "text: pad", 3), 2),
    Stop(Case("bytes and json", "payloads", "blob: pad\njson: ragged", 3), 2),
    Stop(Case("images alone", "only_images", "image: resize([6, 7])", 3), 2),
    Stop(Case("user-defined", "custom", "p: pad", 3), 2),
    Stop(Case("tar", "tar", "png: random_resized_crop(9)\ntxt: drop", 3), 2),
    Stop(Case("pngs", "pngs", "image: random_crop(8)", 4, options={"shuffle": True}), 2, 3),
    Stop(Case("beton", "fixed.beton", _CROPS, 4, options={"shuffle": True}), 2),
    Stop(
        Case(
            "bad samples",
            "bad",
            "image: random_crop(7)\nlist: pad",
            4,
            options={"on_error": "substitute", "shuffle": True},
        ),
        2,
        1,
        resumed=((2, 3),),
    ),
    Stop(Case("skipped samples", "bad", "image: pad\nlist: ragged", 4, options={"on_error": "skip"}), 2, 1),
    Stop(
        Case("pairs", "fixed", "label: one_hot(10)\nimage, label: mixup(0.5) | cutmix", 3, options={"shuffle": True}),
        2,
        1,
        resumed=((2, 2), (1, 5)),
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    mldf.register_field(net_data.Pairs)
    return net_data.Folder(tmp_path_factory.mktemp("net"))


def file_of(stop):
    return FOLDER / (stop.name.replace(", ", "_").replace(" ", "_") + ".json")


def taken(stop, folder):
    """The texts of the states of all ranks, which are one, and the libraries' versions in it."""
    texts = []
    for rank in range(stop.world):
        with stop.case.loader(folder, rank, stop.world) as loader:
            loader.set_epoch(stop.epoch)
            if stop.taken:
                net_run.run(loader, "", stop.taken)
            assert json.dumps(json.loads(loader._core.state()), separators=(",", ":")) == loader._core.state()
            texts.append(json.dumps(loader.state_dict(), separators=(",", ":")))
    assert set(texts) == {texts[0]}
    return texts[0]


def resumed(stop, folder, text, world, batch, **variant):
    """What is left of the epoch, and the beginning of the next, on every rank."""
    out = {}
    case = stop.case if batch is None else replace(stop.case, batch=batch)
    for rank in range(world):
        with warnings.catch_warnings(), case.loader(folder, rank, world, **variant) as loader:
            warnings.filterwarnings("ignore", "the state was taken with")  # other codec libraries
            loader.load_state_dict(json.loads(text))
            first = loader.epoch
            out |= net_run.run(loader, f"rank {rank}/{world} epoch {first}")
            out |= net_run.run(loader, f"rank {rank}/{world} epoch {first + 1}", 1)
    return out


def ways(stop):
    """How it goes on: as it was, and by other ranks and batch sizes."""
    yield f"{stop.world} ranks", stop.world, None
    for world, batch in stop.resumed:
        yield f"{world} ranks, batches of {batch}", world, batch


def going_on(stop, folder, text, **variant):
    return {way: resumed(stop, folder, text, world, batch, **variant) for way, world, batch in ways(stop)}


def current(folder):
    """What tests/net/write.py writes; a state that is there stays as it is, for ever."""
    FOLDER.mkdir(exist_ok=True)
    for stop in STOPS:
        text = taken(stop, folder)
        if not file_of(stop).exists():
            file_of(stop).write_text(text + "\n")
        yield "states.json", [stop.name], going_on(stop, folder, file_of(stop).read_text())


@pytest.mark.parametrize("stop", STOPS, ids=lambda s: s.name)
def test_states_of_an_earlier_build(folder, stop):
    net_run.need_codecs(stop.case)
    text = file_of(stop).read_text()
    for variant in ({}, {"threads": 3, "backend": "read"}, {"threads": 0, "reference": True, "isa": "portable"}):
        net_run.check(stop.case, EXPECTED[stop.name], going_on(stop, folder, text, **variant), str(variant or ""))


@pytest.mark.parametrize("stop", STOPS, ids=lambda s: s.name)
def test_text_of_states(folder, stop):
    net_run.need_codecs(stop.case)
    old, new = file_of(stop).read_text().rstrip("\n"), taken(stop, folder)
    versions = [json.dumps(json.loads(text)["codecs"]) for text in (old, new)]
    assert new == old.replace(*versions), stop.name


def test_no_state_is_lost():
    assert sorted(p.name for p in FOLDER.iterdir()) == sorted(file_of(s).name for s in STOPS)
    assert set(EXPECTED) == {s.name for s in STOPS}
