"""Neighbours by other libraries. index.py small X.npy K times searches of few rows; index.py METHOD X.npy CHECK K SETTINGS
builds an index of the rows, asks for the neighbours of each, and prints the seconds of both, the CPU seconds and the recall
on the rows of CHECK-rows.npy, whose K-th neighbour is at the squared distance of CHECK-limits.npy. index.py tune X.npy CHECK K
METHOD RECALL MOST prints the same for the settings that reach the recall in the least time, or come nearest to it; after one that
took more than MOST seconds no dearer ones are tried. index.py search X.npy
LIMITS.npy K RECALL has hnswlib find the last rows, of which there is a limit each, among the others, and prints what one takes."""
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
    index = hnswlib_index(x, settings)
    return hnswlib_search(index, x, k, settings["ef"])


def hnswlib_index(x, settings):
    import hnswlib

    index = hnswlib.Index("l2", x.shape[1])
    index.init_index(len(x), M=settings["M"], ef_construction=settings["construction"], random_seed=1)
    index.set_num_threads(threads)
    index.add_items(x)
    return index


def hnswlib_search(index, x, k, ef):
    index.set_ef(max(ef, k + 1))
    return index.knn_query(x, k + 1)[0]


def pynndescent_graph(x, k, settings):
    import pynndescent

    index = pynndescent.NNDescent(x, n_neighbors=settings["neighbours"], random_state=1, n_jobs=threads)
    return index.neighbor_graph[0][:, :k + 1]


def faiss_graph(x, k, settings):
    return faiss_search(faiss_index(x, settings), x, k, settings["ef"])


def faiss_index(x, settings):
    import faiss

    faiss.omp_set_num_threads(threads)
    index = faiss.IndexHNSWFlat(x.shape[1], settings["M"])
    index.hnsw.efConstruction = settings["construction"]
    index.add(x)
    return index


def faiss_search(index, x, k, ef):
    index.hnsw.efSearch = ef
    return index.search(x, k + 1)[1]


def flat_graph(x, k, settings):
    import faiss

    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatL2(x.shape[1])
    index.add(x)
    return index.search(x, k + 1)[1]


def timed(run):
    start, cpu = time.perf_counter(), time.process_time()
    result = run()
    return result, time.perf_counter() - start, time.process_time() - cpu


def compile_pynndescent(x, k):
    pynndescent_graph(x[:2000], k, {"neighbours": k + 1})


def attempts(x, k, method, reached, most):
    """Settings from cheap to dear, each with its graph, seconds and CPU seconds. A built HNSW is asked again with more effort
    until its number of links is among the reached."""
    if method == "flat":
        yield {}, *timed(lambda: flat_graph(x, k, {}))
    elif method == "pynndescent":
        compile_pynndescent(x, k)
        for neighbours in sorted({k + 1, 2 * k, 3 * k, 30}):
            settings = {"neighbours": neighbours}
            yield settings, *timed(lambda: pynndescent_graph(x, k, settings))
    else:
        build, search = {"hnswlib": (hnswlib_index, hnswlib_search), "faiss": (faiss_index, faiss_search)}[method]
        for links, construction in [(12, 40), (16, 80), (24, 160)]:
            settings = {"M": links, "construction": construction}
            index, seconds, cpu = timed(lambda: build(x, settings))
            for ef in [10, 20, 40, 80, 160, 320]:
                if links in reached:
                    break
                ids, more, morecpu = timed(lambda: search(index, x, k, ef))
                yield {**settings, "ef": ef}, ids, seconds + more, cpu + morecpu
            if seconds > most:
                return


def tune(x, k, method, check, target, most):
    """The first settings of a family to reach the target are its cheapest; dearer families may still be quicker in all."""
    best, reached = None, set()
    for settings, ids, seconds, cpu in attempts(x, k, method, reached, most):
        found = {"settings": settings, "seconds": seconds, "cpu": cpu, "recall": recall(x, np.asarray(ids), check, k)}
        enough = found["recall"] >= target
        if enough:
            reached.add(settings.get("M"))
        worth = (enough, -seconds if enough else found["recall"])
        if best is None or worth > best[0]:
            best = worth, found
        if "M" not in settings and (enough or seconds > most):
            break
    return best[1]


def recall(x, ids, check, k):
    rows, limits = np.load(check + "-rows.npy"), np.load(check + "-limits.npy")
    found = 0
    for row, limit in zip(rows, limits):
        near = [i for i in ids[row] if i != row and i >= 0][:k]
        d = ((x[near].astype(np.float64) - x[row]) ** 2).sum(1)
        found += int((d <= limit * (1 + 1e-5)).sum())
    return found / (len(rows) * k)


def search(x, limits, k, target):
    """The CPU seconds of a query with one thread, at the first effort that reaches the recall."""
    import hnswlib

    queries, x = x[-len(limits):], x[:-len(limits)]
    index = hnswlib_index(x, {"M": 16, "construction": 200})
    index.set_num_threads(1)
    for ef in [8, 10, 12, 16, 20, 28, 40, 56, 80, 112, 160, 240, 320, 480, 640, 1280]:
        index.set_ef(ef)
        times = []
        for _ in range(5):
            (ids, _), _, cpu = timed(lambda: index.knn_query(queries, k))
            times.append(cpu / len(queries))
        d = ((x[ids.astype(np.int64)] - queries[:, None]) ** 2).sum(2)
        found = float((d <= limits[:, None] * (1 + 1e-5)).mean())
        result = {"seconds": float(np.median(times)), "cpu": float(np.median(times)), "recall": found}
        if found >= target:
            break
    return result


method, path = sys.argv[1:3]
x = np.load(path).astype(np.float32)
if method == "small":
    print(json.dumps(small(x, int(sys.argv[3]))))
    sys.exit()
check, k = sys.argv[3], int(sys.argv[4])
if method == "search":
    print(json.dumps(search(x, np.load(check), k, float(sys.argv[5]))))
    sys.exit()
if method == "tune":
    print(json.dumps(tune(x, k, sys.argv[5], check, float(sys.argv[6]), float(sys.argv[7]))))
    sys.exit()
settings = json.loads(sys.argv[5])
graph = {"hnswlib": hnswlib_graph, "pynndescent": pynndescent_graph, "faiss": faiss_graph, "flat": flat_graph}[method]
if method == "pynndescent":  # compiles when first used
    compile_pynndescent(x, k)
ids, seconds, cpu = timed(lambda: graph(x, k, settings))
print(json.dumps({"seconds": seconds, "cpu": cpu, "recall": recall(x, np.asarray(ids), check, k)}))
