"""A file that does not fit into memory, and what others make of it:

    large_file.py make FOLDER [ROWS DIMENSION CLASSES [plain]]    X.npy, y.npy, and 5 labelled rows a class: S.npy, L.npy
    large_file.py score FOLDER LABELS.npy                         accuracy as labels and NMI as clusters, of .npy labels
    large_file.py faiss|minibatch FOLDER                          k-means by faiss or scikit-learn's MiniBatchKMeans

Rows are unit vectors in random order. A class is 20 groups around a centre; a group is spread over 12 directions of its own, with a little noise
in all. With `plain` a class is one round Gaussian, in which no row is much nearer to another than the rest are.
Ours is `slkstream label --input X.npy --support S.npy --support-labels L.npy --output y.npy --max-memory 1.5GiB`, or with --k in
position of the support.
"""
import json
import os
import sys
import time

import numpy as np

what, folder = sys.argv[1:3]
BLOCK = 50_000  # rows at a time


def path(name):
    return os.path.join(folder, name + ".npy")


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def make(n, d, k, plain):
    random = np.random.default_rng(1)
    groups = 1 if plain else 20
    classes = random.normal(size=(k, d)).astype(np.float32)
    centres = classes[:, None] + (0 if plain else .7) * random.normal(size=(k, groups, d)).astype(np.float32)
    directions = random.normal(size=(k * groups, 12, d)).astype(np.float32) if not plain else None

    def rows_of(y):
        count = len(y)
        group = random.integers(groups, size=count)
        rows = centres[y, group] + (1 if plain else .2) * random.normal(size=(count, d)).astype(np.float32)
        if not plain:
            at = y * groups + group
            along = .5 * random.normal(size=(count, 12)).astype(np.float32)
            for g in np.unique(at):
                of = at == g
                rows[of] += along[of] @ directions[g]
        return unit(rows)

    os.makedirs(folder, exist_ok=True)
    x = np.lib.format.open_memmap(path("X"), "w+", np.float32, (n, d))
    y = random.integers(k, size=n).astype(np.int32)
    for at in range(0, n, BLOCK):
        x[at:at + BLOCK] = rows_of(y[at:at + BLOCK])
    labels = np.repeat(np.arange(k, dtype=np.int32), 5)
    np.save(path("y"), y)
    np.save(path("S"), rows_of(labels))
    np.save(path("L"), labels)


def nmi(a, b):
    joint = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(joint, (a, b), 1)
    joint /= joint.sum()
    rows, columns = joint.sum(1), joint.sum(0)
    entropy = lambda p: -(p[p > 0] * np.log(p[p > 0])).sum()
    return (entropy(rows) + entropy(columns) - entropy(joint.ravel())) / np.sqrt(entropy(rows) * entropy(columns))


def score(labels):
    truth = np.load(path("y"))
    return {"accuracy": float((labels == truth).mean()), "nmi": float(nmi(labels.astype(np.int64), truth.astype(np.int64)))}


if what == "make":
    sizes = [int(v) for v in sys.argv[3:6]] or [2_000_000, 256, 50]
    make(*sizes, "plain" in sys.argv)
elif what == "score":
    print(json.dumps(score(np.load(sys.argv[3]))))
else:
    x, k = np.load(path("X"), mmap_mode="r"), int(np.load(path("L")).max()) + 1
    start = time.perf_counter()
    if what == "faiss":
        import faiss
        means = faiss.Kmeans(x.shape[1], k, niter=20, seed=1, max_points_per_centroid=len(x))
        means.train(np.ascontiguousarray(x))
        labels = means.index.search(np.ascontiguousarray(x), 1)[1][:, 0]
    else:
        from sklearn.cluster import MiniBatchKMeans
        means = MiniBatchKMeans(k, random_state=1, n_init=1, batch_size=4096)
        for at in range(0, len(x), 4096):
            means.partial_fit(x[at:at + 4096])
        labels = np.concatenate([means.predict(x[at:at + BLOCK]) for at in range(0, len(x), BLOCK)])
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, **score(labels)}))
