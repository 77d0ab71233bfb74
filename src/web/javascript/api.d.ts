/** What is wrong or doubtful; `field` is the dotted key of the link, "" when nothing could be parsed. */
export interface Issue { field: string; message: string }
export interface Refusal { errors: Issue[] }
/** The fields of the page's links, as an object; each has a default. `layout: "auto"` chooses what is not given of the
 * layout: `report`, `certify`, `exportRun` and `wholeRun` take it. */
export interface Run { [field: string]: unknown }
export interface StageMemory {
  stage: number; weights_bytes: number; gradients_bytes: number; optimizer_bytes: number;
  activations_bytes: number; buffers_bytes: number; overhead_bytes: number; total_bytes: number;
  in_flight: number;
  items: { component: "weights" | "gradients" | "optimizer" | "activations" | "buffers" | "overhead"; name: string;
    bytes: number }[];
}
export interface OverlapRow {
  name: "dp" | "zero3" | "tp" | "pp" | "cp" | "ep"; bytes_per_gpu: number; comm_s: number;
  /** bytes_per_gpu over comm_s; null where nothing is on the wire */
  reached_bytes_per_s: number | null;
  /** `ratio` is null where no compute is beside the messages: all of them are exposed */
  compute_s: number; ratio: number | null;
  /** not_hidden_s + slows_compute_s */
  exposed_s: number; not_hidden_s: number; slows_compute_s: number;
  /** rows over the same wire */
  shares_wire_with: string[];
  /** its messages by kind; `bytes` is what a GPU sends in one, so that count times bytes add up to bytes_per_gpu */
  calls: { kind: "all-gather" | "reduce-scatter" | "all-reduce" | "all-to-all" | "send"; count: number;
    bytes: number }[];
  passes: { pass: "forward" | "backward"; comm_s: number; compute_s: number; not_hidden_s: number;
    slows_compute_s: number }[];
  printed_ratio?: number; corrected_ratio?: number;
}
export interface Report {
  errors: Issue[]; warnings: Issue[];
  /** the layout that was chosen, where the request left it to the search; `complete` in it: no other can be faster */
  chosen?: Run;
  layout: { dp: number; microbatches: number; tokens_per_step: number };
  parameters: { total: number; active: number; without_mtp: number; per_stage: number[] };
  /** effect of samples of unequal length, where the run has them (`lengths.base`); `imbalance*`: work of the replica or
   * rank that the step waits for over the mean, as the run deals samples and in the other ways */
  lengths?: {
    fill: number; real: number; mean_tokens: number; samples: number; equal_tokens: number; attention_share: number;
    waits: "step" | "micro-batch"; imbalance: number; imbalance_arrival: number; imbalance_sorted: number;
    imbalance_dynamic?: number; fast_tenth: number; slow_tenth: number;
  };
  /** the vision tower on ranks of its own (`model.vision.placement`): both passes of a micro-batch's images beside
   * those of the longest rank, and what the step waits for it, a part of `bubble_s` */
  tower?: {
    gpus: number; dp: number; forward_s: number; backward_s: number; stage_s: number; waits_s: number;
    memory_bytes: number;
  };
  /** splits of the layers over the stages, where there are several; absent where a report lays out more than 50,000
   * ops */
  uneven?: {
    splits: { origins: ("even" | "rule" | "own" | "best")[]; stage_layers: number[]; step_s: number;
      against_even: number;
      peak_bytes: number; verdict: "fits" | "tight" | "oom" }[];
    measured?: { even: number[]; uneven: number[]; gain: number; steps_s: [number, number] };
    /** How far the measured steps are from the computed ones, where it is much. */
    note?: string;
  };
  memory: {
    method: string; per_stage: StageMemory[]; peak_stage: number; peak_bytes: number;
    capacity_bytes: number; verdict: "fits" | "tight" | "oom";
    /** What the fullest rank needs: by the estimate, and its calibrated range. */
    need_low_bytes: number; need_bytes: number; need_high_bytes: number;
    /** Measured runs with this verdict, and those of them that ran out of memory. */
    chance: { like: number; ran_out: number };
  };
  pipeline: {
    schedule: string; makespan_s: number; ideal_s: number; bubble_fraction: number;
    bubble_over_ideal: number; bubble_span: number; peak_in_flight: number[]; weight_copies: number[];
    /** of a schedule that never drains: the figures above are of its steady state, these happen once in a training */
    fill_s?: number; drain_s?: number;
  };
  overlap: OverlapRow[];
  step: {
    time_s: number; compute_s: number; bubble_s: number; exposed_comm_s: number;
    /** together exposed_comm_s */
    not_hidden_s: number; slows_compute_s: number; optimizer_s: number;
    model_flops: number; tflops_per_gpu: number; mfu: number; hfu: number; host_s: number;
    tokens_per_s: number; tokens_per_s_per_gpu: number; low_s: number; high_s: number;
    /** where low_s and high_s come from: the published runs of the class; parts of the variance (publishers, runs,
     * release, new-ground, open, host, loaders, fixed-times, own-runs), shares that add up to 1; settings that are not
     * stated, with the seconds that stating each takes out of the range; no step of this GPU in this format is
     * published */
    range: {
      runs: number; of: string; of_its_class: boolean; parts: { name: string; share: number }[];
      open: { field: string; seconds: number }[]; new_ground: boolean;
      /** share of the step within which another layout of this run may take as long */
      may_be_equal: number;
    };
    /** what mfu and hfu are counted against: bf16, fp16, fp8 or tf32 */
    peak: { precision: string; tflops: number };
    /** megatron, torchtitan, nanotron (dense models only), palm; over the same peak */
    mfu_by: { name: string; flops_per_token: number; tflops_per_gpu: number; mfu: number; counts: string;
      note?: string }[];
    /** from ideal to actual, summing to time_s: ideal, kernels, recompute, launches, bubble, exposed_tp, exposed_cp,
     * exposed_ep, exposed_dp, optimizer, loader */
    parts: { name: string; seconds: number }[];
    /** of each pipeline rank, where the pipeline drains; they sum to `time_s` */
    by_rank?: { rank: number; parts: { name: string; seconds: number }[] }[];
    /** kernels of each pipeline rank by class and pass */
    kernels?: { rank: number; class: string; pass: string; seconds: number }[];
    /** what `bubble_s` comes from; the shares sum to it */
    bubble?: { fill_drain_s: number; unequal_stages_s: number; unequal_microbatches_s: number; messages_s: number };
    days?: number; gpu_hours?: number; cost?: number; rescaled_by?: number;
  };
}
/** A whole number from 1. */
export type Count = number;
/** Requests of `answerLine`, of the command, of assistants' tools and of the Python package have the keys of the
 * interface that is called after their verb; those of `report`, `certify` and `rl` are a Run itself. */
