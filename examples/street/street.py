"""A street camera, from pixels to names: video -> people -> vectors -> Kafka -> slkstream run -> names on the video.

    python fetch.py
    python street.py

The second command starts slkstream on its embedded broker, shows it three labelled crops of each person, sends every person of
the video, and ends with a score and an annotated video in out/. The live page with the crops is at the address that slkstream
prints. To use your own networks, change detect and embed in models.py; to use your own camera, give --video a file, a device
number or a stream's URL, and --labelled a file like labelled.csv.
"""

import argparse
import base64
import colorsys
import dataclasses
import datetime
import json
import pathlib
import shutil
import subprocess
import sys
import threading
import time

import cv2
import numpy as np
from confluent_kafka import Consumer, Producer

import models
import score

HERE = pathlib.Path(__file__).parent


@dataclasses.dataclass
class Person:
    """A person in a frame, and what slkstream says of it."""

    frame: int
    box: list  # x, y, width, height in pixels
    vector: np.ndarray
    sent: float
    answer: dict | None = None
    answered: float = 0


def capture(video):
    opened = cv2.VideoCapture(int(video) if str(video).isdigit() else str(video))
    if not opened.isOpened():
        sys.exit(f"{video}: cannot be read as a video")
    return opened


def frames(video, most):
    """The frames of a video and their numbers, from 0."""
    source = capture(video)
    for number in range(most or sys.maxsize):
        ok, frame = source.read()
        if not ok:
            return
        yield number, frame


def pace(video):
    """Frames a second, as the video says; 10 where it does not."""
    rate = capture(video).get(cv2.CAP_PROP_FPS)
    return rate if 0 < rate < 1000 else 10


def crop(frame, box):
    x, y, width, height = (int(value) for value in box)
    return frame[max(0, y):max(1, y + height), max(0, x):max(1, x + width)]


def write_support(path, networks, video, labelled):
    """Embeds the labelled crops and writes them as labelled examples. Returns their vectors and names."""
    vectors, names = [], []
    with open(path, "w") as file:
        for number, frame in frames(video, max(labelled) + 1):
            for box, person in labelled.get(number, []):
                vector = networks.embed([crop(frame, box)])[0]
                file.write(json.dumps({"id": f"{person}-{number}", "label": person, "vector": vector.tolist()}) + "\n")
                vectors.append(vector)
                names.append(person)
    return np.stack(vectors), names


def start_stage(options, support):
    """Starts slkstream run and waits for the address of its broker. Returns the process and the address."""
    folder = options.out / "broker"
    command = [options.slkstream, "run", "--in", "people", "--out", "named", "--support", str(support), "--episode-size", str(options.episode_size)]
    command += ["--brokers", options.brokers] if options.brokers else ["--embedded-dir", str(folder)]
    if options.listen:
        command += ["--listen", options.listen]
    if not options.brokers:
        shutil.rmtree(folder, ignore_errors=True)
    print("starting:", " ".join(command))
    stage = subprocess.Popen(command)
    address = folder / "address"
    deadline = time.time() + 60
    while not options.brokers and not (address.exists() and address.read_text().strip()):
        if stage.poll() is not None or time.time() > deadline:
            sys.exit("slkstream did not start: is it on the path? (go install ./cmd/slkstream, or --slkstream FILE)")
        time.sleep(.1)
    return stage, options.brokers or address.read_text().strip()


class Answers:
    """Reads results beside the feed and hands each to the person it is about."""

    def __init__(self, brokers, people):
        self.people, self.count, self.ending = people, 0, threading.Event()
        self.consumer = Consumer({"bootstrap.servers": brokers, "group.id": f"street-{time.time_ns()}", "auto.offset.reset": "earliest", "topic.metadata.refresh.interval.ms": 500})
        self.consumer.subscribe(["named"])
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while not self.ending.is_set():
            for message in self.consumer.consume(500, .2):
                if message.error():
                    continue  # the topic may not be there yet
                result = json.loads(message.value())
                person = self.people.get(result["itemId"])
                if person is not None:
                    self.count += person.answer is None
                    person.answer, person.answered = result, time.time()

    def close(self):
        self.ending.set()
        self.thread.join()
        self.consumer.close()


