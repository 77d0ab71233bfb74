"""The package as it is installed: facts from outside the calculator, and what is Python's own."""
import json
import os
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree as xml
from dataclasses import fields
from pathlib import Path

from shardscope import Refused, calibrate, certify, export, import_text, plan, read_log, report, rl, schedule, scoreboard, set_timeout, whole_run
from shardscope._answer import Answer
from shardscope._program import answers


class Answers(unittest.TestCase):
    def test_a_layout_follows_from_its_sizes(self):
        # dp = gpus / (tp pp cp), by definition.
        for run in [{"gpus": 64, "tp": 2, "pp": 4}, "v=1&gpus=128&tp=2&pp=8"]:
            self.assertEqual(report(run).layout.dp, 8)
        self.assertEqual(report({"gpus": 64}, tp=2, pp=4).layout.dp, 8)

    def test_a_schedule_has_the_textbooks_makespan(self):
        # (m + p - 1) (t_F + t_B) with a forward of 1 and a backward of 2.
        answer = schedule(schedule="1f1b", pp=4, microbatches=8)
        self.assertEqual(answer.makespan_s, 33)
        self.assertEqual(answer.ops[0][:4], (0, "F", 0, 0))

    def test_a_plan_is_in_the_order_of_its_steps(self):
        answer = plan(run={"gpus": 8}, top=3)
        steps = [row.report.step.time_s for row in answer.best]
        self.assertEqual(steps, sorted(steps))
        again = report(answer.best[0].run)
        self.assertEqual(again.step.time_s, steps[0])

    def test_settings_go_out_and_come_back(self):
        text = export({"gpus": 64, "tp": 4, "pp": 2}, "megatron")
        self.assertIn("--tensor-model-parallel-size 4", text)
        back = import_text(text)
        self.assertEqual((back.run["tp"], back.run["pp"]), (4, 2))

    def test_measured_runs_become_a_profile_that_reports_take(self):
        run = {"gpus": 8, "global_batch": 32}
        learnt = calibrate(runs=[{"run": run, "step_s": report(run).step.time_s * 1.2}])
        self.assertGreater(report({**run, "profile": learnt.profile}).step.time_s, report(run).step.time_s)

    def test_a_log_is_an_observation(self):
        lines = [f" [2026-03-02 11:22:{10 + at}] iteration {at + 1}/ 20 | consumed samples: {64 * (at + 1)} | elapsed time per iteration"
                 f" (ms): 1250.0 | global batch size: 64 | lm loss: 1.1E+01 |\n" for at in range(20)]
        measured = read_log("".join(lines), {"gpus": 8})
        self.assertEqual(measured.observation.step_s, 1.25)
        self.assertEqual(calibrate(runs=[measured.observation]).runs[0].measured_s, 1.25)

    RL = {"algorithm": "grpo", "prompts": 64, "samples": 8, "prompt_tokens": 99, "response_tokens": {"mean": 900}, "response_limit": 4096,
          "steps": 10}

    def test_phases_in_turn_add_up_to_the_step(self):
        step = rl(rl=self.RL).rl
        self.assertAlmostEqual(sum(phase.seconds for phase in step.phases), step.step_s)

    def test_a_whole_run_takes_its_tokens(self):
        run = {"gpus": 256, "tp": 8, "tokens_total": 1e12}
        tokens = report(run).layout.tokens_per_step
        self.assertEqual(whole_run(run).whole_run.steps, 1e12 / tokens)

    def test_a_link_keeps_its_blanks_and_loses_the_breaks_of_a_mail(self):
        # Two links that differ by a blank within a name are two runs; a broken line is the link that it was.
        whole = report("v=1&gpus=128&tp=2&pp=8")
        self.assertEqual(report(" v=1&gpus=128&\r\ntp=2&pp=8\n").data, whole.data)
        with self.assertRaises(Refused):
            report("v=1&gpus=1 2&tp=x y")

    def test_a_call_ends_at_its_time_out_and_the_next_one_is_answered(self):
        report({"gpus": 8})
        set_timeout(0.2)
        try:
            with self.assertRaises(TimeoutError):
                plan(run={"model": "deepseek-v3", "gpus": 2048}, work=10**9)
        finally:
            set_timeout(600)
        self.assertEqual(report({"gpus": 64, "tp": 2, "pp": 4}).layout.dp, 8)
        with self.assertRaises(ValueError):
            set_timeout(0)

    def test_a_tool_that_predicts_nothing_covers_nothing(self):
        about = {"scoreboard": 1, "name": "nothing", "kind": "tool", "url": "", "version": "1", "note": ""}
        score = scoreboard(predictions=json.dumps(about) + "\n")
        self.assertGreater(score.columns[0].asked, 500)
        self.assertEqual({column.covered for column in score.columns}, {0})
        ids = [json.loads(line)["id"] for line in scoreboard(ask="questions").splitlines()]
        self.assertEqual(len(ids), len(set(ids)))

    def test_no_order_ends_before_its_bound(self):
        answer = certify(gpus=32, tp=1, pp=4)
        self.assertLessEqual(answer.certificate.lower_bound_s, answer.makespan_s)


