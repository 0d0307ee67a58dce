"""The way of one item: review record, task, annotation, label. Run: python test_label_studio.py"""

import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import label_studio

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

# The ML backend, against a stage that knows one stream.
asked = []


class FakeStage(BaseHTTPRequestHandler):
    def do_POST(self):
        asked.append((self.path, self.headers["authorization"], json.loads(self.rfile.read(int(self.headers["content-length"])))))
        known = self.path == "/api/answer?stream=cam-7"
        self.send_response(200 if known else 404 if "answer" in self.path else 204)
        self.end_headers()
        if known:
            self.wfile.write(b'{"answers":[{"label":"juice","confidence":0.93,"calibrated":true,"unknown":false,"unknownScore":0.1}]}')

    def log_message(self, *_):
        pass


label_studio.BaseHTTPRequestHandler.log_message = FakeStage.log_message


def started(server):
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


stage = started(ThreadingHTTPServer(("127.0.0.1", 0), FakeStage))
backend = started(label_studio.server(label_studio.Stage(stage, "secret"), ("127.0.0.1", 0)))


def ask(path, body):
    request = urllib.request.Request(backend + path, None if body is None else json.dumps(body).encode())
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


assert ask("/health", None)["status"] == "UP"
assert ask("/setup", {"project": "1"}) == {"model_version": "slkstream"}
elsewhere = {**tasks[0], "data": {**tasks[0]["data"], "slkstream": {**tasks[0]["data"]["slkstream"], "stream": "cam-8"}}}
now, before = ask("/predict", {"tasks": [tasks[0], elsewhere]})["results"]
assert now["result"][0]["value"]["choices"] == ["juice"] and now["score"] == 0.93
assert before["result"][0]["value"]["choices"] == ["milk"] and before["score"] == 0.41
assert asked[0][1:] == ("Bearer secret", {"vector": [0.12, -0.5], "model": "clip"})
ask("/webhook", {"action": "ANNOTATION_CREATED", "task": tasks[0], "annotation": done[0]["annotations"][0]})
assert asked[-1][0] == "/api/teach" and asked[-1][2] == labels[0], asked[-1]
count = len(asked)
ask("/webhook", {"action": "PROJECT_UPDATED"})
ask("/webhook", {"action": "ANNOTATION_CREATED", "task": tasks[2], "annotation": done[2]["annotations"][0]})
assert len(asked) == count, "what teaches nothing asks nothing"
try:
    ask("/predict", {})
    raise AssertionError("a request without tasks passes")
except urllib.error.HTTPError as refused:
    assert refused.code == 400
print("the ML backend predicts by the stage and teaches it")
