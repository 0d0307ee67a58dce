"""Labels an exported file by scikit-learn: files.py FOLDER LabelSpreading|LabelPropagation prints the share of right labels."""
import json
import os
import sys
import warnings

import numpy as np
from sklearn import semi_supervised

warnings.filterwarnings("ignore")  # of convergence: the defaults are what people run
folder, method = sys.argv[1:3]
rows, truth, known, support, classes = (
    np.load(os.path.join(folder, name + ".npy")) for name in ("X", "truth", "known", "support", "support-labels"))
everything = np.concatenate([rows, support]).astype(np.float32)
everything -= np.mean([support[classes == c].mean(0) for c in np.unique(classes)], axis=0)
everything /= np.maximum(np.linalg.norm(everything, axis=1, keepdims=True), 1e-12)
labels = np.concatenate([np.full(len(rows), -1), classes])
answer = getattr(semi_supervised, method)(kernel="knn", n_neighbors=10).fit(everything, labels).transduction_[:len(rows)]
scored = known == 1
print(json.dumps(float((answer == truth)[scored].mean())))
