"""Review records to Label Studio's tasks, and its annotations back to labels.

    python label_studio.py tasks  < review.jsonl > tasks.json    import tasks.json into a project
    python label_studio.py labels < export.json  > labels.jsonl  slkstream teach labels.jsonl --labels TOPIC
    python label_studio.py serve --stage http://127.0.0.1:8070   an ML backend: the stage's answers, and labels from people

A task carries all that a label needs, so that nothing has to be kept in between. Nothing but Python is needed.
"""

import argparse
import json
import sys
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONFIG = """<View>
  <Image name="image" value="$image"/>
  <Choices name="label" toName="image" choice="single" showInline="true">
    <Choice value="milk"/><Choice value="juice"/><Choice value="nobody"/>
  </Choices>
</View>"""


def task(review):
    """A review record as a task, with the stage's guess as a prediction."""
    attributes = review.get("attributes") or {}
    carried = {name: review[name] for name in ("id", "stream", "model", "vector") if review.get(name)}
    data = {"image": attributes.get("image", ""), "slkstream": carried}
    guess = review["guess"]
    made = {"data": data, "predictions": []}
    if guess.get("label") and not guess.get("unknown"):
        made["predictions"].append(prediction(guess))
    return made


def prediction(guess):
    """A guess of the stage as Label Studio's prediction; without a result where the stage does not know the item."""
    choice = {"from_name": "label", "to_name": "image", "type": "choices", "value": {"choices": [guess["label"]]}}
    return {"model_version": "slkstream", "score": guess["confidence"], "result": [] if guess["unknown"] else [choice]}


def label(done):
    """The example that an annotated task teaches; None where nobody decided."""
    for annotation in reversed(done.get("annotations") or []):
        if annotation.get("was_cancelled"):
            continue
        for result in annotation.get("result") or []:
            choices = result.get("value", {}).get("choices")
            if result.get("from_name") == "label" and choices:
                return {**done["data"]["slkstream"], "label": choices[0]}
    return None


class Stage:
    """The HTTP API of a stage, with the token of --listen-token-file where it asks for one."""

    def __init__(self, address, token):
        self.address, self.token = address.rstrip("/"), token

    def post(self, path, body):
        headers = {"content-type": "application/json"}
        if self.token:
            headers["authorization"] = "Bearer " + self.token
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=10) as reply:
            return json.loads(reply.read() or b"null")

    def predict(self, one):
        """The guess of now; that of the task where the stage no longer remembers its stream."""
        item = one["data"]["slkstream"]
        body = {name: item[name] for name in ("vector", "model") if name in item}
        try:
            path = "/api/answer?" + urllib.parse.urlencode({"stream": item.get("stream", "")})
            return prediction(self.post(path, body)["answers"][0])
        except urllib.error.HTTPError as refused:
            if refused.code != 404:
                raise
            return (one.get("predictions") or [{"result": []}])[0]

    def learn(self, event):
        """Teach what an annotation says; other events teach nothing."""
        if event.get("action") in ("ANNOTATION_CREATED", "ANNOTATION_UPDATED"):
            example = label({**event["task"], "annotations": [event["annotation"]]})
            if example:
                self.post("/api/teach", example)


def server(stage, address):
    """The ML backend: Label Studio asks it for predictions and tells it of annotations."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.reply(200, {"status": "UP", "model_class": "slkstream"})

        def do_POST(self):
            try:
                asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
                if self.path == "/predict":
                    self.reply(200, {"results": [stage.predict(t) for t in asked["tasks"]]})
                elif self.path == "/webhook":
                    stage.learn(asked)
                    self.reply(201, {})
                else:  # /setup and what newer versions add
                    self.reply(200, {"model_version": "slkstream"})
            except (KeyError, TypeError, ValueError) as wrong:
                self.reply(400, {"error": f"{type(wrong).__name__}: {wrong}"})
            except (urllib.error.URLError, OSError) as wrong:
                self.reply(502, {"error": f"the stage: {wrong}"})

        def reply(self, status, body):
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    return ThreadingHTTPServer(address, Handler)


def serve(arguments):
    options = argparse.ArgumentParser(prog="label_studio.py serve")
    options.add_argument("--stage", required=True, help="address of the stage's page, as --listen says it")
    options.add_argument("--token-file", help="file with the token of --listen-token-file")
    options.add_argument("--port", type=int, default=9091)
    options = options.parse_args(arguments)
    token = open(options.token_file).read().strip() if options.token_file else ""
    server(Stage(options.stage, token), ("127.0.0.1", options.port)).serve_forever()


def main():
    if sys.argv[1:] == ["tasks"]:
        json.dump([task(json.loads(line)) for line in sys.stdin if line.strip()], sys.stdout)
    elif sys.argv[1:] == ["labels"]:
        for example in map(label, json.load(sys.stdin)):
            if example:
                print(json.dumps(example))
    elif sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
