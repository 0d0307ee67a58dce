"""The two functions to change for a detector and an embedder of your own: detect(frame) and embed(crops).

detect(frame) takes a picture (height x width x 3, blue first, as OpenCV reads it) and returns boxes, one row each: x, y, width
and height in pixels. embed(crops) takes a list of such pictures and returns one float32 row for each. Any detector and any
embedder will do; the embedder should put pictures of one person near each other.
"""

import cv2
import numpy as np
import onnxruntime

import weights

DETECTOR_SCALE = 1.5  # frames are enlarged first: people are small in this video
LEAST_SCORE, MOST_OVERLAP = .4, .45
CROP = (192, 96)  # height and width that a crop is brought to: people are tall


def session(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class Models:
    """Holds both networks. media is the folder that fetch.py filled."""

    def __init__(self, media, threads=1):
        self.detector = session(weights.ssdlite(media / "ssdlite.pb"), threads)
        self.embedder = session(weights.mobilenet(media / "mobilenetv2.pt"), threads)

    def detect(self, frame):
        large = cv2.resize(frame, None, fx=DETECTOR_SCALE, fy=DETECTOR_SCALE)
        picture = large[:, :, ::-1].astype(np.float32).transpose(2, 0, 1)[None] / 127.5 - 1
        maps = self.detector.run(None, {"x": np.ascontiguousarray(picture)})
        boxes, scores = [], []
        for level, shapes in enumerate(anchor_shapes()):
            found, score = decode(maps[2 * level][0], maps[2 * level + 1][0], shapes, large.shape[:2])
            boxes.append(found)
            scores.append(score)
        boxes, scores = np.concatenate(boxes), np.concatenate(scores)
        if not len(boxes):
            return boxes
        kept = np.array(cv2.dnn.NMSBoxes(boxes.tolist(), scores.tolist(), LEAST_SCORE, MOST_OVERLAP), int).ravel()
        boxes = boxes[kept] / DETECTOR_SCALE
        width, height = boxes[:, 2], boxes[:, 3]
        return boxes[(height > 1.4 * width) & (height < 200) & (width > 10)]  # the shape of a standing person in this view

    def embed(self, crops):
        mean, spread = np.float32([.485, .456, .406]), np.float32([.229, .224, .225])  # what ImageNet networks expect
        batch = [(cv2.resize(crop, CROP[::-1])[:, :, ::-1].astype(np.float32) / 255 - mean) / spread for crop in crops]
        return self.embedder.run(None, {"x": np.stack(batch).transpose(0, 3, 1, 2)})[0]


def anchor_shapes():
    """Height and width of the boxes that the detector starts from, for each of its six maps."""
    scales = [.2, .35, .5, .65, .8, .95, 1]
    levels = [[(.1, 1), (.2, 2), (.2, .5)]]
    for scale, following in zip(scales[1:], scales[2:]):
        levels.append([(scale, ratio) for ratio in (1, 2, .5, 3, 1 / 3)] + [(np.sqrt(scale * following), 1)])
    return [[(300 * scale / np.sqrt(ratio), 300 * scale * np.sqrt(ratio)) for scale, ratio in level] for level in levels]


def decode(codes, scores, shapes, size):
    """Boxes and scores of one map: each cell holds a code and a score for each of its anchors."""
    count, rows, columns = len(shapes), *codes.shape[1:]
    codes, scores = codes.reshape(count, 4, rows, columns), scores.reshape(count, 2, rows, columns)
    centre_y = ((np.arange(rows) + .5) * size[0] / rows)[:, None]
    centre_x = ((np.arange(columns) + .5) * size[1] / columns)[None]
    boxes, kept = [], []
    for anchor, (tall, wide) in enumerate(shapes):
        y = codes[anchor, 0] / 10 * tall + centre_y
        x = codes[anchor, 1] / 10 * wide + centre_x
        height = tall * np.exp(np.minimum(codes[anchor, 2] / 5, 8))
        width = wide * np.exp(np.minimum(codes[anchor, 3] / 5, 8))
        score = 1 / (1 + np.exp(-scores[anchor, 1]))
        likely = score > LEAST_SCORE
        boxes.append(np.stack([x - width / 2, y - height / 2, width, height], -1)[likely])
        kept.append(score[likely])
    return np.concatenate(boxes), np.concatenate(kept)
