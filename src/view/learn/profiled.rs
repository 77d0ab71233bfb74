//! The kernels of a layer as a profiler recorded them, over those that the calculator predicts for the same sizes.

use crate::charts::ticks::ticks;
use crate::learn::prelude::*;
use shardscope_core::time::kernels;

/// Parts of a layer, in the order in which [`kernels`] lists them.
const PARTS: [(&str, Ink); 8] = [
    ("norms and residuals", Ink::Exposed),
    ("query, key, value", Ink::Forward),
    ("rotary embedding", Ink::Optimizer),
    ("attention", Ink::Weight),
    ("output projection", Ink::Forward),
    ("up projection", Ink::Forward),
    ("activation function", Ink::Backward),
    ("down projection", Ink::Forward),
];
/// Colours of the picture.
const KEY: [(&str, Ink); 5] = [
    ("matrix products", Ink::Forward),
    ("attention", Ink::Weight),
    ("norms and residuals", Ink::Exposed),
    ("rotary embedding and copies", Ink::Optimizer),
    ("activation function", Ink::Backward),
];

/// Qwen1.5 0.5B and its forward pass of 16 sequences of 559 tokens on an H100. Source: `TraceLens` 171dd747,
/// `tests/traces/h100/Qwen_Qwen1.5-0.5B-Chat__1016005`: sizes in the operands of `GEMM.csv` and `SDPA_fwd.csv`.
const RUN: &str = "model.base=llama-3.1-8b&model.layers=24&model.hidden=1024&model.ffn=2816&model.heads=16\
    &model.kv_heads=16&model.head_dim=64&model.vocab=151936&gpus=1&tp=1&pp=1&seq_len=559&micro_batch=16\
    &global_batch=16&stack=hf-trainer";
const SEQUENCES: u32 = 16;
const TOKENS: u32 = 559;

/// Kernels of its eleventh layer: part, start and length in tenths of a microsecond. Source: the trace beside these
/// tables, `tests/data/traces/tracelens_qwen_forward_h100.json.gz`. Copies that attention needs are with the rotary
/// embedding.
const MEASURED: [(usize, u16, u16); 42] = [
    (0, 0, 292),
    (0, 313, 276),
    (0, 599, 149),
    (0, 756, 16),
    (0, 792, 15),
    (0, 816, 325),
    (0, 1153, 183),
    (0, 1347, 258),
    (1, 1645, 316),
    (1, 2001, 314),
    (1, 2355, 319),
    (2, 2685, 321),
    (2, 3024, 120),
    (2, 3161, 425),
    (2, 3596, 238),
    (2, 3845, 345),
    (2, 4209, 316),
    (2, 4545, 128),
    (2, 4683, 418),
    (2, 5112, 236),
    (2, 5367, 354),
    (2, 5741, 288),
    (2, 6039, 293),
    (2, 6344, 296),
    (3, 6660, 1124),
    (2, 7804, 274),
    (4, 8118, 316),
    (0, 8444, 187),
    (0, 8649, 293),
    (0, 8961, 261),
    (0, 9232, 152),
    (0, 9395, 17),
    (0, 9429, 16),
    (0, 9456, 334),
    (0, 9800, 185),
    (0, 9994, 248),
    (5, 10291, 850),
    (6, 11159, 381),
    (5, 11579, 826),
    (6, 12417, 515),
    (7, 12976, 753),
    (0, 13748, 172),
];
/// Seconds of a tenth of a microsecond.
const TENTH: f64 = 1e-7;

/// The names of the slider's values.
pub(super) fn way(at: usize) -> &'static str {
    ["one by one", "fused"][at]
}

/// A kernel of a row of the picture; seconds.
#[derive(Clone, Copy)]
struct Ran {
    part: usize,
    from: f64,
    length: f64,
}

/// The kernels that the profiler recorded.
fn measured() -> Vec<Ran> {
    let ran = |(part, from, length): (usize, u16, u16)| Ran {
        part,
        from: TENTH * f64::from(from),
        length: TENTH * f64::from(length),
    };
    MEASURED.map(ran).to_vec()
}

/// The predicted kernels of a layer, one after the other: half of the norms before attention, half before the FFN.
fn predicted(are_fused: bool) -> Vec<Ran> {
    let settings = format!("{RUN}{}", if are_fused { "&stack.compile=true" } else { "" });
    let Some(evaluation) = run(&settings) else {
        return Vec::new();
    };
    let seconds = kernels(&evaluation.scenario).map(|kernel| kernel.seconds);
    let mut end = 0.0;
    let order = [(0, 0.5), (1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0), (0, 0.5), (5, 1.0), (6, 1.0), (7, 1.0)];
    let ran = order.map(|(part, share)| {
        let ran = Ran { part, from: end, length: share * seconds[part] };
        end += ran.length;
        ran
    });
    ran.to_vec()
}

/// Seconds of `part`.
fn time_of(ran: &[Ran], part: usize) -> f64 {
    ran.iter().filter(|one| one.part == part).map(|one| one.length).sum()
}

/// The end of the last kernel.
fn end(ran: &[Ran]) -> f64 {
    ran.last().map_or(0.0, |last| last.from + last.length)
}

/// Matrix products.
const PRODUCTS: [usize; 4] = [1, 4, 5, 7];

