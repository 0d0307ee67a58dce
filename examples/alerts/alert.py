"""Posts to a webhook, such as Slack's, when a label comes more often than it should on one camera:

    pip install confluent-kafka
    python alert.py --topic now --label "person in lane" --more-than 5 --within 60 --webhook https://hooks.slack.com/services/...

The label "unknown" stands for all unknown items. First answers (run --now now) alert within a second, results (--topic results) are
right more often.
"""

import argparse
import calendar
import json
import time
from collections import deque
from urllib.request import Request, urlopen


def seconds(text):
    """The event time of a result, RFC 3339 in UTC, in whole seconds."""
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))


class Alarm:
    """Counts the items of a label in a window of event time, each camera by itself. A repeated id counts once."""

    def __init__(self, label, more_than, within):
        self.label, self.more_than, self.within = label, more_than, within
        self.times, self.ringing = {}, set()

    def add(self, result):
        """Returns the alert's text if this result raises it; None while it is quiet, or rings already."""
        label = "unknown" if result["unknown"] else result["label"]
        stream = result["stream"]
        times = self.times.setdefault(stream, deque())
        now = seconds(result["time"])
        if label == self.label and result["id"] not in (seen for _, seen in times):
            times.append((now, result["id"]))
        while times and times[0][0] <= now - self.within:
            times.popleft()
        if len(times) <= self.more_than:
            self.ringing.discard(stream)
        elif stream not in self.ringing:
            self.ringing.add(stream)
            return f"{stream}: {len(times)} times {self.label} within {self.within} s, until {result['time']}"
        return None


def post(webhook, text):
    urlopen(Request(webhook, json.dumps({"text": text}).encode(), {"Content-Type": "application/json"}), timeout=10).close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--brokers", default="localhost:9092")
    parser.add_argument("--topic", default="results")
    parser.add_argument("--label", default="unknown")
    parser.add_argument("--more-than", type=int, default=5)
    parser.add_argument("--within", type=int, default=60, help="seconds")
    parser.add_argument("--webhook", required=True)
    given = parser.parse_args()

    from confluent_kafka import Consumer

    alarm = Alarm(given.label, given.more_than, given.within)
    # A restart begins at the newest records: an alert about what is past helps nobody.
    consumer = Consumer({"bootstrap.servers": given.brokers, "group.id": f"alert-{given.label}", "enable.auto.commit": False})
    consumer.subscribe([given.topic])
    while True:
        message = consumer.poll(1)
        if message is None or message.error():
            continue
        if text := alarm.add(json.loads(message.value())):
            post(given.webhook, text)


if __name__ == "__main__":
    main()