export interface ScheduleRequest {
  schedule: string;
  pp?: Count; microbatches?: Count; virtual_stages?: Count;
  /** micro-batches of a group, of interleaved 1F1B */
  group?: Count;
  /** variant of a schedule that has several */
  variant?: string;
  /** waves of hanayo */
  waves?: Count;
  /** pieces of a sequence, of seq1f1b */
  splits?: Count;
  /** with "custom", the ops of each rank: 0F0, 0B0, 0W0 or 0BW0 */
  order?: string[][] | string;
  /** stage-micro-batches that a rank holds at most from the start of a forward to the end of what frees it, of the
   * automatic schedules and of "optimal", the order with the least makespan; a number (default: `pp`) or a list by
   * rank */
  memory_limit?: number | number[];
  /** seconds of the forward of a chunk (a stage of a rank), or a list by stage */
  forward_s?: number | number[];
  /** seconds of the backward of the inputs, likewise */
  backward_input_s?: number | number[];
  /** seconds of the backward of the weights, likewise */
  backward_weight_s?: number | number[];
  /** the backward is one op that takes `backward_input_s` */
  whole_backward?: boolean;
  /** seconds of an overlapped pair of a forward and a backward */
  pair_s?: number;
  /** seconds of a message between ranks */
  p2p_s?: number;
  /** factors of the durations, one a global stage */
  stage_scale?: number[];
  /** false leaves the list of ops out of the answer */
  ops?: boolean;
  /** adds the distance from the best order under the same memory */
  certificate?: boolean;
}
/** No order of the same stage times, on ranks that hold as much as this one does at most, ends before
 * `lower_bound_s`. */
