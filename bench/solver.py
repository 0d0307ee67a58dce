"""Times scikit-learn on the rows that the solver section wrote: solver.py WHAT FOLDER prints JSON, and once more for every line
that it then reads where WHAT is lloyd."""
import json
import os
import sys
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture
from sklearn.semi_supervised import LabelSpreading

warnings.filterwarnings("ignore")  # that 12 iterations do not converge is the point
what, folder = sys.argv[1:3]


def load(name):
    return np.load(os.path.join(folder, name + ".npy"))


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def median(fit, rounds=200):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        fit()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


if what == "episode":
    rows, labels = unit(load("episode")), load("labels")
    means = np.stack([rows[labels == k].mean(0) for k in range(labels.max() + 1)])
    print(json.dumps({
        "KMeans": 1e6 * median(lambda: KMeans(len(means), init=means, n_init=1).fit(rows)),
        "Spreading": 1e6 * median(lambda: LabelSpreading(kernel="knn").fit(rows, labels)),
    }))
elif what == "images":
    import pynndescent

    rows, threads = unit(load("rows")), int(os.environ["OMP_NUM_THREADS"])
    pynndescent.NNDescent(rows[:2000], n_neighbors=6, n_jobs=threads).neighbor_graph  # compiles when first used
    start = time.perf_counter()
    means = KMeans(10, init="k-means++", n_init=10, random_state=1).fit(rows)
    middle = time.perf_counter()
    pynndescent.NNDescent(rows, n_neighbors=6, random_state=1, n_jobs=threads).neighbor_graph
    print(json.dumps({"KMeans": middle - start, "Graph": time.perf_counter() - middle, "Labels": means.labels_.tolist()}))
else:
    rows, start = unit(load("rows")), unit(load("start"))
    k = len(start)

    def lloyd():
        begin, cpu = time.perf_counter(), time.process_time()
        fitted = KMeans(k, init=start, n_init=1, max_iter=12, tol=0, algorithm="lloyd").fit(rows)
        return {"Seconds": time.perf_counter() - begin, "CPU": time.process_time() - cpu, "Steps": fitted.n_iter_}

    if what == "lloyd":
        print(json.dumps(lloyd()), flush=True)
        for _ in sys.stdin:
            print(json.dumps(lloyd()), flush=True)
    else:
        begin = time.perf_counter()
        GaussianMixture(k, covariance_type="spherical", means_init=start, max_iter=12, tol=0, init_params="random_from_data").fit(rows)
        print(json.dumps(time.perf_counter() - begin))
