"""The users of the benchmark for Locust: no pauses, and the JSON of every response is checked."""

from locust import FastHttpUser as LocustFastHttpUser
from locust import HttpUser as LocustHttpUser
from locust import constant, task

HEADERS = {"content-type": "application/json"}
BODY = '{"features":[5.1,3.5,1.4,0.2]}'


def classify(user):
    with user.client.post("/classify", data=BODY, headers=HEADERS, catch_response=True) as response:
        if response.status_code != 200 or response.json()["label"] != "setosa":
            response.failure("unexpected response")


class HttpUser(LocustHttpUser):
    wait_time = constant(0)

    @task
    def classify(self):
        classify(self)


class FastHttpUser(LocustFastHttpUser):
    wait_time = constant(0)

    @task
    def classify(self):
        classify(self)
