"""The reference of embeddings: what is saved is what is loaded, and nothing else is taken for one."""

from __future__ import annotations

import json
import math
import os
import random
import re

import pytest

from watchkeeper_fleet.agent import projections, reference

torch = pytest.importorskip("torch", reason="torch is not here")


def normal(samples=500, dimension=16, seed=1, **more):
    return torch.randn(samples, dimension, generator=torch.Generator().manual_seed(seed), **more)


@pytest.fixture
def saved(tmp_path):
    """The path of a reference, and what is in it."""
    path = tmp_path / "reference.json"
    reference.save(path, normal())
    return path, json.loads(path.read_text())


def test_it_comes_back_as_it_was(tmp_path):
    path = tmp_path / "reference.json"
    made = reference.save(path, normal() + 1, bins=12, projections=5, seed=7)
    assert reference.load(path) == reference.load(str(path)) == made
    assert (made.seed, made.samples, made.dimension, made.projections, made.bins) == (7, 500, 16, 5, 12)
    assert os.listdir(tmp_path) == ["reference.json"]  # noqa: PTH208 - nothing else is left there
    embeddings = (normal() + 1).double()
    assert made.centroid == pytest.approx(embeddings.mean(0).tolist(), abs=1e-6)
    assert made.mean_norm == pytest.approx(float(embeddings.norm(dim=1).mean()), rel=1e-6)


def test_bins_hold_about_the_same():
    made = reference.measured(normal(samples=1000), bins=10)
    assert all(90 <= count <= 110 for row in made.counts for count in row)


def test_the_directions_never_change():
    """A file holds their seed alone: with others, every saved reference would be wrong."""
    rows = projections.directions(seed=0, dimension=12, projections=2)
    signs = ["".join("+" if value > 0 else "-" for value in row) for row in rows]
    assert signs == ["----++++----", "--+-+-+--+++"]
    assert all(math.fsum(value * value for value in row) == pytest.approx(1) for row in rows)
    assert projections.directions(1, 12, 2) != rows


def test_the_same_embeddings_make_the_same_bytes(tmp_path):
    for name in "ab":
        reference.save(tmp_path / name, normal())
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_types_of_embeddings(dtype):
    made, exact = reference.measured(normal().to(dtype)), reference.measured(normal())
    assert made.centroid == pytest.approx(exact.centroid, abs=0.01)
    assert made.samples == 500


def test_what_is_not_finite_is_left_out():
    embeddings = normal()
    embeddings[::10, 3] = math.nan
    embeddings[1, 2] = math.inf
    made = reference.measured(embeddings)
    assert made.samples == 449
    kept = embeddings[embeddings.isfinite().all(1)].double()
    assert made.centroid == pytest.approx(kept.mean(0).tolist(), abs=1e-6)


def test_gradients_and_modes_are_no_matter():
    with torch.inference_mode():
        one = reference.measured(normal())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert reference.measured(normal().requires_grad_()) == one