class Identity(unittest.TestCase):
    """The requests and answers that tests/io/identity.rs writes."""

    FILE = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[3] / "target"), "tmp/identity.jsonl")

    @unittest.skipUnless(FILE.exists(), "cargo test --test io identity was not run")
    def test_answers_are_the_native_programs_byte_for_byte(self):
        asked = [json.loads(line) for line in self.FILE.read_text(encoding="utf-8").splitlines()]
        self.assertGreaterEqual(len(asked), 500)
        for verb in sorted({one["verb"] for one in asked}):
            of = [one for one in asked if one["verb"] == verb]
            for one, answer in zip(of, answers(verb, [one["line"] for one in of])):
                self.assertEqual(answer, one["answer"], one["line"])


class Refusals(unittest.TestCase):
    def test_what_is_wrong_names_its_field(self):
        with self.assertRaises(Refused) as caught:
            report(tp=7)
        self.assertEqual(caught.exception.errors[0].field, "tp")
        self.assertIn("tp: ", str(caught.exception))
        for wrong in [{"nonsense": 1}, {"model": 7}, "tp", "v=1&tp=x", "{", "two\nlines"]:
            with self.assertRaises(ValueError, msg=wrong):
                report(wrong)
        for call in [lambda: export({}, "pdf"), lambda: import_text("what is this?"), lambda: plan(run={"tq": 1})]:
            self.assertRaises(Refused, call)

    def test_what_json_cannot_say_is_refused_here(self):
        self.assertRaises(ValueError, report, {"seq_len": float("nan")})
        self.assertRaises(TypeError, report, {"tp": {1, 2}})

    def test_numbers_of_arrays_are_numbers(self):
        class Scalar:
            def tolist(self):
                return 4

        self.assertEqual(report(gpus=64, tp=Scalar(), pp=1).layout.dp, 16)


class Notebooks(unittest.TestCase):
    def test_a_report_shows_the_pages_pictures(self):
        for shown in [report(gpus=128, pp=4), report("v=1&gpus=128&pp=4"), plan(run={"gpus": 128}, top=1)]:
            pictures = shown._repr_html_().split("<div>")[1:]
            self.assertEqual(len(pictures), 3)
            for picture in pictures:
                svg = xml.fromstring(picture.replace("</div>", ""))
                self.assertEqual(svg.tag, "{http://www.w3.org/2000/svg}svg")
                self.assertIn("on 128 GPUs", "".join(svg.itertext()))


class Types(unittest.TestCase):
    def undeclared(self, answer, place):
        """The parts of an answer that are none of its class."""
        if isinstance(answer, (list, tuple)):
            return set().union(*(self.undeclared(item, place) for item in answer))
        if not isinstance(answer, Answer):
            return set()
        names = {field.name for field in fields(answer)}
        missing = {f"{place}.{name}" for name in answer.data if name not in names and f"{name}_" not in names}
        return missing.union(*(self.undeclared(getattr(answer, name), f"{place}.{name}") for name in names))

    def test_types_of_the_javascript_package_say_all_that_is_there(self):
        every = {
            "report": report(model="deepseek-v3", gpus=2048, ep=8, pp=16, tokens_total=1e12),
            "plan": plan(run={"gpus": 16}, top=2),
            "schedule": schedule(schedule="optimal", pp=2, microbatches=4, certificate=True),
            "certify": certify(gpus=32, tp=1, pp=4),
            "import_text": import_text("--tensor-model-parallel-size 4"),
            "calibrate": calibrate(runs=[{"run": {"gpus": 8, "pp": 1}, "step_s": 4.9}]),
            "whole_run": whole_run(gpus=256, tokens_total=1e12),
            "rl": rl(rl=Answers.RL),
            "scoreboard": scoreboard(predictions="{}\n"),
        }
        self.assertEqual(set(), set().union(*(self.undeclared(answer, name) for name, answer in every.items())))


class Times(unittest.TestCase):
    def test_times_are_printed(self):
        def seconds(what):
            start = time.perf_counter()
            what()
            return f"{(time.perf_counter() - start) * 1000:.0f} ms"

        code = "from shardscope import report; report()"
        first = seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True))
        print(f"python: a process with one report {first}, a further report {seconds(report)}", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