export interface Certificate {
  lower_bound_s: number;
  /** makespan over the bound, less 1 */
  gap: number;
  /** the gap is below one in 10,000 */
  proven: boolean;
  binding: { bound: "work" | "memory" | "both"; work_rank: number; work_s: number; memory_rank: number | null;
    microbatches: number | null; round_trip_s: number | null };
  /** makespan of the best order that was found under the same memory */
  best_s: number;
  /** chunks that each rank may hold: what the order itself holds at most; `chunks` of them are a micro-batch of a
   * rank */
  memory_limit: number[]; chunks: number;
  whole_backward: boolean;
  /** the bound with one chunk more on every rank */
  one_more_s: number;
  /** the bound whatever the ranks hold */
  unlimited_s: number;
  /** states that were searched, and whether the gap is open because that came to its limit */
  states: number; stopped: boolean;
}
export interface ScheduleReply {
  errors: Issue[]; warnings: Issue[]; makespan_s: number; ideal_s: number; bubble_fraction: number;
  bubble_over_ideal: number; bubble_span: number; peak_in_flight: number[]; weight_copies: number[];
  /** of a schedule that never drains: seconds of a step once it is full; the figures above have its fill and drain */
  steady_s?: number;
  /** the durations of the request are of a chunk */
  unit: "chunk";
  certificate?: Certificate;
  order: string[][];
  /** rank, kind (F, B, W, BW), stage, micro-batch, start, end */
  ops?: [number, string, number, number, number, number][];
}
export interface PlanRequest {
  run?: Run;
  /** rows, 20 by default; each holds a whole report */
  top?: Count;
  /** fields kept as the run has them: tp, pp, cp, ep, etp, zero, micro_batch, sequence_parallel, recompute,
   * schedule, virtual_stages, stage_layers, hsdp_shard */
  pin?: string[];
  /** the only values that are tried, by the same names: {"tp":[1,2,4]}; split: even, spare-last, spare-ends */
  space?: { [field: string]: unknown[] | unknown };
  /** also tries adapters, a quantised base and, where the run has `host_memory_gib`, states and parameters on the
   * host */
  also?: boolean;
  /** units of work, the same on every machine, after which the search stops; 16,000,000 by default, about 2 s of one
   * core. Until it has found something it goes on to that default */
  work?: Count;
}
/** `report` is what the function `report` answers for `run`; `serves`: it fits here and the named software can run
 * it; `tie_with_first`: its distance from the first is inside the error of differences between layouts */
