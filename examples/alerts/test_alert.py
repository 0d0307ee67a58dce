"""What is counted, when it rings, and what is posted. Run: python test_alert.py"""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import alert

posted = []


class Webhook(BaseHTTPRequestHandler):
    def do_POST(self):
        posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def result(number, second, label="milk", unknown=False, stream="cam-7"):
    return {"id": f"in/0/{number}", "stream": stream, "label": label, "unknown": unknown,
            "time": f"2026-03-04T05:{second // 60:02}:{second % 60:02}.123456789Z"}


alarm = alert.Alarm("milk", more_than=2, within=60)
quiet = [result(0, 0), result(1, 1), result(1, 1), result(2, 2, "juice"), result(3, 3, unknown=True), result(4, 4, stream="cam-8"), result(5, 61)]
assert [alarm.add(r) for r in quiet] == [None] * len(quiet), "a repeat, another label, a stranger, another camera or an old item counted"
assert alarm.add(result(6, 62)) is None
text = alarm.add(result(7, 63))
assert text and "cam-7" in text and "3 times milk" in text, text
assert alarm.add(result(8, 64)) is None, "it rings twice"
assert alarm.add(result(9, 200, "juice")) is None and not alarm.ringing, "it does not end"
strangers = alert.Alarm("unknown", more_than=0, within=60)
assert strangers.add(result(10, 0)) is None and strangers.add(result(11, 1, unknown=True))

server = HTTPServer(("127.0.0.1", 0), Webhook)
threading.Thread(target=server.serve_forever, daemon=True).start()
alert.post(f"http://127.0.0.1:{server.server_port}", text)
server.shutdown()
assert posted == [{"text": text}], posted
print("alerts are right")
