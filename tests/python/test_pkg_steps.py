"""Windows over consecutive rows of a group: every value and mask against brute force in NumPy."""

import mldf
import numpy as np
import pytest
from mldf.steps import steps_text

LENGTHS = (7, 12, 1, 20, 3)
FPS = 10
VARIANTS = [
    {"threads": threads, "backend": backend, **plan}
    for threads in (0, 2)
    for backend in ("map", "read")
    for plan in ({}, {"reference": True})
]


def table(seed=0, lengths=LENGTHS, first=0):
    """Rows of episodes, and their videos."""
    rng = np.random.default_rng(seed)
    rows, videos = [], []
    for episode, n in enumerate(lengths):
        videos.append(rng.integers(0, 255, (n, 6, 8, 3), np.uint8))
        for t in range(n):
            rows.append(
                {
                    "episode_index": episode + first,
                    "timestamp": t / FPS,
                    "action": rng.normal(size=(2,)).astype(np.float32),
                    "grid": rng.integers(-9, 9, (2, 3)).astype(np.int16),
                    "reward": float(rng.normal()),
                    "count": int(rng.integers(0, 255)),
                    "camera": videos[-1] if t == 0 else None,
                    "task": f"task {episode}",
                }
            )
    return rows, videos


FIELDS = {
    "episode_index": mldf.Int(),
    "timestamp": mldf.Float(),
    "action": mldf.NDArray("float32", (2,)),
    "grid": mldf.NDArray("int16", (2, 3)),
    "reward": mldf.Float(),
    "count": mldf.Int("uint8"),
    "camera": mldf.VideoFrames(mode="raw", fps=FPS, nullable=True),
    "task": mldf.Text(),
}


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("steps") / "robot.mldf"
    rows, videos = table()
    with mldf.Writer(path, FIELDS) as w:
        for row in rows:
            w.append(row)
    return path, rows, videos


def expected(rows, row, name, offsets, edge, group=None):
    """(values, mask) of the rows at these offsets, held to the group."""
    mine = [i for i, r in enumerate(rows) if r["episode_index"] == rows[row]["episode_index"]]
    first, last = mine[0], mine[-1]
    wanted = [row + round(o * FPS) if isinstance(o, float) else row + o for o in offsets]
    pad = [not first <= i <= last for i in wanted]
    held = [min(max(i, first), last) for i in wanted]
    values = np.stack([np.asarray(rows[i][name]) for i in held])
    if edge == "zero":
        values[np.asarray(pad)] = 0
    return values, np.asarray(pad), [i - first for i in held], first


WINDOWS = {
    "action": range(0, 5),
    "reward": [-1, 0],
    "count": [-3, 2, 0],
    "grid": [-0.2, 0.0, 0.1],
    "camera": [-0.1, 0.0, 0.3],
}
PIPELINES = {"camera": [mldf.CHW("f32")], "task": [mldf.Strings()]}


def loaded(path, backend="map", epochs=1, **options):
    out = []
    with mldf.open(path, backend=backend) as ds:
        options = {"group": "episode_index", "windows": WINDOWS, "pipelines": PIPELINES, "row": True} | options
        with mldf.Loader(ds, 4, last="keep", seed=2, **options) as loader:
            for _ in range(epochs):
                for b in loader:
                    one = dict(zip(b.names, b))
                    for i in range(len(b.row)):
                        out.append({k: (v[i] if isinstance(v, list) else np.array(v[i])) for k, v in one.items()})
    return out


