"""The scenario of load.ts for Locust: locust -f examples/credit/locustfile.py -H http://localhost:3000"""

import json
from pathlib import Path
from random import choice

from locust import HttpUser, between, task

APPLICANTS = json.loads((Path(__file__).parent / "applicants.json").read_text())


class Applicant(HttpUser):
    wait_time = between(0.01, 2)

    @task
    def classify(self):
        # A response that takes longer than a second is a failure.
        self.client.post("/classify", json=choice(APPLICANTS), timeout=1)