export interface PlanRow { run: Run; report: Report; tie_with_first: boolean; serves: boolean; why: string }
export interface Plan {
  errors: Issue[]; warnings: Issue[];
  /** true where no other layout can be faster; false where the search stopped at its limit of work */
  complete: boolean;
  /** layouts looked at, those that fit, those whose full report was asked */
  evaluated: number; feasible: number; reported: number;
  /** strictly by time_s */
  best: PlanRow[];
  /** the fastest layout with an order found by search, where it beats the named schedules and the software takes an
   * order */
  optimal?: PlanRow;
  /** index of the simplest of the ties (smallest tp cp pp, then the fastest); null where nothing fits */
  recommended: number | null;
  /** index of the fastest that serves; null where none of them does */
  fastest: number | null;
}
export function report(run: Run): Report | Refusal;
export function schedule(request: ScheduleRequest): ScheduleReply | Refusal;
export interface Certified { errors: Issue[]; chosen?: Run; makespan_s: number; certificate: Certificate }
/** The certificate of a Run's pipeline. */
export function certify(run: Run): Certified | Refusal;
export function plan(request: PlanRequest): Promise<Plan | Refusal>;
export interface Observation {
  name?: string; run?: Run;
  /** seconds of a step, the median of the steady ones */
  step_s?: number;
  /** standard deviation of its logarithm, 0.07 by default */
  sigma?: number;
  /** peaks of the fullest GPU, GiB */
  allocated_gib?: number; reserved_gib?: number; device_gib?: number;
}
export interface CalibrateRequest {
  runs: Observation[]; name?: string;
  /** the run to be predicted */
  question?: Run;
  /** GPUs that the next measured run may take */
  gpus?: Count;
}
export interface Calibration {
  errors: Issue[];
  /** runs, and runs to make next, that the limit of work leaves out */
  warnings: Issue[];
  /** the field `profile` of a Run */
  profile: { [part: string]: unknown };
  constants: { name: string; factor: number; width_before: number; width: number; share: number; informed: boolean;
    informed_by?: string }[];
  runs: { name: string; measured_s: number; before_s: number; after_s: number; expected_s: number; off: number;
    warning?: string }[];
  memory: { overhead_gib: number; reserved_over_allocated: number } | null;
  /** runs that disagree where it cannot be told which is wrong */
  disagreement?: string;
  layouts: { name: string; measured_gib: number; predicted_gib: number; warning: string }[];
  next: { run: Run; sd_before: number; sd_after: number; teaches: string }[];
}
export interface LogRequest {
  /** the text itself, not a path */
  text: string;
  /** what the log leaves out */
  run?: Run;
}
export interface Measured {
  errors: Issue[];
  program: string;
  /** what `calibrate` takes; null where nothing was measured */
  observation: Observation | null;
  used: [string, string][]; assumed: string[]; notes: string[];
  /** the calculator's step and peaks of the same run beside the measured ones */
  compared: string[];
}
/** A log, a benchmark's output, a trace or a memory snapshot as text; what it does not say of its run is as in
 * `run`. */
export function readLog(text: string, run?: Run): Measured | Refusal;
export interface DiagnoseRequest {
  /** at most 256, of 16 MB together; larger ones: the command `shardscope diagnose FILE...` */
  files: { name?: string; text?: string;
    /** bytes of a packed file */
    base64?: string }[];
  /** the run that was measured */
  run?: Run;
}
export type CauseId = "grad-reduce-late" | "param-gather-exposed" | "host-late" | "host-pause" | "late-rank"
  | "unequal-stages" | "unequal-lengths" | "bubble" | "tp-exposed" | "cp-exposed" | "ep-exposed" | "ep-imbalance"
  | "slow-network" | "slow-kernels" | "attention-fallback" | "loader" | "checkpoint" | "definition" | "another-setting"
  | "fragmentation" | "longest-sample" | "expert-imbalance" | "first-optimizer-step" | "logits" | "retained-graph"
  | "other-process" | "memory-limit" | "never-fitted" | "evaluation" | "context" | "group-unknown";