@pytest.mark.parametrize("edge", ["clamp", "zero"])
def test_windows_equal_brute_force(robot, edge):
    path, rows, videos = robot
    first = loaded(path, edge=edge)
    assert [int(item["row"]) for item in first] == list(range(len(rows)))
    for item in first:
        row = int(item["row"])
        for name in ("action", "reward", "count", "grid"):
            values, pad, _, _ = expected(rows, row, name, WINDOWS[name], edge)
            np.testing.assert_array_equal(item[name], values.astype(item[name].dtype), name)
            np.testing.assert_array_equal(item[name + "_is_pad"], pad)
            assert item[name + "_is_pad"].dtype == np.bool_
        _, pad, frames, start = expected(rows, row, "count", WINDOWS["camera"], edge)
        want = videos[rows[row]["episode_index"]][frames].transpose(0, 3, 1, 2).astype(np.float32)
        if edge == "zero":
            want[np.asarray(pad)] = 0
        np.testing.assert_array_equal(item["camera"], want)
        np.testing.assert_array_equal(item["camera_is_pad"], pad)
        assert item["task"] == rows[row]["task"] and item["timestamp"] == rows[row]["timestamp"]
    for variant in VARIANTS:
        for one, other in zip(first, loaded(path, edge=edge, **variant)):
            for name in one:
                np.testing.assert_array_equal(one[name], other[name], name)


def test_items_that_leave_their_group_are_dropped(robot):
    path, rows, _ = robot

    def inside(row, windows):
        return not any(expected(rows, row, "count", offsets, "clamp")[1].any() for offsets in windows.values())

    for windows in ({"action": [-2, 3]}, {"action": range(0, 8)}, {"reward": [-0.1], "action": [4]}, {"count": [30]}):
        found = loaded(path, edge="drop", windows=windows, pipelines=None)
        assert [int(item["row"]) for item in found] == [row for row in range(len(rows)) if inside(row, windows)]
        assert not any(item[name + "_is_pad"].any() for item in found for name in windows)
    found = loaded(path, drop_n_last=3)
    ends = {max(i for i, r in enumerate(rows) if r["episode_index"] == e) for e in range(len(LENGTHS))}
    kept = [i for i in range(len(rows)) if not any(end - 3 < i <= end for end in ends)]
    assert [int(item["row"]) for item in found] == kept
    with pytest.raises(mldf.errors.RangeError, match="row 0 and -1 rows are outside the group"):
        loaded(path, edge="error", windows={"reward": [-1]}, pipelines=None)


def test_times_must_be_there(robot):
    path, rows, _ = robot
    with pytest.raises(mldf.errors.RangeError, match=r"no row at 0.05 s \(row 0 and 0.05 s\); the nearest, row 0"):
        loaded(path, windows={"reward": [0.05]}, pipelines=None)
    near = loaded(path, delta_timestamps={"reward": [0, 0.13]}, windows=None, tolerance=0.04, pipelines=None)
    for item in near:
        values, pad, _, _ = expected(rows, int(item["row"]), "reward", [0, 1], "clamp")
        np.testing.assert_array_equal(item["reward"], values)
        np.testing.assert_array_equal(item["reward_is_pad"], pad)


def test_orders_ranks_and_resuming(robot):
    path, rows, _ = robot
    options = {"group": "episode_index", "windows": WINDOWS, "pipelines": PIPELINES, "row": True, "shuffle": True}
    with mldf.open(path) as ds, mldf.Loader(ds, 4, seed=9, last="keep", **options) as loader:
        whole = [(b.row.tolist(), np.array(b.action)) for b in loader]
        assert sorted(r for numbers, _ in whole for r in numbers) == list(range(len(rows)))
        it = iter(loader)
        next(it), next(it)
        state = loader.state_dict()
        rest = [b.row.tolist() for b in it]
    with mldf.open(path) as ds, mldf.Loader(ds, 4, seed=9, last="keep", **options) as again:
        again.load_state_dict(state)
        assert [b.row.tolist() for b in again] == rest
    with mldf.open(path) as ds:
        by_rank = [
            [
                r
                for b in mldf.Loader(ds, 2, seed=9, last="keep", rank=rank, world_size=2, **options)
                for r in b.row.tolist()
            ]
            for rank in range(2)
        ]
        assert sorted(by_rank[0] + by_rank[1]) == list(range(len(rows)))
        other = mldf.Loader(ds, 4, seed=9, last="keep", **(options | {"windows": {"action": [0]}, "pipelines": None}))
        with pytest.raises(mldf.Error, match="view"):
            other.load_state_dict(state)
    # plain rows, in the same order: anchors are permuted, nothing else
    with mldf.open(path) as ds, mldf.Loader(ds, 4, seed=9, last="keep", shuffle=True, index=True) as plain:
        assert [b.index.tolist() for b in plain] == [numbers for numbers, _ in whole]


