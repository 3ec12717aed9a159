"""The scenario of load.ts for Locust: locust -f examples/load/locustfile.py -H http://localhost:3000"""

import json
from pathlib import Path
from random import choice

from locust import HttpUser, between, task

FLOWERS = json.loads((Path(__file__).parent / "sample.json").read_text())


class Visitor(HttpUser):
    wait_time = between(0.01, 2)

    @task
    def classify(self):
        with self.client.post("/classify", json=choice(FLOWERS), catch_response=True) as response:
            if response.ok and "label" not in response.json():
                response.failure("the response has no label")