export interface Cause {
  id: CauseId; title: string; evidence: string;
  /** seconds of the window, or bytes of the GPU; neither where a log is only consistent with it */
  seconds?: number; bytes?: number;
  change?: string;
  /** fields that try the change on the run */
  set?: [string, string][];
  /** other changes, each of which removes it as well: in words, and the fields that try it */
  others?: { change: string; set: [string, string][] }[];
  /** changes that were tried and are not enough alone */
  not_enough?: { change: string; set: [string, string][] }[];
  /** bytes of the GPU that would still be missing without the cause: alone it is not what the run failed of */
  missing?: number;
  /** the cheapest measurement that settles it */
  measure?: string;
  /** seconds of the step without the cause; of a log alone, what is predicted with the change */
  predicted_s?: number;
  /** seconds of a step that are predicted for the run as it is, and with `set` */
  change_s?: [number, number];
}
export interface Remedy {
  /** the part, as in `step.parts` of a report, and its predicted seconds */
  part: string; seconds: number;
  /** the change of settings in words, where one helps */
  change?: string;
  /** what it is predicted to gain, or what to look at where no setting helps */
  words: string;
  /** fields and values that make the change; empty where none helps */
  set: [string, string][];
  /** seconds of a step that are predicted for the run as it is, and with `set` */
  change_s?: [number, number];
  /** the gain is larger than the error of such differences */
  told: boolean;
}
export interface Diagnosis {
  errors: Issue[]; warnings: Issue[]; read: string[];
  comparison: "longer" | "inside_the_range" | "shorter" | "part_of_a_step" | "not_of_this_run" | "sums_only" | "memory"
    | "two_runs";
  verdict: string;
  window_ns: number; rank: number | null;
  /** true where the window is a whole step of this run */
  step: boolean;
  microbatches: number | null; predicted_s: number | null; low_s: number | null; high_s: number | null;
  /** the parts of a rank add up to its window exactly */
  parts: { rank: number; name: string; measured_ns: number; predicted_s: number | null }[];
  kernels: { class: string; count: number; measured_ns: number; median_ns: number; predicted_s: number | null }[];
  /** parts of a step of reinforcement learning that a log times; empty of other runs */
  rl: {
    name: "generation" | "update" | "sync"; measured_s: number; predicted_s: number | null; ratio: number | null;
  }[];
  gaps: { reason: string; count: number; measured_ns: number; longest_ns: number }[];
  messages: { dimension: string; kind: string; ranks: number; count: number; bytes: number; measured_ns: number;
    waiting_ns: number | null; bytes_per_s: number | null }[];
  causes: Cause[];
  /** what to do about each part of the predicted step, the longest first; empty where no whole step is compared */
  remedies: Remedy[];
  /** share of the difference that the causes sum to, at most 1; what a log says that a profiler costs is no part */
  explained: number | null;
  ranks: { ranks: { rank: number; wire_s: number; waiting_s: number; makes_wait_s: number; compute_s?: number;
    offset_ns: number | null }[]; calls: number; late: number | null; workers?: number; slow?: number;
      stages?: number } | null;
  workers: object | null; series: object | null; memory: object | null;
}
/** Where the rest of a measured step or of the memory is, beside what `run` predicts; nothing of the files is kept or
 * sent. */
