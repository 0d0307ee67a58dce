"""How well the people were named: answers against boxes whose names were checked by eye, beside two rivals on the same vectors."""

import csv

import numpy as np


def read_boxes(path):
    """Rows of frame, x, y, w, h, person, by frame."""
    boxes = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            box = [float(row[name]) for name in "xywh"]
            boxes.setdefault(int(row["frame"]), []).append((box, row["person"]))
    return boxes


def overlap(a, b):
    """Area of the intersection of two boxes over that of their union."""
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0
    return width * height / (a[2] * a[3] + b[2] * b[3] - width * height)


def truths(people, truth, labelled):
    """The checked name of each detected person, None where none was checked. Boxes that are labelled examples are not scored."""
    names = []
    for person in people:
        candidates = [(overlap(person.box, box), name) for box, name in truth.get(person.frame, []) if (box, name) not in labelled.get(person.frame, [])]
        best = max(candidates, default=(0, None))
        names.append(best[1] if best[0] > .5 else None)
    return names


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def rivals(vectors, examples, labels):
    """What the nearest labelled mean and the nearest labelled example would have said of each vector."""
    mean = vectors.mean(0)  # both are better with the mean of the stream taken off
    vectors, examples, labels = unit(vectors - mean), unit(examples - mean), np.array(labels)
    people = sorted(set(labels))
    means = unit(np.stack([examples[labels == person].mean(0) for person in people]))
    return {
        "nearest labelled mean": [people[i] for i in (vectors @ means.T).argmax(1)],
        "nearest labelled example": list(labels[(vectors @ examples.T).argmax(1)]),
    }


def table(people, names, examples, labels):
    """Prints the share that is right of all checked people, for slkstream and its rivals, and returns it by method."""
    checked = [i for i, name in enumerate(names) if name is not None]
    if not checked:
        raise SystemExit("none of the people is in truth.csv: nothing to score")
    answers = {"slkstream": [person.answer["label"] if person.answer else None for person in people]}
    answers |= rivals(np.stack([person.vector for person in people]), examples, labels)
    print(f"{len(checked)} of {len(people)} people have a checked name")
    shares = {}
    for method, said in answers.items():
        shares[method] = float(np.mean([said[i] == names[i] for i in checked]))
        print(f"  {method:26} {shares[method]:.3f} right")
    doubted = [i for i in range(len(people)) if people[i].answer and people[i].answer["unknown"]]
    print(f"  called unknown: {len(doubted)}, of them checked people {sum(names[i] is not None for i in doubted)}")
    return shares
