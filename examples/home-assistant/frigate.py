"""Frigate's objects as embeddings: each new snapshot of an object is fetched, embedded and published by MQTT.

pip install paho-mqtt pillow sentence-transformers
python frigate.py --mqtt localhost --frigate http://localhost:5000

embedder() is the function to change for a network of your own.
"""

import argparse
import io
import json
import urllib.parse
import urllib.request
from datetime import datetime, timezone


def embedder():
    """Returns a function from the bytes of a JPEG to a list of numbers. CLIP tells kinds of things apart; for people or
    cats of one kind take a re-identification network."""
    from PIL import Image
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer("clip-ViT-B-32")
    return lambda jpeg: model.encode(Image.open(io.BytesIO(jpeg)).convert("RGB")).tolist()


class Bridge:
    """Turns messages of frigate/events into messages of embeddings/CAMERA."""

    def __init__(self, frigate, embed, publish):
        self.frigate, self.embed, self.publish = frigate.rstrip("/"), embed, publish
        self.sent = {}  # time of the last snapshot sent, by object

    def event(self, payload):
        event = json.loads(payload)
        thing = event["after"]
        name, snapshot = thing["id"], thing.get("snapshot")
        if event["type"] == "end":
            self.sent.pop(name, None)
            return
        if thing.get("false_positive") or not snapshot or self.sent.get(name) == snapshot["frame_time"]:
            return
        url = f"{self.frigate}/api/events/{urllib.parse.quote(name)}"
        with urllib.request.urlopen(f"{url}/snapshot.jpg?crop=1", timeout=10) as reply:
            vector = self.embed(reply.read())
        at = snapshot["frame_time"]
        self.sent[name] = at
        record = {
            "id": f"{name}/{at}", "track": name, "frame": str(at), "vector": vector,
            "time": datetime.fromtimestamp(at, timezone.utc).isoformat(),
            "attributes": {"object": thing["label"], "image": f"{url}/thumbnail.jpg"},
        }
        self.publish(f"embeddings/{thing['camera']}", json.dumps(record))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mqtt", default="localhost", help="host of the MQTT broker")
    parser.add_argument("--frigate", default="http://localhost:5000", help="address of Frigate")
    options = parser.parse_args()
    import paho.mqtt.client as mqtt

    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    bridge = Bridge(options.frigate, embedder(), lambda topic, text: client.publish(topic, text, qos=1))

    def received(_client, _data, message):
        try:
            bridge.event(message.payload)
        except (OSError, ValueError, KeyError) as fault:  # one object less; the next snapshot comes soon
            print(f"left out: {fault!r}")

    client.on_connect = lambda *_: client.subscribe("frigate/events")
    client.on_message = received
    client.connect(options.mqtt)
    client.loop_forever()


if __name__ == "__main__":
    main()
