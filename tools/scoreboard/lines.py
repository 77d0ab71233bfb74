"""Lines in and out of the adapters: questions on standard input, predictions on standard output, reasons on standard error."""

import collections
import contextlib
import json
import subprocess
import sys

GIB = 2**30
MEGATRON = ("megatron-2021", "megatron-2024", "megatron-2025", "megatron-2026", "nemo-2024")


class Unable(Exception):
    """The tool has no input for this run; the message says which."""


def need(condition, reason):
    """Leaves the run out where `condition` does not hold."""
    if not condition:
        raise Unable(reason)


def commit(path):
    """The commit of a checkout."""
    return subprocess.run(["git", "-C", path, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()


def rounded(value):
    return float(f"{value:.4g}") if isinstance(value, float) else value


def fnv(text):
    """FNV-1a of 32 bits, by which a file says what it was asked."""
    number = 0x811C9DC5
    for byte in text:
        number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{number:08x}"


def answer(about, predict):
    """Writes the prediction of `predict` for each question, and counts why others are left out."""
    asked = sys.stdin.buffer.read()
    print(json.dumps({"scoreboard": 1, **about, "questions": fnv(asked)}, ensure_ascii=False, separators=(",", ":")))
    reasons = collections.Counter()
    for line in asked.decode().splitlines():
        question = json.loads(line)
        try:
            with contextlib.redirect_stdout(sys.stderr if "-v" in sys.argv else None):
                found = predict(question["run"], question)
        except Unable as reason:
            reasons[str(reason)] += 1
        except Exception as error:  # of the tool itself: it does not answer
            reasons[f"{type(error).__name__}: {error}"[:120]] += 1
        else:
            print(json.dumps({"id": question["id"], **{key: rounded(value) for key, value in found.items()}}, separators=(",", ":")))
    for reason, count in reasons.most_common():
        print(f"{count:5} left out: {reason}", file=sys.stderr)


def verdict(gib, run):
    return "fits" if gib <= run["gpu"]["memory_gib"] else "oom"
