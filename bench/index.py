"""Neighbours by other libraries. index.py small X.npy K times searches of few rows; index.py METHOD X.npy CHECK K SETTINGS
builds an index of the rows, asks for the neighbours of each, and prints the seconds of both, the CPU seconds and the recall
on the rows of CHECK-rows.npy, whose K-th neighbour is at the squared distance of CHECK-limits.npy."""
import json
import os
import sys
import time

import numpy as np

threads = int(os.environ["OMP_NUM_THREADS"])


def small(x, k):
    import faiss
    from sklearn.neighbors import NearestNeighbors

    faiss.omp_set_num_threads(threads)

    def with_numpy():
        norms = (x * x).sum(1)
        d = norms[:, None] + norms - 2 * x @ x.T
        np.fill_diagonal(d, np.inf)
        best = np.argpartition(d, k, axis=1)[:, :k]
        return np.take_along_axis(best, np.take_along_axis(d, best, 1).argsort(1), 1)

    def with_faiss():
        index = faiss.IndexFlatL2(x.shape[1])
        index.add(x)
        return index.search(x, k + 1)

    def with_sklearn():
        return NearestNeighbors(n_neighbors=k, algorithm="brute").fit(x).kneighbors()

    result = {}
    for name, run in [("numpy", with_numpy), ("faiss flat", with_faiss), ("sklearn brute", with_sklearn)]:
        times = []
        until = time.perf_counter() + 1
        while time.perf_counter() < until or len(times) < 5:
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        result[name] = float(np.median(times))
    return result


def hnswlib_graph(x, k, settings):
    import hnswlib

    index = hnswlib.Index("l2", x.shape[1])
    index.init_index(len(x), M=settings["M"], ef_construction=settings["construction"], random_seed=1)
    index.set_num_threads(threads)
    index.add_items(x)
    index.set_ef(max(settings["ef"], k + 1))
    return index.knn_query(x, k + 1)[0]


def pynndescent_graph(x, k, settings):
    import pynndescent

    index = pynndescent.NNDescent(x, n_neighbors=settings.get("neighbours", k + 1), random_state=1, n_jobs=threads)
    return index.neighbor_graph[0][:, :k + 1]


def faiss_graph(x, k, settings):
    import faiss

    faiss.omp_set_num_threads(threads)
    if "M" in settings:
        index = faiss.IndexHNSWFlat(x.shape[1], settings["M"])
        index.hnsw.efConstruction = settings["construction"]
        index.hnsw.efSearch = settings["ef"]
    else:
        index = faiss.IndexFlatL2(x.shape[1])
    index.add(x)
    return index.search(x, k + 1)[1]


def recall(x, ids, check, k):
    rows, limits = np.load(check + "-rows.npy"), np.load(check + "-limits.npy")
    found = 0
    for row, limit in zip(rows, limits):
        near = [i for i in ids[row] if i != row and i >= 0][:k]
        d = ((x[near].astype(np.float64) - x[row]) ** 2).sum(1)
        found += int((d <= limit * (1 + 1e-5)).sum())
    return found / (len(rows) * k)


method, path = sys.argv[1:3]
x = np.load(path).astype(np.float32)
if method == "small":
    print(json.dumps(small(x, int(sys.argv[3]))))
    sys.exit()
check, k, settings = sys.argv[3], int(sys.argv[4]), json.loads(sys.argv[5])
graph = {"hnswlib": hnswlib_graph, "pynndescent": pynndescent_graph, "faiss": faiss_graph}[method]
if method == "pynndescent":  # compiles when first used
    graph(x[:2000], k, settings)
start, cpu = time.perf_counter(), time.process_time()
ids = graph(x, k, settings)
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
print(json.dumps({"seconds": seconds, "cpu": cpu, "recall": recall(x, np.asarray(ids), check, k)}))
