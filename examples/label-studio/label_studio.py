"""Review records to Label Studio's tasks, and its annotations back to labels.

    python label_studio.py tasks  < review.jsonl > tasks.json    import tasks.json into a project
    python label_studio.py labels < export.json  > labels.jsonl  slkstream teach labels.jsonl --labels TOPIC

A task carries all that a label needs, so that nothing has to be kept in between. Nothing but Python is needed.
"""

import json
import sys

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
        choice = {"from_name": "label", "to_name": "image", "type": "choices", "value": {"choices": [guess["label"]]}}
        made["predictions"].append({"model_version": "slkstream", "score": guess["confidence"], "result": [choice]})
    return made


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


def main():
    if sys.argv[1:] == ["tasks"]:
        json.dump([task(json.loads(line)) for line in sys.stdin if line.strip()], sys.stdout)
    elif sys.argv[1:] == ["labels"]:
        for example in map(label, json.load(sys.stdin)):
            if example:
                print(json.dumps(example))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
