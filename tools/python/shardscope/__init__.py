"""Memory, pipeline, communication and step time of large-model training layouts, computed on this machine.

    >>> from shardscope import report
    >>> run = report(model="llama-3.1-70b", gpus=256, tp=8, pp=4)
    >>> run.memory.verdict, run.step.time_s

A Run is a dict of the fields of the page's links, or such a link. Quantities are bytes and seconds, by the names of their
fields. Notebooks show a report as the page's pictures. What cannot work raises `Refused`.
"""
import json
import re
from base64 import b64encode
from pathlib import Path
from typing import Any, Dict, List, Optional, Union

from . import types
from ._answer import read
from ._program import answers, set_timeout, written
from .types import (Calibration, Certified, Imported, Issue, Measured, Plan, Report, RlReply, ScheduleReply, ToolScore,
                    WholeRunReply)

__all__ = ["Refused", "calibrate", "certify", "diagnose", "export", "import_text", "plan", "read_log", "report", "rl", "schedule",
           "scoreboard", "set_timeout", "types", "whole_run"]

Run = Union[Dict[str, Any], str]


class Refused(ValueError):
    """A request that cannot work: `errors` has every fault with its field."""

    def __init__(self, errors: List[Issue]):
        super().__init__("; ".join(f"{error.field}: {error.message}" if error.field else error.message for error in errors))
        self.errors = errors


def _ask(verb, request, kind=None):
    # A request is one line; a link may hold blanks, and line breaks only where somebody's mail broke it.
    text = re.sub(r"[\r\n]+", "", request).strip() or "{}" if isinstance(request, str) else written(request)
    (line,) = answers(verb, [text])
    answer = json.loads(line)
    if answer["errors"]:
        raise Refused([read(Issue, error) for error in answer["errors"]])
    return read(kind, answer) if kind else answer


def _merged(request, fields):
    if not isinstance(request, str):
        return {**(request or {}), **fields}
    if fields:
        raise TypeError("a link takes no fields beside it")
    return request


def report(run: Optional[Run] = None, **fields) -> Report:
    """Memory by pipeline rank with its verdict, pipeline, communication and step time of a Run."""
    run = _merged(run, fields)
    answer = _ask("report", run, Report)
    answer.run = run
    return answer


def plan(request=None, **fields) -> Plan:
    """The best layouts of `run` by step time: at most `top`, with the fields in `pin` kept, the values in `space` tried."""
    answer = _ask("plan", _merged(request, fields), Plan)
    for row in answer.best:
        row.report.run = row.run
    return answer


def schedule(request=None, **fields) -> ScheduleReply:
    """Order and times of one pipeline schedule under given durations, without a model."""
    return _ask("schedule", _merged(request, fields), ScheduleReply)


def certify(run=None, **fields) -> Certified:
    """How far the order of a Run's pipeline is from the best one of the same stages and memory."""
    return _ask("certify", _merged(run, fields), Certified)


def import_text(text: str, run: Optional[Run] = None, set: Optional[Dict[str, Any]] = None, files: Optional[Dict[str, str]] = None,
                **keys) -> Imported:
    """The Run that settings of another program mean, over `run`, with every entry accounted for.

    `set` gives variables of a script, or the other way of one of its conditions; `files` those that the text names, by name.
    """
    request: Dict[str, Any] = {"text": text, "run": run or {}, **keys}
    if set:
        request["set"] = set
    if files:
        request["files"] = [{"name": name, "text": text} for name, text in files.items()]
    return _ask("import", request, Imported)


def export(run: Run, format: str, **keys) -> str:
    """A Run as settings of another program, a report for people, or a picture (`svg-memory`, ...)."""
    return _ask("export", {"run": run, "format": format, **keys})["text"]


def read_log(text: str, run: Optional[Run] = None, **keys) -> Measured:
    """What a log, a trace or a memory snapshot measured; its `observation` is what `calibrate` takes."""
    return _ask("log", {"text": text, "run": run or {}, **keys}, Measured)


def diagnose(files, run: Optional[Run] = None, **keys) -> Dict[str, Any]:
    """Where the rest of a measured step or of the memory is: paths or bytes of traces, logs, messages or snapshots beside `run`.

    At most 12 MB together; the command `shardscope diagnose FILE...` reads larger ones.
    """
    if isinstance(files, (str, bytes, Path)):
        files = [files]
    contents = [file if isinstance(file, bytes) else Path(file).read_bytes() for file in files]
    if sum(map(len, contents)) > 12_000_000:
        raise ValueError("more than 12 MB: shardscope diagnose FILE... reads larger files")
    packed = [{"name": str(at), "base64": b64encode(content).decode()} for at, content in enumerate(contents)]
    return _ask("diagnose", {"files": packed, "run": run or {}, **keys})


def calibrate(request=None, **fields) -> Calibration:
    """What measured `runs` teach, as a `profile` that Runs take, and the run to measure next."""
    return _ask("calibrate", _merged(request, fields), Calibration)


def whole_run(request=None, **fields) -> WholeRunReply:
    """From the first step to the last token of a Run with `tokens_total`: days, losses, energy, cost."""
    return _ask("whole-run", _merged(request, fields), WholeRunReply)


def rl(request=None, **fields) -> RlReply:
    """The step of reinforcement learning of a Run with `rl.*`: its phases, who waits, other splits of the GPUs."""
    return _ask("rl", _merged(request, fields), RlReply)


def scoreboard(ask: Optional[str] = None, predictions: Optional[str] = None) -> Union[str, ToolScore]:
    """Published runs that tools are held to: the row of the tool that wrote the text `predictions`, or the text of a file.

    `ask` is "questions" (the runs), "predictions" (this calculator's, each by constants that never saw the run; minutes) or
    "origin" (errors of steps that were predicted before they were known).
    """
    tables = {file.name: file.read_text(encoding="utf-8") for file in (Path(__file__).parent / "data").glob("*.csv")}
    if predictions is None:
        return _ask("scoreboard", {"tables": tables, "ask": ask})["text"]
    return _ask("scoreboard", {"tables": tables, "predictions": predictions}, ToolScore)


PICTURES = ("svg-memory", "svg-step", "svg-timeline")


def _pictures(report):
    """The page's pictures of a report, one below the other."""
    run = import_text(report.run).run if isinstance(report.run, str) else report.run
    lines = answers("export", [written({"run": run, "format": picture}) for picture in PICTURES])
    return "".join(f"<div>{json.loads(line)['text']}</div>" for line in lines)


def _recommended(plan):
    """The pictures of the recommended layout of a plan; none where nothing fits."""
    return plan.best[plan.recommended].report._repr_html_() if plan.recommended is not None else None


Report._repr_html_ = _pictures
Plan._repr_html_ = _recommended
