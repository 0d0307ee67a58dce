"""Clusters an exported stream with ids that last, as one would without slkstream: discovery.py STREAM prints one JSON list."""
import json
import os
import sys

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import HDBSCAN

folder = sys.argv[1]
rows = np.load(os.path.join(folder, "X.npy"))
rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
rows -= rows.mean(0)  # what all rows share hides what tells them apart; that it is known beforehand is in their favour
rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
episodes = np.load(os.path.join(folder, "episode.npy"))


def hdbscan_matched(radius=0.8):
    """HDBSCAN on each episode; its clusters take the ids of the nearest known centres, one to one."""
    centres, out = {}, np.zeros(len(rows), int)
    following = 0
    for episode in range(episodes.max() + 1):
        items = np.where(episodes == episode)[0]
        labels = HDBSCAN(min_cluster_size=2, copy=True).fit(rows[items]).labels_
        loose = np.where(labels < 0)[0]  # noise: each by itself
        labels[loose] = labels.max() + 1 + np.arange(len(loose))
        found = np.unique(labels)
        means = np.stack([rows[items[labels == f]].mean(0) for f in found])
        names = list(centres)
        matched = {}
        if names:
            cost = ((means[:, None] - np.stack([centres[n] for n in names])[None]) ** 2).sum(2)
            for i, j in zip(*linear_sum_assignment(np.minimum(cost, radius))):
                if cost[i, j] <= radius:
                    matched[i] = names[j]
        for i, f in enumerate(found):
            if i not in matched:
                matched[i] = following
                following += 1
            centres[matched[i]] = means[i]
            out[items[labels == f]] = matched[i]
    return out.tolist()


print(json.dumps([{"peer": "HDBSCAN an episode, Hungarian matching", "labels": hdbscan_matched()}]))