pub(super) fn profiled(dials: &Dials) -> Live {
    let rows = [(t!("profiler"), measured()), (t!("calculator"), predicted(dials.get("k") == 1))];
    let [(_, seen), (_, model)] = &rows;
    let shown = |seconds: f64| show_seconds(Seconds(seconds));
    let products = |ran: &[Ran]| PRODUCTS.into_iter().map(|part| time_of(ran, part)).sum::<f64>();
    let cells = |(part, (name, _)): (usize, &(&'static str, Ink))| {
        let times = [seen, model].map(|ran| verbatim(shown(time_of(ran, part))));
        let count = seen.iter().filter(|one| one.part == part).count();
        let [measured, predicted] = times;
        vec![Message::from(*name), verbatim(count.to_string()), measured, predicted]
    };
    let table: Vec<Vec<Message>> = PARTS.iter().enumerate().map(cells).collect();
    let key = KEY.map(|(name, ink)| (Message::from(name), ink));
    let live = Live::of([
        t!(
            "A profiler writes down when each kernel runs. Above: a layer of {model} on an {gpu}, forward, {count} \
                kernels in {time}. Below: what this calculator predicts, {predicted}.",
            model = verbatim("Qwen1.5 0.5B"),
            gpu = verbatim("H100"),
            count = MEASURED.len(),
            time = shown(end(seen)),
            predicted = shown(end(model))
        ),
        t!(
            "Matrix products took {seen}, predicted {model}. The rotary embedding took longest, because this program \
                copies and joins tensors for it; fused kernels avoid that.",
            seen = shown(products(seen)),
            model = shown(products(model))
        ),
    ])
    .below("the predicted time of the layer", end(model), 0.8e-3, |seconds| show_seconds(Seconds(seconds)))
    .note(t!(
        "{sequences} sequences of {tokens} tokens, in bf16. The calculator has no copies around the rotary embedding, \
            and its rates are those of long training runs.",
        sequences = SEQUENCES,
        tokens = TOKENS
    ));
    Live {
        legend: colours(&key),
        picture: draw(&rows),
        table: data(&["part of a layer", "kernels", "profiler", "calculator"], table),
        ..live
    }
}

/// Height of a row, pixels.
const ROW: f64 = 40.0;
/// Height of the words above a row, pixels.
const WORDS: f64 = 22.0;
/// Height of the axis, pixels.
const AXIS: f64 = 20.0;

/// The rows on one axis.
fn draw(rows: &[(Message, Vec<Ran>)]) -> Node {
    let last = rows.iter().map(|(_, ran)| end(ran)).fold(1e-9, f64::max);
    let foot = (ROW + WORDS) * rows.len() as f64;
    let mut drawing = Drawing::new(foot + AXIS);
    for (at, (name, ran)) in rows.iter().enumerate() {
        let top = (ROW + WORDS) * at as f64;
        let words = t!("{name}: {time}", name = name.clone(), time = show_seconds(Seconds(end(ran))));
        drawing.heading(top + 10.0, words);
        for one in ran {
            let (name, ink) = PARTS[one.part];
            let place = Box { x: one.from / last, width: one.length / last, y: top + WORDS, height: ROW - 8.0 };
            let title = t!("{part} {value}", part = name, value = show_seconds(Seconds(one.length)));
            drawing.fill(Box { width: (place.width - 0.0015).max(place.width * 0.7), ..place }, ink, 1.0, title);
        }
    }
    drawing.line((0.0, foot), (1.0, foot), Ink::Line, 1.0);
    for tick in ticks(0.0, last * 1e6 * 0.97, 5) {
        let place = (tick * 1e-6 / last, foot + 11.0);
        drawing.words(place, Anchor::Middle, Ink::Muted, verbatim(number(tick, 4)));
    }
    drawing.name(foot + 11.0, verbatim("µs"));
    drawing.inline("The kernels of a layer, recorded and predicted")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `TraceLens` prints the mean time of each kind of kernel over the 24 layers, µs: `GEMM.csv` 31.476 (q, k and v),
    /// 31.589 (output), 83.656 (gate and up), 75.616 (down); `SDPA_fwd.csv` 113.446.
    #[test]
    fn the_recorded_layer_is_like_the_published_means() {
        let seen = measured();
        let printed = [(1, 3.0 * 31.476), (4, 31.589), (5, 2.0 * 83.656), (7, 75.616), (3, 113.446)];
        for (part, printed) in printed {
            let ours = time_of(&seen, part) * 1e6;
            assert!((ours / printed - 1.0).abs() < 0.02, "{part}: {ours} {printed}");
        }
        for pair in seen.windows(2) {
            assert!(pair[0].from + pair[0].length <= pair[1].from + 1e-12, "one stream runs one kernel at a time");
        }
    }

    /// 2 n k m operations at no more than the 989 TFLOP/s of the data sheet; and every predicted part of matrix
    /// products and of the activation function within half of what was recorded.
    #[test]
    fn predicted_products_are_near_the_recorded_ones() {
        let (seen, model) = (measured(), predicted(false));
        let flops = 2.0 * 8944.0 * 1024.0 * (4.0 * 1024.0 + 3.0 * 2816.0);
        for ran in [&seen, &model] {
            let products: f64 = PRODUCTS.into_iter().map(|part| time_of(ran, part)).sum();
            assert!(flops / products < 989e12 && flops / products > 989e12 / 3.0, "{products}");
        }
        for part in [1, 5, 6, 7] {
            let ratio = time_of(&model, part) / time_of(&seen, part);
            assert!((2.0 / 3.0..1.5).contains(&ratio), "{part}: {ratio}");
        }
        assert!(end(&predicted(true)) < end(&model));
    }
}
