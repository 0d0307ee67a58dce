"""Neighbours by other libraries. index.py small X.npy K times searches of few rows. index.py race X.npy CHECK K METHOD RECALL MOST
looks for the settings that reach the recall in the least time, or come nearest to it, on the rows of CHECK-rows.npy, whose K-th
neighbour is at the squared distance of CHECK-limits.npy: after a build of more than MOST seconds no dearer one is made. It
prints these with the seconds of building an index and asking it for the neighbours of every row, and once more for every line
that it then reads: a process compiles once."""
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


def timed(run):
    start, cpu = time.perf_counter(), time.process_time()
    result = run()
    return result, time.perf_counter() - start, time.process_time() - cpu


class Pynndescent:
    """Lists of more neighbours, until they are good enough."""

    def __init__(self, x, check, k):
        self.x, self.check, self.k = x, check, k
        self.graph(x[:2000], k + 1)  # compiles when first used

    def graph(self, x, neighbours):
        import pynndescent

        return pynndescent.NNDescent(x, n_neighbors=neighbours, random_state=1, n_jobs=threads).neighbor_graph[0]

    def tune(self, target, most):
        lengths = sorted({max(self.k + 1, int(self.k * by)) for by in [1.1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 6]})
        best, low, high = None, 0, len(lengths) - 1
        while low <= high:  # for the shortest that are good enough
            middle = (low + high) // 2
            found = self.run({"neighbours": lengths[middle]})
            if best is None or worth(found, target) > worth(best, target):
                best = found
            if found["recall"] >= target or found["seconds"] > most:
                high = middle - 1
            else:
                low = middle + 1
        return best

    def run(self, settings):
        ids, seconds, cpu = timed(lambda: self.graph(self.x, settings["neighbours"]))
        right = recall(self.x, ids[self.check.rows], self.check, self.k)
        return {"settings": settings, "seconds": seconds, "cpu": cpu, "recall": right}


class HNSW:
    """Graphs from cheap to dear. Each is asked for the checked rows alone with more effort until they are good enough, and
    then once for all rows. A graph whose build alone takes as long as the best so far in all ends it: dearer ones take longer."""

    def __init__(self, x, check, k, build, search):
        self.x, self.check, self.k, self.build, self.search = x, check, k, build, search

    def tune(self, target, most):
        best = None
        for links, construction in [(12, 40), (16, 80), (24, 160)]:
            settings = {"M": links, "construction": construction}
            index, *built = timed(lambda: self.build(self.x, settings))
            if best and best["recall"] >= target and built[0] >= best["seconds"]:
                break
            for ef in [10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320]:
                ids = self.search(index, self.x[self.check.rows], self.k, ef)
                if recall(self.x, ids, self.check, self.k) >= target:
                    break
            found = self.ask(index, built, {**settings, "ef": ef})
            if best is None or worth(found, target) > worth(best, target):
                best = found
            if built[0] > most:
                break
        return best

    def run(self, settings):
        index, *built = timed(lambda: self.build(self.x, settings))
        return self.ask(index, built, settings)

    def ask(self, index, built, settings):
        ids, seconds, cpu = timed(lambda: self.search(index, self.x, self.k, settings["ef"]))
        right = recall(self.x, ids[self.check.rows], self.check, self.k)
        return {"settings": settings, "seconds": built[0] + seconds, "cpu": built[1] + cpu, "recall": right}


def worth(found, target):
    enough = found["recall"] >= target
    return enough, -found["seconds"] if enough else found["recall"]


class Flat:
    """Every row is compared with all, which takes the same for each: a tenth of them is asked for, and counted ten times."""

    part = 10

    def __init__(self, x, check, k):
        self.x, self.check, self.k = x, check, k

    def tune(self, target, most):
        return self.run({})

    def run(self, settings):
        import faiss

        faiss.omp_set_num_threads(threads)
        index = faiss.IndexFlatL2(self.x.shape[1])
        index.add(self.x)
        queries = np.ascontiguousarray(self.x[::self.part])
        _, seconds, cpu = timed(lambda: index.search(queries, self.k + 1))
        right = recall(self.x, index.search(self.x[self.check.rows], self.k + 1)[1], self.check, self.k)
        scale = len(self.x) / len(queries)
        return {"settings": {}, "seconds": scale * seconds, "cpu": scale * cpu, "recall": right}


class Check:
    """Rows whose neighbours are known, and the squared distance of the last."""

    def __init__(self, path):
        self.rows, self.limits = np.load(path + "-rows.npy"), np.load(path + "-limits.npy")


def recall(x, ids, check, k):
    found = 0
    for row, near, limit in zip(check.rows, ids, check.limits):
        near = [i for i in near if i != row and i >= 0][:k]
        d = ((x[near].astype(np.float64) - x[row]) ** 2).sum(1)
        found += int((d <= limit * (1 + 1e-5)).sum())
    return found / (len(check.rows) * k)


what, path = sys.argv[1:3]
x = np.load(path).astype(np.float32)
if what == "small":
    print(json.dumps(small(x, int(sys.argv[3]))))
    sys.exit()
check, k = sys.argv[3], int(sys.argv[4])
method, target, most = sys.argv[5], float(sys.argv[6]), float(sys.argv[7])
check = Check(check)
racer = {
    "pynndescent": lambda: Pynndescent(x, check, k),
    "hnswlib": lambda: HNSW(x, check, k, hnswlib_index, hnswlib_search),
    "faiss": lambda: HNSW(x, check, k, faiss_index, faiss_search),
    "flat": lambda: Flat(x, check, k),
}[method]()
found = racer.tune(target, most)
print(json.dumps(found), flush=True)
for _ in sys.stdin:
    print(json.dumps(racer.run(found["settings"])), flush=True)
