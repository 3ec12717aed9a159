"""Train a classifier on the Iris flowers and save it as iris.joblib next to this file."""
from pathlib import Path

import joblib
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

flowers = load_iris()
model = LogisticRegression(max_iter=1000).fit(flowers.data, flowers.target)
joblib.dump(model, Path(__file__).with_name("iris.joblib"))
