"""Models that the engine refuses, with the word required in each message; hashes of texts.

refused.py <folder>
"""

import json
import os
import sys

import numpy as np
import pandas as pd

import cases
from catboost import CatBoost, Pool

OPTIONS = {**cases.COMMON, "iterations": 2, "depth": 2}


def models():
    """Yields each model with its name, the word, and the refused formats."""
    table, target = cases.with_categories()
    borders = ["Borders:TargetBorderCount=1", "Borders:TargetBorderCount=3"]
    options = {**OPTIONS, "one_hot_max_size": 2, "max_ctr_complexity": 1, "simple_ctr": borders}
    several = CatBoost(options).fit(Pool(table[["text", "number"]], target, cat_features=[0]))
    yield "several_targets", several, "TargetBorderCount", ["json"]
    words = pd.DataFrame(
        {"number": cases.numbers(gaps=False)[:, 0], "story": ["a tree", "one leaf", "no tree"] * 80}
    )
    labels = np.array([0, 1, 1] * 80)
    text = CatBoost({**OPTIONS, "loss_function": "Logloss"}).fit(
        Pool(words, labels, text_features=[1])
    )
    yield "text", text, '"story"', ["cbm", "json"]
    vectors = pd.DataFrame(
        {"number": words["number"], "vector": [[float(row), 1.0, row % 3] for row in range(240)]}
    )
    embedding = CatBoost({**OPTIONS, "loss_function": "Logloss"}).fit(
        Pool(vectors, labels, embedding_features=[1])
    )
    yield "embedding", embedding, '"vector"', ["cbm", "json"]


def main():
    folder = os.path.join(sys.argv[1], "refused")
    os.makedirs(folder, exist_ok=True)
    listing = {}
    for name, model, word, formats in models():
        for ending in formats:
            try:
                model.save_model(os.path.join(folder, name + "." + ending), format=ending)
            except Exception as error:  # CatBoost itself cannot write some of them as JSON
                print(name, ending, error)
                continue
            listing[name + "." + ending] = word
    with open(os.path.join(folder, "list.json"), "w", encoding="utf-8") as file:
        json.dump(listing, file, indent=0)
        file.write("\n")
    alphabet = "abcdefghij0123456789" * 20
    texts = sorted(
        {alphabet[:length] for length in range(1, 270)}
        | {"é", "日本", "-3", "1234567890123", "a b\t"}
    )
    table = [[text, float(index)] for index, text in enumerate(texts)]
    pool = Pool(table, np.arange(len(texts)), cat_features=[0])
    model = CatBoost({**OPTIONS, "one_hot_max_size": 255}).fit(pool)
    path = os.path.join(sys.argv[1], "hashes.json")
    model.save_model(path, format="json", pool=pool)
    with open(path, encoding="utf-8") as file:
        found = json.load(file)["features_info"]["cat_features_hash"]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(
            {entry["value"]: entry["hash"] for entry in found}, file, indent=0, ensure_ascii=False
        )
        file.write("\n")


if __name__ == "__main__":
    main()
