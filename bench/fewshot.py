"""Scores scikit-learn on exported few-shot tasks: fewshot.py DATA EXPORT prints one JSON list."""
import json
import os
import sys
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestCentroid
from sklearn.semi_supervised import LabelSpreading

warnings.filterwarnings("ignore")  # of convergence: the defaults are what people run
data, export = sys.argv[1:3]
rows = np.load(os.path.join(data, "X.npy")).astype(np.float32)
base = np.load(os.path.join(export, "base.npy"))
rows -= rows[base].mean(0)
rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def means(x, y, ways):
    return np.stack([x[y == k].mean(0) for k in range(ways)])


def nearest_centroid(x, y, q, ways):
    return NearestCentroid().fit(x, y).predict(q)


def kmeans(x, y, q, ways):
    start = means(x, y, ways)
    return KMeans(ways, init=start, n_init=1).fit(np.concatenate([x, q])).predict(q)


def spreading(**settings):
    def run(x, y, q, ways):
        labels = np.concatenate([y, np.full(len(q), -1)])
        return LabelSpreading(**settings).fit(np.concatenate([x, q]), labels).transduction_[len(x):]
    return run


def mixture(x, y, q, ways):
    everything = np.concatenate([x, q])
    model = GaussianMixture(ways, covariance_type="spherical", means_init=means(x, y, ways), random_state=0)
    return model.fit(everything).predict(q)


peers = {
    "nearest centroid": nearest_centroid,
    "KMeans from the support means": kmeans,
    "LabelSpreading, kNN": spreading(kernel="knn"),
    "LabelSpreading, RBF": spreading(kernel="rbf"),
    "GaussianMixture, spherical, from the support means": mixture,
}
out = []
for cell in sorted(os.listdir(export)):
    folder = os.path.join(export, cell)
    if not os.path.isdir(folder):
        continue
    tasks, truths, supports = (np.load(os.path.join(folder, name + ".npy")) for name in ("rows", "truth", "support"))
    for name, run in peers.items():
        accuracy, times = [], []
        for task, truth, support in zip(tasks, truths, supports):
            known = support == 1
            x, q = rows[task[known]], rows[task[~known]]
            start = time.perf_counter()
            answer = run(x, truth[known], q, truth[known].max() + 1)
            times.append(time.perf_counter() - start)
            accuracy.append(100 * (answer == truth[~known]).mean())
        out.append({"peer": name, "cell": cell, "accuracy": float(np.mean(accuracy)), "episode_us": 1e6 * float(np.median(times))})
print(json.dumps(out))
