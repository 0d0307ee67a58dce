"""The way of one object: Frigate's messages, its snapshot, our records. Run: python test_frigate.py"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import frigate

asked, published = [], []


class Frigate(BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        self.send_response(200 if "gone" not in self.path else 404)
        self.end_headers()
        self.wfile.write(b"a picture")

    def log_message(self, *_):
        pass


def message(kind="update", at=1607123965.25, **more):
    thing = {"id": "1607123955.47-mxk", "camera": "front-door", "label": "person", "false_positive": False,
             "snapshot": {"frame_time": at}, **more}
    return json.dumps({"type": kind, "before": thing, "after": thing})


server = ThreadingHTTPServer(("127.0.0.1", 0), Frigate)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{server.server_port}"
bridge = frigate.Bridge(address + "/", lambda jpeg: [float(len(jpeg)), 0.5], lambda *sent: published.append(sent))

bridge.event(message("new", snapshot=None))
bridge.event(message(false_positive=True))
assert asked == [] and published == []

bridge.event(message())
bridge.event(message())  # the same snapshot again
bridge.event(message(at=1607123970.5))
bridge.event(message("end", at=1607123971.5))
assert asked == ["/api/events/1607123955.47-mxk/snapshot.jpg?crop=1"] * 2
assert [topic for topic, _ in published] == ["embeddings/front-door"] * 2
assert bridge.sent == {}
first = json.loads(published[0][1])
assert first == {
    "id": "1607123955.47-mxk/1607123965.25", "track": "1607123955.47-mxk", "frame": "1607123965.25", "vector": [9.0, 0.5],
    "time": "2020-12-04T23:19:25.250000+00:00",
    "attributes": {"object": "person", "image": f"{address}/api/events/1607123955.47-mxk/thumbnail.jpg"},
}, first

try:
    bridge.event(message(id="gone"))
    raise SystemExit("a missing snapshot must be an error")
except OSError:
    assert "gone" not in bridge.sent
if len(sys.argv) > 1:  # a file for slkstream to read
    with open(sys.argv[1], "w") as out:
        out.writelines(text + "\n" for _, text in published)
print("ok")
