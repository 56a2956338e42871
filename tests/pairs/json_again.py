"""The same text is parsed in every iteration. reason: COMPUTE"""
import json
import sys

BAD = sys.argv[1] == "bad"
text = json.dumps({"k%d" % i: list(range(20)) for i in range(300)})
config, total = json.loads(text), 0
for i in range(250):
    if BAD:
        config = json.loads(text)  # CULPRIT
    total += config["k%d" % i][i % 20]
print(total)