def record(identity, number, seen, box, vector, picture):
    """One person as slkstream reads it: JSON, with the vector as base64 of little-endian float32.

    time is when the camera saw the person: by it slkstream closes episodes, however slow or fast the networks are. frame tells
    that two people were seen at once, so that they are not the same.
    """
    jpeg = cv2.imencode(".jpg", cv2.resize(picture, (48, 96)), [cv2.IMWRITE_JPEG_QUALITY, 70])[1]
    return json.dumps({
        "id": identity, "frame": str(number), "time": seen.isoformat(), "vector": base64.b64encode(vector.astype("<f4").tobytes()).decode(),
        "attributes": {"box": ",".join(f"{value:.0f}" for value in box), "image": "data:image/jpeg;base64," + base64.b64encode(jpeg).decode()},
    })


def feed(options, networks, producer, people, answers):
    """Sends every person of the video, at the camera's own pace if one is given."""
    begun, number, rate = time.time(), -1, options.fps or pace(options.video)
    length = max(0, capture(options.video).get(cv2.CAP_PROP_FRAME_COUNT)) / rate  # of a file; a camera has none
    start = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=length)
    for number, frame in frames(options.video, options.frames):
        boxes, seen = networks.detect(frame), start + datetime.timedelta(seconds=number / rate)
        if len(boxes):
            crops = [crop(frame, box) for box in boxes]
            for i, (box, vector, picture) in enumerate(zip(boxes, networks.embed(crops), crops)):
                identity = f"{number}-{i}"
                people[identity] = Person(number, [float(value) for value in box], vector, time.time())
                producer.produce("people", key="gate", value=record(identity, number, seen, box, vector, picture))
        producer.poll(0)
        if options.fps:
            time.sleep(max(0, begun + (number + 1) / options.fps - time.time()))
        if number % 25 == 24:
            print(f"\rframe {number + 1}: {len(people)} people, {answers.count} named", end="", flush=True)
    producer.flush()
    print(f"\n{number + 1} frames, {len(people)} people in {time.time() - begun:.0f} s")


def draw(options, people):
    """Writes the video with a box and a name at each person."""
    by_frame = {}
    for person in people:
        by_frame.setdefault(person.frame, []).append(person)
    names = sorted({person.answer["label"] for person in people if person.answer})
    colours = {name: tuple(int(255 * v) for v in colorsys.hsv_to_rgb(i / len(names), .8, 1)) for i, name in enumerate(names)}
    writer = None
    for number, frame in frames(options.video, options.frames):
        for person in by_frame.get(number, []):
            x, y, width, height = (int(value) for value in person.box)
            name, colour = "...", (160, 160, 160)
            if person.answer:
                unknown = person.answer["unknown"]
                name = person.answer["label"] + ("?" if unknown else "")
                colour = colour if unknown else colours[person.answer["label"]]
            cv2.rectangle(frame, (x, y), (x + width, y + height), colour, 2)
            for thickness, ink in ((3, (0, 0, 0)), (1, colour)):
                cv2.putText(frame, name, (x, y - 4), cv2.FONT_HERSHEY_SIMPLEX, .45, ink, thickness, cv2.LINE_AA)
        if writer is None:
            writer = cv2.VideoWriter(str(options.out / "street.mp4"), cv2.VideoWriter_fourcc(*"mp4v"), options.fps or pace(options.video), frame.shape[1::-1])
        writer.write(frame)
        if number % 150 == 149:
            cv2.imwrite(str(options.out / f"frame-{number + 1}.png"), frame)
    if writer is not None:
        writer.release()
        print(f"annotated video: {options.out / 'street.mp4'}")