def test_many_equal_embeddings_have_no_edge_on_them():
    """A query that half of the users ask."""
    embeddings = normal(samples=1000)
    embeddings[:500] = embeddings[0]
    made = reference.measured(embeddings)
    weights = torch.tensor(projections.directions(0, 16, 8))
    values = (weights @ embeddings[0]).tolist()
    for value, edges in zip(values, made.edges, strict=True):
        assert min(abs(value - edge) for edge in edges) > 1e-7
    assert all(max(row) >= 500 for row in made.counts)


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: [[1.0, 2.0]], TypeError, "made of a tensor of embeddings, not of list"),
        (lambda: normal()[0], ValueError, r"shape \[samples, dimension\], not of torch.float32 of shape \(16,\)"),
        (lambda: normal().long(), ValueError, "not of torch.int64"),
        (lambda: normal()[:0], ValueError, "shape"),
        (lambda: normal(samples=99), ValueError, "99 finite embeddings are too few for 10 bins: .* wants 100 or more"),
        (lambda: normal() * math.nan, ValueError, "0 finite embeddings are too few"),
        (lambda: normal() * 0, ValueError, "all embeddings are zero"),
        (lambda: normal().to_sparse(), ValueError, "plain tensor"),
        (lambda: normal().to("meta"), ValueError, "plain tensor"),
        (lambda: torch.nested.nested_tensor([*normal()], layout=torch.jagged), ValueError, "plain tensor"),
    ],
    ids=["list", "one", "integers", "none", "few", "nan", "zero", "sparse", "meta", "nested"],
)
def test_what_is_refused(tmp_path, make, error, says):
    with pytest.raises(error, match=says) as caught:
        reference.save(tmp_path / "file", make())
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("more", [{"bins": 1}, {"bins": 1000}, {"projections": 0}, {"projections": 1000}], ids=str)
def test_counts_that_make_no_sense(more):
    with pytest.raises(ValueError, match="2 to 100, and 1 to 100"):
        reference.measured(normal(), **more)


def test_a_disk_that_refuses_leaves_the_old_file(saved, tmp_path):
    path, before = saved
    (tmp_path / f"reference.json.{os.getpid()}.part").mkdir()  # where the new one would be written
    with pytest.raises(OSError, match="part"):
        reference.save(path, normal(seed=2))
    assert json.loads(path.read_text()) == before


def changed(found, path, value):
    *way, last = path
    for part in way:
        found = found[part]
    found[last] = value


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (["format"], "other", "it is some other file"),
        (["version"], 2, "its version is 2, and this is for 1"),
        (["seed"], "0", "seed"),
        (["samples"], 501, "counts"),
        (["samples"], -1, "samples"),
        (["mean_norm"], 0, "mean_norm"),
        (["mean_norm"], math.nan, "mean_norm"),
        (["mean_norm"], 10**400, "mean_norm"),
        (["centroid", 3], -(10**400), "centroid"),
        (["centroid"], [], "centroid is missing"),
        (["centroid"], None, "centroid is missing"),
        (["centroid", 3], "1", "centroid"),
        (["centroid", 3], math.inf, "centroid"),
        (["centroid", 3], [1, 2], "centroid"),
        (["edges", 0, 0], 1e9, "edges"),
        (["edges", 0, 0], True, "edges"),
        (["edges", 0], [], "edges"),
        (["edges", 0], 5, "lists of lists"),
        (["edges", 1], [1.0], "counts"),
        (["counts", 0, 0], 0, "counts"),
        (["counts", 0, 0], 1.5, "counts"),
        (["counts"], [[500] + [0] * 9], "counts"),
        (["counts"], {}, "counts is missing"),
    ],
)
def test_a_file_that_was_changed(saved, path, value, says):
    file, found = saved
    changed(found, path, value)
    file.write_text(json.dumps(found))
    with pytest.raises(ValueError, match=rf"reference.json: no reference of embeddings \(.*{says}.*\): save one with"):
        reference.load(file)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b"\x80\x04K\x01.", b"[" * 200_000, b"1" * 5000],
    ids=["empty", "torn", "list", "null", "bytes", "pickle", "deep", "number"],
)
def test_what_is_no_reference_at_all(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match=r"file: no reference of embeddings \(.*\): save one") as caught:
        reference.load(tmp_path / "file")
    assert "\n" not in str(caught.value)


def test_a_file_torn_anywhere(saved):
    file, _ = saved
    whole = file.read_bytes()
    generator = random.Random(0)
    for _ in range(100):
        file.write_bytes(whole[: generator.randrange(len(whole))])
        with pytest.raises(ValueError, match="no reference"):
            reference.load(file)


def test_a_file_that_is_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "MOST_BYTES", 100)
    (tmp_path / "file").write_bytes(b" " * 101)
    with pytest.raises(ValueError, match="it is too large"):
        reference.load(tmp_path / "file")


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path))):
        reference.load(tmp_path / "file")
