"""A scikit-learn model from a file: an array of rows in, the probabilities of three species out."""
import batchwise

model = batchwise.sklearn("iris.joblib", method="predict_proba")