export function diagnose(files: Blob[], run?: Run): Promise<Diagnosis | Refusal>;
/** What measured runs teach, and which to make next for `question` on at most `gpus`. */
export function calibrate(request: CalibrateRequest): Calibration | Refusal;
/** A Run with `tokens_total`, or: */
export interface WholeRunRequest {
  run?: Run;
  /** asks for the tokens that train in these days */
  days?: number;
  /** with `by_days`, asks for the smallest number of GPUs */
  tokens?: number; by_days?: number;
}
export interface WholeRun {
  days: number; low_days: number; high_days: number;
  /** what widens the range most; null without one */
  range_from: "failures" | "operation" | "step" | null;
  gpu_hours: number; cost: number | null; currency: string;
  energy_kwh: number; low_energy_kwh: number; high_energy_kwh: number; co2e_t: number | null; power_w: number;
  interruptions: number; mtti_s: number | null;
  /** share of the calendar that trains */
  productive: number; low_productive: number; high_productive: number; calendar_mfu: number;
  steps: number; training_s: number;
  losses: { name: "startup" | "evaluation" | "rollbacks" | "checkpoints" | "repeated_work" | "restarts"
    | "stragglers"; seconds: number }[];
  checkpoint_s: number | null; best_checkpoint_s: number | null; checkpoint_range_s: [number, number] | null;
  checkpoint_bytes: number; save_s: number; spares: number; tokens: number;
}
export interface WholeRunReply {
  errors: Issue[]; warnings: Issue[];
  /** as of a report */
  chosen?: Run;
  whole_run?: WholeRun;
  /** of `{run, days}` */
  tokens?: number;
  /** of `{run, tokens, by_days}`; `gpus` is null where no count meets the date */
  deadline?: { gpus: number | null; days: number; high_days: number; fastest_gpus: number;
    counts: [number, number, number][];
    /** bytes that the fullest GPU is short of, by count; 0 where the layout is not out of memory */
    missing_bytes: number[] };
}
/** The whole run of a Run with `tokens_total`, or the answer to an inverse question. */
export function wholeRun(request: Run | WholeRunRequest): WholeRunReply | Refusal;
export interface RlStep {
  /** seconds of a step; `low_s` and `high_s` as steps of the framework were measured, or stated where none were */
  step_s: number; low_s: number; high_s: number;
  phases: {
    name: "prefill" | "decode" | "tail" | "tools" | "verifier" | "reward" | "old-log-probabilities" | "reference"
      | "values"
      | "critic-update" | "update" | "sync" | "offload" | "other";
    group: "all" | "engines" | "trainer"; seconds: number;
  }[];
  /** share of the step in which a group waits */
  idle: { group: "all" | "engines" | "trainer"; share: number }[];
  generation_s: number; training_s: number; sync_s: number;
  /** what a split step waits for; "balanced" within the error, "in-turn" where nothing overlaps */
  bound: "engines" | "trainer" | "balanced" | "in-turn";
  rollout_gpus: number;
  /** responses that an engine decodes at once, and that fit */
  at_once: number; capacity: number;
  /** mean over longest response, of responses that start together */
  busy: number;
  tokens_per_s_per_gpu: number;
  memory: { phase: string; bytes: number }[]; capacity_bytes: number;
  split: { rollout_gpus: number; step_s: number; generation_s: number; training_s: number }[];
  /** steps by which their responses are older than the weights: as in this run, of a colocated one at least 1, since a
   * split without overlap only waits (TRL's never overlaps) */
  split_staleness: number;
  /** least and most GPUs that generate within 10 % of the shortest split step */
  flat?: [number, number];
  /** null where no split is shorter beyond the error */
  best: number | null;
  /** of `rl.steps` steps */
  days?: number; gpu_hours?: number; cost?: number;
}
export interface RlReply { errors: Issue[]; warnings: Issue[]; rl: RlStep }
/** The step of reinforcement learning of a Run with `rl.*`. What no setting tells is refused with a sentence. */
export function rl(request: Run | { run: Run }): RlReply | Refusal;
export function encodeLink(run: Run): { errors: Issue[]; fragment: string } | Refusal;
export function decodeLink(text: string): { errors: Issue[]; run: Run; notices: Issue[] } | Refusal;
export interface ImportRequest {
  /** the text itself, not a path */
  text: string;
  /** what the text leaves out */
  run?: Run;
  /** values of variables of a script, or true and false of a condition in `branches` of the answer */
  set?: { [name: string]: string | number | boolean };
  /** files that the text names: sourced scripts, DeepSpeed's and Accelerate's settings, the file behind `--config` or a
   * task, `defaults` */
  files?: { name: string; text: string }[];
}
export interface Imported {
  errors: Issue[];
  /** what the text was recognised as */
  format: string;
  run: Run;
  /** entry and what it says */
  used: [string, string][];
  /** what the text leaves out, and what is taken instead */
  assumed: string[];
  /** entries without effect, each with why */
  ignored: string[];
  /** entries that may matter and are not read, what could change most first */
  unread: Unread[];
  /** conditions of the text, and the way that each was taken */
  branches: Branch[];
  model: ModelRead;
}
/** `decided` is false where it rests on what the text does not set: `rests_on`; `set` of an import takes the other way
 * by `condition`. */
