//! Where the formulas of the lessons come from: three lines each, what is counted, how it adds up, what follows.

/// A formula as its step writes it, and its lines.
type Derivation = (&'static str, [&'static str; 3]);

/// The lines of the formula that is written `symbols`.
pub(super) fn derivation(symbols: &str) -> Option<&'static [&'static str; 3]> {
    DERIVATIONS.iter().find(|(formula, _)| *formula == symbols).map(|(_, lines)| lines)
}

static DERIVATIONS: &[Derivation] = &[
    // Memory.
    (
        "M = bytes · N",
        [
            "Every parameter has a weight, a gradient and the numbers that the optimizer keeps of it.",
            "Each of these takes the bytes of its format; the recipe says which formats.",
            "Added up they are the bytes of one parameter; N parameters take N times as much.",
        ],
    ),
    (
        "A = 34 s b h",
        [
            "Attention keeps 11 s b h bytes: input 2, queries and keys 4, values 2, projected 2, dropout mask 1.",
            "The FFN keeps 19: input 2, before and behind the activation function 8 each, dropout mask 1.",
            "Two norms keep their inputs, 4: together 34 for each of s b tokens and h units, without scores.",
        ],
    ),
    (
        "scores / rest = 5 a s / (34 h)",
        [
            "Each of a heads has s² scores per sequence: softmax output 2 bytes, dropout output 2, mask 1.",
            "That is 5 a s² b bytes; everything else in the layer is 34 s b h.",
            "The ratio of the two has one s left: it doubles with the sequence.",
        ],
    ),
    (
        "A = 2 s b h per layer",
        [
            "With full recomputation a layer keeps its input alone and computes everything else again.",
            "The input has h numbers for each of s b tokens.",
            "In bf16 a number has 2 bytes.",
        ],
    ),
    (
        "L = 10 s b V / t",
        [
            "Each of s b tokens has V logits, of which a rank holds V / t.",
            "The output layer writes them in bf16, 2 bytes, and the loss copies them to fp32, 4 bytes.",
            "Counting tensors gives 8 at the worst moment; 10 meets published peaks better and is used.",
        ],
    ),
    (
        "need = states + activations + buffers + overhead",
        [
            "States are there all the time: weights, gradients, optimizer.",
            "Activations and buffers are largest at one moment of the step; that moment counts.",
            "The CUDA context, libraries and freed but unusable memory are overhead, which is measured.",
        ],
    ),
    // Formats.
    (
        "largest = (2 − 2⁻ᵐ) 2ᵇ,  b = 2ᵉ⁻¹ − 1",
        [
            "A number is 1.f times a power of two: m bits of fraction, e bits of exponent.",
            "The largest fraction is all ones: 1 + 1/2 + 1/4 + … = 2 − 2⁻ᵐ.",
            "Exponents are stored with the bias b; the largest that is no infinity is b itself.",
        ],
    ),
    (
        "g ≈ round(S g) / S",
        [
            "A gradient below the smallest number of the format becomes zero.",
            "A loss times S has gradients times S, by the chain rule: they are back in range.",
            "The optimizer divides by S in fp32, where nothing is lost.",
        ],
    ),
    (
        "scale = largest of the format / largest of the block",
        [
            "A block is stored as numbers of the format and one scale.",
            "The largest number of the block shall become the largest of the format: no overflow, no room wasted.",
            "So the scale is the ratio of the two; readers divide by it.",
        ],
    ),
    // GPU.
    (
        "P ≤ min(F, M I),  F = M I at I = F / M",
        [
            "A kernel of W operations and Q bytes takes at least W / F, and at least Q / M.",
            "Its rate is W / t, so at most F, and at most M W / Q = M I with the intensity I = W / Q.",
            "Both limits are equal where I = F / M: below it memory decides, above it arithmetic.",
        ],
    ),
    (
        "stored / tiles ≈ 2 B / d",
        [
            "Stored scores: s² numbers are written and read twice, 4 s² for long sequences.",
            "Tiles: keys and values, 2 s d numbers, pass by once for each of s / B tiles: 2 s² d / B.",
            "The ratio is 4 s² / (2 s² d / B) = 2 B / d.",
        ],
    ),
    // Collectives.
    (
        "V = 2 S (n − 1) / n",
        [
            "The tensor is cut into n pieces of S / n.",
            "After n − 1 steps of a piece each the sums are complete; after n − 1 more all ranks have them.",
            "That is 2 (n − 1) pieces of S / n.",
        ],
    ),
    (
        "2 n S / k  against  4 S (n − 1) / n",
        [
            "A server with a k-th of the parameters receives S / k from each of n workers and answers with as much.",
            "A rank of a ring sends 2 S (n − 1) / n and receives as much.",
            "Both directions of a link are added on either side.",
        ],
    ),
    (
        "steps: 2 (n − 1) on a ring, 2 log₂ n on a tree",
        [
            "On a ring a sum passes every rank: n − 1 steps, and as many to spread the result.",
            "On a tree pairs add up, then pairs of pairs: log₂ n steps to the root.",
            "The result goes down the same way: as many again.",
        ],
    ),
    (
        "B = 2 S (n − 1) / (n t)",
        [
            "A rank of a ring sends 2 S (n − 1) / n for an all-reduce.",
            "That over the time t is the rate of its link.",
            "So it can be held against the data sheet, whatever the number of ranks.",
        ],
    ),
    // Data parallelism and ZeRO.
    (
        "V = 2 g P (n − 1) / n",
        [
            "Gradients are P numbers of g bytes: a tensor of S = g P.",
            "An all-reduce around a ring of n ranks sends 2 S (n − 1) / n.",
            "With many ranks that is almost twice the gradients, and no more.",
        ],
    ),
    (
        "t = hops · latency + 2 S (n − 1) / (n · B)",
        [
            "Each step of the ring waits for the latency of one message.",
            "The bytes, 2 S (n − 1) / n, pass the slowest link of the group, B.",
            "Small messages pay the first term, large ones the second.",
        ],
    ),
    (
        "exposed = max(0, wire − overlap · backward)",
        [
            "Gradients travel while earlier layers of the backward pass compute.",
            "The share of that time in which a message can run is the overlap.",
            "What does not fit there lengthens the step; less than nothing is not exposed.",
        ],
    ),
    (
        "optimizer = 12 P / n",
        [
            "Adam keeps two averages, mixed precision a master copy of the weights: three numbers per parameter.",
            "In fp32 they have 4 bytes each: 12 P.",
            "Each of n ranks keeps the n-th part and updates only that.",
        ],
    ),
    (
        "states = 18 P / n",
        [
            "Weights have 2 bytes in bf16, gradients 4 in fp32, the optimizer 12: 18 per parameter.",
            "Stage three shards all of them.",
            "A rank keeps the n-th part; the layer that is running is gathered on top.",
        ],
    ),
    (
        "states = n · 18 P → 18 P",
        [
            "A copy has 18 bytes per parameter: weights 2, gradients 4, optimizer 12.",
            "Without ZeRO there are n copies.",
            "With stage three each byte is on one rank: n parts of 18 P / n.",
        ],
    ),
    (
        "V = (g + w) P (n − 1) / n,  V₃ = (g + 2 w) P (n − 1) / n",
        [
            "A reduce-scatter of gradients sends g P (n − 1) / n, an all-gather of weights w P (n − 1) / n.",
            "Stages one and two do each once in a step.",
            "Stage three gathers for the forward and again for the backward pass: one w more.",
        ],
    ),
    (
        "max(compute, wire) ≤ T ≤ compute + wire",
        [
            "Kernels run one after the other, and so do messages: T is at least as long as either.",
            "If nothing overlaps, T is their sum; no order of a step is longer.",
            "What a message waits for, and what waits for it, decides where T lies between.",
        ],
    ),
    (
        "ratio = bytes(weights, gradients) / bytes(activations)",
        [
            "ZeRO-3 sends weights twice and gradients once for each micro-batch, whatever its size.",
            "A stage of a pipeline sends s b h numbers forward and as many backward for each micro-batch.",
            "The first grows with the parameters, the second with the tokens.",
        ],
    ),
    (
        "n ≤ B / b",
        [
            "A rank takes at least one micro-batch of b sequences in a step.",
            "n ranks take n b of the B sequences of the batch.",
            "So n b ≤ B: more ranks would have nothing to do.",
        ],
    ),
    // Tensor parallelism.
    (
        "Y = X A = [X A₁ … X Aₜ] = X₁ A₁ + … + Xₜ Aₜ",
        [
            "A column of Y needs one column of A: columns can be computed apart.",
            "An element of Y is a sum over rows of A: rows give partial sums, with the columns of X that meet them.",
            "Either way a rank holds 1 / t of A.",
        ],
    ),
    (
        "Z = φ(X A) B = φ(X A₁) B₁ + … + φ(X Aₜ) Bₜ",
        [
            "Cut A by columns: rank i has the columns X Aᵢ, and φ works on each number alone.",
            "Cut B by rows: rank i needs just those columns for φ(X Aᵢ) Bᵢ.",
            "The partial sums are added up once: nothing is sent between A and B.",
        ],
    ),
    (
        "copies = max(1, t / k)",
        [
            "A head of keys and values is not cut, so a rank has at least one.",
            "With t ranks and k heads, t heads are held in all where t exceeds k.",
            "Each of the k heads is then held t / k times.",
        ],
    ),
    (
        "V = 16 s b h (t − 1) / t",
        [
            "A layer has two all-reduces forward and two backward, of s b h numbers each.",
            "An all-reduce sends 2 (t − 1) / t of its tensor: 8 s b h (t − 1) / t numbers in all.",
            "In bf16 each has 2 bytes.",
        ],
    ),
    (
        "2 V h / t",
        [
            "The embedding has a row of h numbers for each of V words.",
            "In bf16 a number has 2 bytes.",
            "Each of t ranks holds the rows of its V / t words.",
        ],
    ),
    (
        "ratio = 2 F (t − 1) / (2 h B)",
        [
            "A gather of s b h numbers in bf16 takes 2 s b h (t − 1) / (t B).",
            "The product of h × h that needs it takes 2 s b h² / (t F) on each of t ranks.",
            "Their ratio has neither tokens nor the size of the rank's part.",
        ],
    ),
    (
        "V = 2 (q − 1) / q²",
        [
            "Of q² ranks each has 1 / q² of the input and of the weights.",
            "It needs the q blocks of its row of the input and of its column of the weights, one of which it has.",
            "So it receives 2 (q − 1) blocks of 1 / q².",
        ],
    ),
    (
        "V = 3 (q − 1) / q³",
        [
            "Of q³ ranks each keeps 1 / q³ of input, weights and output.",
            "It gathers a block of input and of weights, q pieces each, and adds up a block of output.",
            "Of each it moves the q − 1 pieces that are not its own.",
        ],
    ),
    // Sequences.
    (
        "A = 10 s b h / t",
        [
            "Outside attention and FFN a layer keeps 10 s b h bytes: inputs of norms and blocks, dropout masks.",
            "No token needs another there.",
            "So each of t ranks keeps those of s / t tokens.",
        ],
    ),
    (
        "n = s b / c",
        [
            "A micro-batch has s b tokens.",
            "Context parallelism gives each of c ranks the same number of them, for the whole model.",
            "Activations follow the tokens; weights do not shrink.",
        ],
    ),
    (
        "V = 8 N d (1 + k/a) (P − 1) / P²",
        [
            "A rank has N / P tokens; of queries and the output each has d numbers, of keys and values d k/a.",
            "An all-to-all sends (P − 1) / P of them: 2 N d (1 + k/a) (P − 1) / P² numbers forward.",
            "In bf16, and the same again backward: 8 bytes for each.",
        ],
    ),
    (
        "ratio = (k / a) F / ((s / c) B)",
        [
            "Keys and values of a block are 2 (s / c) h (k / a) numbers, 4 (s / c) h (k / a) bytes over B.",
            "Attention of a block to a block takes 4 (s / c)² h operations at F.",
            "Their ratio falls with the tokens of a block.",
        ],
    ),
    (
        "T = c − 1/2",
        [
            "In step 1 every rank attends to its own block: half the pairs of a square.",
            "In each of c − 1 further steps at least one rank has a full block, and all wait for it.",
            "So the ring takes 1/2 + (c − 1) blocks of time.",
        ],
    ),
    (
        "T = c / 2",
        [
            "A causal mask leaves half of the c² pairs of blocks.",
            "In zig-zag order each of c ranks has the same work in every step.",
            "So each takes c² / 2 / c blocks of time.",
        ],
    ),
    (
        "V(ring) = 12 N d (k / a) (P − 1) / P",
        [
            "A rank sends keys and values of N / P tokens on, P − 1 times: 2 N d (k / a) (P − 1) / P numbers.",
            "Backward they go round again, and their gradients with them: 4 such numbers more.",
            "In bf16 each has 2 bytes: 2 · 6 = 12.",
        ],
    ),
    (
        "fill = 1 − E[L²] / (2 E[L] S)",
        [
            "Samples of lengths L stand one behind the other in packs of S tokens.",
            "A point picked at random lies in a sample of mean length E[L²] / E[L]: long ones are hit more often.",
            "The end of a pack is such a point; half of the sample that it meets is room that stays free.",
        ],
    ),
    // Pipelines.
    (
        "bubble = (p − 1) / p",
        [
            "One micro-batch at a time: each of p ranks works while the others wait.",
            "A rank works 1 / p of the time.",
            "The rest is idle.",
        ],
    ),
    (
        "bubble = (p − 1) / (m + p − 1)",
        [
            "A rank works on m micro-batches, m (F + BW).",
            "Rank r waits r forward passes for its first one and p − 1 − r between others; backward the same.",
            "So (p − 1)(F + BW) of (m + p − 1)(F + BW) is idle, on every rank.",
        ],
    ),
    (
        "bubble = (p − 1) / (v m + p − 1)",
        [
            "A rank has v stages, each as long as 1 / v of the whole.",
            "The pipeline fills and drains over p − 1 of these small stages: (p − 1)(F + BW) / v.",
            "The work stays m (F + BW): times v on both sides gives the formula.",
        ],
    ),
    (
        "F = B = W = 2 s h f",
        [
            "s × h times h × f has s f sums of h terms, each a multiplication and an addition: 2 s h f.",
            "dX = dY Wᵀ is s × f with f × h, dW = Xᵀ dY is h × s with s × f.",
            "All three have the same three sizes.",
        ],
    ),
    (
        "bubble = (p − 1)(F + B − W) / (3 m + (p − 1)(F + B − W))",
        [
            "Filling and draining takes (p − 1)(F + B) where W waits.",
            "As many W passes fill gaps at the end: (p − 1) W of it is not idle.",
            "The work is m (F + B + W) = 3 m where the three are equal.",
        ],
    ),
    (
        "bubble = (p − 1) / (6 m + p − 1)",
        [
            "A stage of the V is half a rank's layers: each pass takes half as long.",
            "A rank idles before its first micro-batch and after its last: p − 1 such passes in all.",
            "Its work is 2 stages of 3 passes for each micro-batch: 6 m.",
        ],
    ),
    (
        "bubble = (p / 2 − 1)(FB + B − 2 W) / (3 m + (p / 2 − 1)(FB + B − 2 W))",
        [
            "From both ends a micro-batch has p / 2 − 1 ranks to the middle.",
            "There a forward and a backward pass run as a pair, FB; two W passes fill a gap.",
            "The work is m (F + B + W) = 3 m where the three are equal.",
        ],
    ),
    (
        "bubble = (p − 1)(3 + 2 c) / (3 (m + p − 1) + 2 (p − 1) c)",
        [
            "A rank of GPipe works for m micro-batches, each a forward pass of 1 and a backward pass of 2.",
            "It waits for p − 1 passes of either kind on other ranks, and for the 2 (p − 1) messages between them.",
            "All other messages travel while ranks run other micro-batches: the rest of the time is the bubble.",
        ],
    ),
    (
        "T ≥ (p − 1) F + m (F + BW) + (p − 1) BW",
        [
            "The last rank cannot begin before p − 1 forward passes.",
            "It then has m forward and m backward passes of its own.",
            "After its last backward pass, the ranks before it still have one each: p − 1.",
        ],
    ),
    (
        "gain = T(even) / T(uneven)",
        [
            "In the steady state every rank takes as long as the slowest.",
            "Moving layers off the slowest rank shortens that time until another rank is the slowest.",
            "The gain is the ratio of the two steps, both simulated.",
        ],
    ),
    (
        "loss = 1 − V(most) / V(fewest)",
        [
            "V is what a GPU computes in a second: the work of a step over its time, over the GPUs.",
            "If nothing were lost, a GPU would compute as much however many there are.",
            "The loss is the share that is missing on the most GPUs.",
        ],
    ),
    // Overlap.
    (
        "t = hops · latency + S (n − 1) / (n B)",
        [
            "An all-gather has n − 1 steps around a ring, each with its latency.",
            "A rank receives the n − 1 parts that it lacks, S / n each.",
            "They pass its slowest link, B.",
        ],
    ),
    (
        "wire / compute = e F (n − 1) / (2 n T B)",
        [
            "P parameters of e bytes take e P (n − 1) / (n B) around a ring.",
            "T tokens take 2 P T operations in a pass: 2 P T / F.",
            "The parameters cancel: tokens per GPU decide.",
        ],
    ),
    (
        "wire / compute = e F (t − 1) / (2 h B)",
        [
            "A gather of T h numbers of e bytes takes e T h (t − 1) / (t B).",
            "The product with h × h weights, cut over t ranks, takes 2 T h² / (t F).",
            "The tokens cancel: only the width of the model helps.",
        ],
    ),
    (
        "wire / compute = 2 (k / a) F / ((s / c) B)",
        [
            "Keys and values of a block are 4 (s / c) h (k / a) bytes over B.",
            "Attention of a block to a block takes 4 (s / c)² h operations at F; a causal mask leaves half.",
            "The ratio falls with the tokens of a block.",
        ],
    ),
    (
        "exposed = W − H + x H,  H = min(W, φ C)",
        [
            "Of the compute C a share φ can hide messages: H of the time W on the wire.",
            "What is hidden slows the kernels beside it by x of itself.",
            "The step gets longer by what is not hidden and by that.",
        ],
    ),
    // Experts.
    (
        "y = Σ over the K best of gᵢ Eᵢ(x)",
        [
            "A router scores all experts for a token and keeps the K best.",
            "Only those compute; g are their scores, normalised.",
            "So a token costs K experts, however many there are.",
        ],
    ),
    (
        "most tokens = (1 + x) K · tokens / E",
        [
            "Each token goes to K experts: K · tokens visits.",
            "Spread evenly over E experts, each has K · tokens / E.",
            "The fullest has a share x more.",
        ],
    ),
    (
        "V = 4 · K · b s h · bytes · (e − 1) / e",
        [
            "Each of b s tokens visits K experts as h numbers.",
            "Of evenly spread visits (e − 1) / e go to another rank.",
            "They go and return, forward and backward: four times.",
        ],
    ),
    (
        "E = W − min(W, φ C) + S",
        [
            "Messages take W; a share φ of the compute C beside them can hide them.",
            "What does not fit stays exposed.",
            "S is what hidden messages slow the kernels by.",
        ],
    ),
    // Layouts.
    (
        "M ≥ 18 P / G",
        [
            "Every byte of weights, gradients and optimizer states must be somewhere.",
            "Mixed precision has 18 of them per parameter.",
            "Over G GPUs one holds at least the G-th part; no strategy holds less.",
        ],
    ),
    (
        "full / none ≤ (2 + 4 + 2) / (2 + 4)",
        [
            "A forward pass takes 2 operations per parameter and token, a backward pass 4.",
            "Full recomputation runs the forward pass once more: 2.",
            "Attention counts in the same ratio; what is not repeated makes it less.",
        ],
    ),
    (
        "A = 34 s b h L; recomputed in full: 2 s b h L",
        [
            "A layer of the original transformer keeps 34 bytes for each of s b tokens and h units.",
            "L layers keep L times as much.",
            "With full recomputation each keeps its input alone, in 2 bytes.",
        ],
    ),
    (
        "batch = DP · accumulation · micro-batch · s",
        [
            "A replica runs a micro-batch of so many sequences at once.",
            "It accumulates gradients over several before the update.",
            "DP replicas do so with other samples; s tokens a sequence.",
        ],
    ),
    (
        "gain = 1 − T₂ / T₁",
        [
            "T₁ is the step before the change, T₂ the step after it.",
            "T₂ / T₁ of the time is left.",
            "The rest is gained.",
        ],
    ),
    (
        "gain = T₁ / T₂",
        [
            "T₁ is the step before the change, T₂ the step after it.",
            "In the time of one step before, T₁ / T₂ steps are done after.",
            "So throughput grows by that factor.",
        ],
    ),
    (
        "accumulation = B / (b n)",
        [
            "n replicas of micro-batches of b sequences take n b sequences at once.",
            "The batch has B.",
            "Each replica runs B / (b n) micro-batches before the update.",
        ],
    ),
    (
        "elements = 8 L T h (t − 1) / t",
        [
            "A layer has four exchanges forward and four backward, of T h numbers each.",
            "A gather or a scatter over t ranks sends (t − 1) / t of them.",
            "L layers: 8 L T h (t − 1) / t numbers.",
        ],
    ),
    (
        "tokens per rank = s / c",
        [
            "The sequence has s tokens.",
            "Each of c ranks has the same number of them, for the whole model.",
            "Memory of activations follows.",
        ],
    ),
    (
        "share = T(recipe) / T(your run)",
        [
            "The recipe's last step is a layout of your model on these GPUs.",
            "Both step times come from the same calculator.",
            "Their ratio is the share of the time that is left.",
        ],
    ),
    // Reinforcement learning.
    (
        "idle = 1 − ℓ / longest",
        [
            "An engine holds its GPUs until the longest response ends.",
            "A response of mean length ℓ needs ℓ / longest of that time.",
            "The rest of its place is idle.",
        ],
    ),
    (
        "in turn: T = generation + training + sync",
        [
            "One group of GPUs generates, then trains on what it generated.",
            "Each part waits for the one before.",
            "Their times add up, and the new weights are sent in between.",
        ],
    ),
    (
        "T = max(generation, training) + sync",
        [
            "Two groups work at the same time: one generates the next batch while the other trains.",
            "Both hand over at the end of a step.",
            "So the slower one sets the step; the new weights are sent after it.",
        ],
    ),
    (
        "T(g) = max(generation(g), training(N − g)) + sync",
        [
            "Of N GPUs g generate and N − g train, at the same time.",
            "More GPUs make either part faster and the other one slower.",
            "The slower of the two sets the step: it is shortest where both take as long.",
        ],
    ),
    // The whole run.
    (
        "M = 1000 days / (nodes · rate)",
        [
            "The rate is interruptions of a node in 1000 days.",
            "Nodes fail independently: together nodes · rate in 1000 days.",
            "The mean time between two is 1000 days over that.",
        ],
    ),
    (
        "τ ≈ √(2 M δ)",
        [
            "A save of δ every τ costs δ / τ of the time.",
            "An interruption every M repeats half an interval on average: τ / (2 M) of the time.",
            "The sum is least where both are equal: τ² = 2 M δ.",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::{Dials, StepId};

    /// Formulas that the steps show, wherever their sliders start.
    fn shown() -> Vec<String> {
        let live = |id: StepId| (id.step().live)(&Dials::new(id.step().sliders, &[]));
        StepId::all().filter_map(|id| Some(live(id).formula?[0].to_string())).collect()
    }

    #[test]
    fn every_formula_has_its_three_lines_and_every_line_its_formula() {
        let shown = shown();
        let without: Vec<&String> = shown.iter().filter(|formula| derivation(formula).is_none()).collect();
        assert_eq!(without, Vec::<&String>::new(), "formulas of steps without a row in DERIVATIONS");
        let unused = DERIVATIONS.iter().map(|(formula, _)| *formula).filter(|one| !shown.iter().any(|it| it == one));
        assert_eq!(unused.collect::<Vec<_>>(), Vec::<&str>::new(), "rows of DERIVATIONS whose formula no step shows");
    }
}