def export(folder, people, names):
    """Writes what was sent as X.npy, y.npy and frame.npy, with which slkstream eval stream and eval file can be run."""
    folder.mkdir(parents=True, exist_ok=True)
    known = sorted({name for name in names if name is not None})
    np.save(folder / "X.npy", np.stack([person.vector for person in people]).astype("<f4"))
    np.save(folder / "y.npy", np.array([known.index(name) if name is not None else -1 for name in names], "<i4"))
    np.save(folder / "frame.npy", np.array([person.frame for person in people], "<i4"))
    (folder / "classes.txt").write_text("".join(name + "\n" for name in known))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--video", default=str(HERE / "media" / "vtest.avi"), help="file, device number or URL; default: what fetch.py fetched")
    parser.add_argument("--labelled", type=pathlib.Path, default=HERE / "labelled.csv", help="labelled boxes: frame,x,y,w,h,person")
    parser.add_argument("--truth", type=pathlib.Path, default=HERE / "truth.csv", help="checked boxes to score against, of the same form")
    parser.add_argument("--frames", type=int, default=0, help="stop after so many frames; default: all")
    parser.add_argument("--fps", type=float, default=0, help="send at this pace; default: as fast as it goes")
    parser.add_argument("--episode-size", type=int, default=100, help="people that slkstream names together; default 100")
    parser.add_argument("--slkstream", default="slkstream", help="the program; default: slkstream on the path")
    parser.add_argument("--brokers", default="", help="a Kafka of yours, HOST:PORT; default: slkstream's embedded broker")
    parser.add_argument("--listen", default="", help="address of slkstream's page; default: its own")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "out", help="folder for what is made; default: out")
    parser.add_argument("--threads", type=int, default=1, help="threads of the networks; default 1, which leaves a core to the stage")
    parser.add_argument("--at-least", type=float, default=0, help="fail unless this share is right and both rivals are beaten")
    return parser.parse_args()


def main():
    options = arguments()
    cv2.setNumThreads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.video == str(HERE / "media" / "vtest.avi") and not pathlib.Path(options.video).exists():
        sys.exit("nothing in media yet: run python fetch.py first")
    networks = models.Models(HERE / "media", options.threads)
    labelled = score.read_boxes(options.labelled)
    support = options.out / "support.jsonl"
    examples, labels = write_support(support, networks, options.video, labelled)
    print(f"{len(labels)} labelled crops of {len(set(labels))} people")
    stage, brokers = start_stage(options, support)
    people = {}
    try:
        answers = Answers(brokers, people)
        feed(options, networks, Producer({"bootstrap.servers": brokers, "linger.ms": 5, "partitioner": "murmur2_random"}), people, answers)
        deadline = time.time() + 30  # the last episode closes by silence
        while answers.count < len(people) and time.time() < deadline and stage.poll() is None:
            time.sleep(.1)
        answers.close()
    finally:
        stage.terminate()
        stage.wait()
    people = list(people.values())
    waits = sorted(person.answered - person.sent for person in people if person.answer)
    if len(waits) < len(people):
        sys.exit(f"only {len(waits)} of {len(people)} people were answered")
    print(f"named after {waits[len(waits) // 2]:.2f} s in the median, {waits[-1]:.2f} s at the latest")
    names = score.truths(people, score.read_boxes(options.truth), labelled)
    shares = score.table(people, names, examples, labels)
    export(options.out / "vectors", people, names)
    draw(options, people)
    rival = max(share for method, share in shares.items() if method != "slkstream")
    if options.at_least and (shares["slkstream"] < options.at_least or shares["slkstream"] <= rival):
        sys.exit(f"slkstream named {shares['slkstream']:.3f} right: less than {options.at_least} or than its best rival, {rival:.3f}")


if __name__ == "__main__":
    main()
