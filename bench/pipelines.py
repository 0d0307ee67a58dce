"""What a user would write instead of the stage: a consumer, a classifier, a producer.

pipelines.py METHOD --brokers ADDRESS --in TOPIC --out TOPIC --support FILE --group NAME

Records are little-endian float32 with the stream as key. A record with the header "label" teaches. Each record gets one
JSON result with the id TOPIC/PARTITION/OFFSET and a label. It runs until it is killed.

centroid, 1nn: confluent-kafka, numpy and scikit-learn's rules, with running means and kept examples.
river: confluent-kafka and an online softmax regression of river. quix: Quix Streams around centroid.
"""

import argparse
import json
from pathlib import Path

import numpy as np


class Centroid:
    """Nearest running class mean of unit rows."""

    def __init__(self, rows, labels):
        self.names = sorted(set(labels))
        number = {name: i for i, name in enumerate(self.names)}
        self.number = number
        self.sums = np.zeros((len(self.names), rows.shape[1]), np.float32)
        np.add.at(self.sums, [number[label] for label in labels], rows)

    def answer(self, rows, taught):
        means = self.sums / np.linalg.norm(self.sums, axis=1, keepdims=True)
        best = np.argmax(rows @ means.T, axis=1)
        for i, label in taught:
            if label not in self.number:
                self.number[label] = len(self.names)
                self.names.append(label)
                self.sums = np.vstack([self.sums, rows[i]])
            else:
                self.sums[self.number[label]] += rows[i]
        return [self.names[b] for b in best]


class Nearest:
    """The nearest labelled example."""

    def __init__(self, rows, labels):
        self.rows, self.labels = rows, list(labels)

    def answer(self, rows, taught):
        best = np.argmax(rows @ self.rows.T, axis=1)
        names = [self.labels[b] for b in best]
        if taught:
            self.rows = np.vstack([self.rows, rows[[i for i, _ in taught]]])
            self.labels += [label for _, label in taught]
        return names


class River:
    """Softmax regression, one step a label."""

    def __init__(self, rows, labels):
        from river import linear_model, optim

        self.model = linear_model.SoftmaxRegression(optimizer=optim.SGD(1.0))
        order = np.random.default_rng(1).permutation(len(rows))
        for i in order:
            self.model.learn_one(dict(enumerate(rows[i].tolist())), labels[i])

    def answer(self, rows, taught):
        names = [self.model.predict_one(dict(enumerate(row.tolist()))) for row in rows]
        for i, label in taught:
            self.model.learn_one(dict(enumerate(rows[i].tolist())), label)
        return names


def unit(rows, mean):
    rows = rows - mean
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def support(path):
    vectors, labels = [], []
    with open(path) as lines:
        for line in lines:
            example = json.loads(line)
            vectors.append(example["vector"])
            labels.append(example["label"])
    rows = np.array(vectors, np.float32)
    mean = rows.mean(axis=0)
    return unit(rows, mean), labels, mean


def confluent(args, method, mean):
    from confluent_kafka import Consumer, Producer

    producer = Producer({"bootstrap.servers": args.brokers, "acks": "all", "linger.ms": 5})
    consumer = Consumer(
        {
            "bootstrap.servers": args.brokers,
            "group.id": args.group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.max.bytes": 16 << 20,
        }
    )
    consumer.subscribe([getattr(args, "in")])
    while True:
        messages = [m for m in consumer.consume(1000, timeout=0.2) if m.error() is None]
        if not messages:
            producer.poll(0)
            continue
        rows = unit(np.frombuffer(b"".join(m.value() for m in messages), "<f4").reshape(len(messages), -1), mean)
        taught = [(i, dict(m.headers())["label"].decode()) for i, m in enumerate(messages) if m.headers()]
        for message, label in zip(messages, method.answer(rows, taught)):
            value = json.dumps({"id": f"{message.topic()}/{message.partition()}/{message.offset()}", "label": label})
            while True:
                try:
                    producer.produce(args.out, value, key=message.key(), partition=message.partition())
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.flush()
        consumer.commit(asynchronous=True)


def quix(args, method, mean):
    from quixstreams import Application

    app = Application(
        broker_address=args.brokers, consumer_group=args.group, auto_offset_reset="earliest", loglevel="WARNING",
        state_dir=Path(args.support).parent / "state",
    )
    inputs = app.topic(getattr(args, "in"), value_deserializer="bytes", key_deserializer="bytes")
    outputs = app.topic(args.out, value_serializer="json", key_serializer="bytes")

    def label(value, key, timestamp, headers):
        from quixstreams import message_context

        at = message_context()
        row = unit(np.frombuffer(value, "<f4")[None], mean)
        taught = [(0, dict(headers)["label"].decode())] if headers else []
        return {"id": f"{at.topic}/{at.partition}/{at.offset}", "label": method.answer(row, taught)[0]}

    app.dataframe(inputs).apply(label, metadata=True).to_topic(outputs)
    app.run()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("method", choices=["centroid", "1nn", "river", "quix"])
    for name in ("brokers", "in", "out", "support", "group"):
        parser.add_argument("--" + name, required=True)
    args = parser.parse_args()
    rows, labels, mean = support(args.support)
    method = {"centroid": Centroid, "quix": Centroid, "1nn": Nearest, "river": River}[args.method](rows, labels)
    (quix if args.method == "quix" else confluent)(args, method, mean)


main()