def test_several_files_and_subsets(robot, tmp_path):
    path, rows, _ = robot
    more, _ = table(5, (4, 6), first=4)  # its first episode has the number of the other file's last one
    with mldf.Writer(tmp_path / "more.mldf", FIELDS) as w:
        for row in more:
            w.append(row)
    with mldf.open([path, tmp_path / "more.mldf"]) as ds:
        loader = mldf.Loader(ds, 8, group="episode_index", windows={"action": [-1, 0, 1]}, row=True, last="keep")
        found = {
            int(r): (a, p) for b in loader for r, a, p in zip(b.row, np.array(b.action), np.array(b.action_is_pad))
        }
        assert len(found) == len(rows) + len(more)
        at = len(rows)  # files are never joined
        assert found[at][1].tolist() == [True, False, False] and found[at - 1][1].tolist() == [False, False, True]
        np.testing.assert_array_equal(found[at + 2][0], np.stack([r["action"] for r in more[1:4]]))
        some = mldf.Loader(ds, 8, group="episode_index", windows={"action": [0]}, row=True, subset=[3, 30], last="keep")
        assert sorted(int(r) for b in some for r in b.row) == [3, 30]
    view = mldf.open(path).as_view(steps_text("episode_index", {"action": [0, 1]}, None, "clamp", 1e-4, 0, None))
    assert len(view) == len(rows)
    np.testing.assert_array_equal(view[0].action, np.stack([rows[0]["action"], rows[1]["action"]]))


def test_mistakes(robot):
    path, _, _ = robot
    for options, words in (
        ({"windows": {"nothing": [0]}}, "nothing"),
        ({"windows": {"task": [0]}}, "numbers, arrays of one shape, and videos"),
        ({"windows": {"action": []}}, "has no offsets"),
        ({"windows": {"action": ["x"]}}, "rows .int. or seconds .float."),
        ({"windows": {"action": 3}}, "a list of offsets is needed"),
        ({"group": None}, "group= must name the column"),
        ({"group": "task"}, "no integer here"),
        ({"windows": {"camera": [0.0] * 65}}, "64 are the most"),
        ({"windows": {"action": [0.0]}, "time": "count"}, "is not after"),
        ({"edge": "wrap"}, "edge"),
        ({"view": "rows"}, "give one of them"),
    ):
        with pytest.raises((mldf.Error, TypeError), match=words):
            loaded(path, pipelines=None, **options)
    for text in (
        'steps(episode_index, windows="")',
        'steps(episode_index, windows="action")',
        'steps(episode_index, windows="action=")',
        'steps(episode_index, windows="action=1.5")',
        'steps(episode_index, windows="action=1,2s")',
        'steps(episode_index, windows="action=1;action=2")',
        'steps(episode_index, windows="action=1e300")',
        'steps(episode_index, windows="action=0", tolerance=-1)',
        'steps(episode_index, windows="action=0", drop_last=0.5)',
        "steps(episode_index)",
    ):
        with pytest.raises(mldf.Error):
            mldf.open(path).as_view(text)


def test_a_select_that_cuts_a_group_is_never_wrong(robot, tmp_path):
    """Rows after the cut are found by their times; without its first row a group has no video, which is an error."""
    path, rows, videos = robot
    kept = [i for i, row in enumerate(rows) if row["timestamp"] < 0.45 or row["episode_index"] != 3]
    mldf.select(path, tmp_path / "tail.mldf", samples=kept)
    for one in loaded(tmp_path / "tail.mldf", windows={"camera": [0.0]}):
        row = rows[kept[int(one["row"])]]
        frame = videos[row["episode_index"]][round(row["timestamp"] * FPS)]
        assert np.array_equal(one["camera"][0], frame.transpose(2, 0, 1).astype(np.float32))
    kept = [i for i, row in enumerate(rows) if row["timestamp"] > 0.05 or row["episode_index"] != 3]
    mldf.select(path, tmp_path / "head.mldf", samples=kept)
    with pytest.raises(mldf.Error, match="field camera"):
        loaded(tmp_path / "head.mldf", windows={"camera": [0.0]})
