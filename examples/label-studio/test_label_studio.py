"""The way of one item: review record, task, annotation, label. Run: python test_label_studio.py"""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("label_studio.py")


def run(what, text):
    return subprocess.run([sys.executable, SCRIPT, what], input=text, capture_output=True, text=True, check=True).stdout


def review(name, **guess):
    guess = {"result": "in/0/42", "episode": 3, "label": "milk", "confidence": 0.41, "unknown": False, **guess}
    return {"id": name, "stream": "cam-7", "model": "clip", "vector": [0.12, -0.5], "attributes": {"image": "https://pictures.example/1.jpg"}, "guess": guess}


tasks = json.loads(run("tasks", "\n".join(json.dumps(r) for r in (review("a"), review("b", unknown=True), review("c"), review("d")))))
assert [t["data"]["slkstream"]["id"] for t in tasks] == ["a", "b", "c", "d"]
assert tasks[0]["data"]["image"] == "https://pictures.example/1.jpg"
assert tasks[0]["predictions"][0]["result"][0]["value"]["choices"] == ["milk"] and tasks[0]["predictions"][0]["score"] == 0.41
assert tasks[1]["predictions"] == []


def annotated(task, *choices, cancelled=False):
    result = [{"from_name": "label", "to_name": "image", "type": "choices", "value": {"choices": [c]}} for c in choices]
    return {**task, "id": 1, "annotations": [{"was_cancelled": cancelled, "result": result}]}


done = [annotated(tasks[0], "juice"), annotated(tasks[1], "nobody"), annotated(tasks[2], "milk", cancelled=True), annotated(tasks[3])]
labels = [json.loads(line) for line in run("labels", json.dumps(done)).splitlines()]
assert labels == [
    {"id": "a", "stream": "cam-7", "model": "clip", "vector": [0.12, -0.5], "label": "juice"},
    {"id": "b", "stream": "cam-7", "model": "clip", "vector": [0.12, -0.5], "label": "nobody"},
], labels
print("review records become tasks, and annotations labels")
