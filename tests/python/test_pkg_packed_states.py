"""States of packed views: resuming at every batch, on other ranks, with other threads; where documents come."""

import json

import mldf
import numpy as np
import pytest
from packed_reference import ALL, RULE_NAMES, corpus, texts_of, view_text
from test_plan_tokens import documents

# ---- Resuming ----


@pytest.mark.parametrize("rule", [{}, {"algorithm": "concat"}], **RULE_NAMES)
def test_resume_at_every_batch_and_on_other_ranks(tmp_path, rule):
    texts = texts_of(documents(10, 150))
    path = corpus(tmp_path / "a.mldf", texts)
    text = view_text(32, rule, objective="fim(0.5, 0.5, 59000, 59001, 59002)")
    options = {
        "shuffle": True,
        "seed": 11,
        "view": text,
        "fields": ["tokens", "labels", "positions", "documents"],
        "threads": 1,
    }

    def run(loaders, count=None):
        """Rows of all ranks in the order of the epoch, as bytes."""
        rows = []
        for k, batches in enumerate(zip(*loaders)):
            rows += [b"".join(np.asarray(a[i]).tobytes() for a in b) for b in batches for i in range(len(b[0]))]
            if k + 1 == count:
                break
        return rows

    with mldf.Loader(path, 12, **options) as loader:
        whole = run([loader])
        steps = len(loader)
    for at in range(1, steps):
        with mldf.Loader(path, 12, **options) as loader:
            first = run([loader], at)
            state = json.loads(json.dumps(loader.state_dict()))
        with mldf.Loader(path, 12, **options) as loader:
            loader.load_state_dict(state)
            assert first + run([loader]) == whole
    rows, state = [], None
    for world in (1, 2, 4, 3):
        loaders = [mldf.Loader(path, global_batch_size=12, rank=r, world_size=world, **options) for r in range(world)]
        for loader in loaders:
            if state:
                loader.load_state_dict(state)
        rows += run([iter(x) for x in loaders], None if world == 3 else 1)
        state = loaders[0].state_dict()
        for loader in loaders:
            loader.close()
    assert sorted(rows) == sorted(whole) and len(set(rows)) > 10


def test_the_same_bytes_for_any_number_of_threads(tmp_path):
    texts = texts_of(documents(12, 200))
    path = corpus(tmp_path / "a.mldf", texts)
    runs = []
    for threads in (0, 1, 2, 5):
        for again in range(2):
            with mldf.Loader(
                path, 6, shuffle=True, seed=again, view="packed(tokens, 32)", threads=threads, fields=ALL
            ) as loader:
                runs.append([np.asarray(a).tobytes() for b in loader for a in b])
    assert all(run == runs[i % 2] for i, run in enumerate(runs))