export interface Branch {
  line: number;
  condition: string;
  taken: boolean;
  decided: boolean;
  rests_on: string[];
}
/** `line` is null where the name was not found again. */
export interface Unread {
  name: string;
  line: number | null;
  kind: "not-modelled" | "not-known" | "undecided" | "missing-file";
  why: string;
  /** "memory", "time", "memory and time" or "not known" */
  could_change: string;
}
/** `id` is a preset, or the name of a model with other sizes; `sure` is false where the text leaves it open. */
export interface ModelRead {
  id: string;
  by: "id" | "shape" | "name" | "page";
  sure: boolean;
}
export type ExportFormat = "markdown" | "json" | "csv" | "order" | "order-table" | "rl" | "megatron" | "torchtitan"
  | "deepspeed" | "nanotron" | "axolotl" | "llama-factory" | "trl" | "accelerate" | "torchtune" | "llm-foundry" | "peft"
  | "svg-memory" | "svg-step" | "svg-overlap" | "svg-timeline";
export interface ExportRequest { run?: Run; format: ExportFormat }
/**
 * A link, JSON, a config.json, or settings of the programs above, of Megatron-Bridge, NeMo Automodel, NeMo-RL, verl,
 * slime, OpenRLHF, NeMo 1, Primus, ms-swift or MLPerf; several files in one text, the lowest first, with a line of
 * three dashes between. What it does not say is as in `run`.
 */
export function importText(text: string, run?: Run, given?: Pick<ImportRequest, "set" | "files">): Imported | Refusal;
/** `date` is printed as given; `address` is the page's, before the `#` of the link. */
export function exportRun(run: Run, format: ExportFormat, stamp?: { date?: string; address?: string }):
  { errors: Issue[]; text: string } | Refusal;
/** What the package's command answers to a line of standard input; undefined where `verb` is not one of these. */
export function answerLine(verb: "report" | "schedule" | "plan" | "certify" | "import" | "export" | "calibrate"
  | "log" | "whole-run" | "rl" | "diagnose" | "scoreboard", line: string):
  Report | ScheduleReply | Plan | Certified | Imported | Calibration | Measured | WholeRunReply | RlReply | Diagnosis
  | ToolScore | { errors: Issue[]; text: string } | Refusal | undefined;
export interface ScoreboardRequest {
  /** errors of steps that this calculator predicted before they were known; the published runs (long); its predictions
   * of them (minutes) */
  ask?: "origin" | "questions" | "predictions";
  /** without `ask`: the text of a file of predictions, as docs/scoreboard.md has it, for its score */
  predictions?: string;
  /** tables of published runs by name, in place of the package's own */
  tables?: { [name: string]: string };
}
/** The row of a tool in the scoreboard. */
export interface ToolScore {
  errors: Issue[];
  /** lines that were not counted, and what the file leaves out */
  notes: string[];
  about: unknown;
  columns: { column: string; asked: number; covered: number; mean: number | null; median: number | null;
    ranged: number; inside: number; fitted: number }[];
  outcomes: { ran_out: number; ran_out_covered: number; false_fits: number; ran: number; ran_covered: number;
    false_oom: number; fitted: number };
  /** verdict, runs with it, those of them that ran out of memory */
  bands: [string, number, number][];
}
export function version(): string;
/** Loads the calculator; nothing is mounted. Without an argument the WebAssembly is fetched from beside the module. */
export default function init(options?: { module_or_path: RequestInfo | URL | Response | BufferSource
  | WebAssembly.Module }):
  Promise<unknown>;
/** The same with bytes or a compiled module at hand. */
export function initSync(options: { module: BufferSource | WebAssembly.Module }): unknown;
/** Loads what `initSync` leaves out in a browser; until then every function but version, encodeLink and
 * decodeLink refuses. */
export function ready(): Promise<void>;
