//! Number formats: bits, range and resolution, blocks that share a scale, and loss scaling.

use crate::learn::prelude::*;
use shardscope_core::source::{PLAYBOOK, TRANSFORMER_ENGINE};
use shardscope_core::units::scientific;

const K: Slider = slider("k", "format", &[1, 2, 3, 4, 5, 6, 7, 8], 3).called(|at| FORMATS[at].name);
const S: Slider = slider("S", "doublings of the loss scale", &[0, 4, 8, 12, 16, 24], 0);
const G: Slider = slider("g", "halvings of the gradient from 1", &[8, 16, 24, 28], 2);

pub(super) const LESSON: Lesson = Lesson {
    id: "formats",
    title: "Number formats",
    about: "bits, range, resolution and scales",
    steps: &[
        LessonStep {
            id: "bits",
            title: "Exponent for range, mantissa for resolution",
            sliders: &[K],
            live: bits,
            source: (&TRANSFORMER_ENGINE, "low-precision formats"),
            on_run: (Gauge::Step, &[("precision", "te-fp8")]),
        },
        LessonStep {
            id: "scaling",
            title: "Loss scaling: small gradients survive",
            sliders: &[G, S],
            live: scaling,
            source: (&PLAYBOOK, "mixed precision training"),
            on_run: (Gauge::Peak, &[("precision", "fp16")]),
        },
        LessonStep {
            id: "blocks",
            title: "Blocks that share a scale",
            sliders: &[
                slider(
                    "x",
                    "doublings from the rest to \
            the outlier",
                    &[0, 1, 2, 3, 4, 6],
                    4,
                ),
                slider("n", "numbers that share a scale", &[16, 32, 128, 1024], 3),
            ],
            live: blocks,
            source: (&TRANSFORMER_ENGINE, "MXFP8 and NVFP4 recipes"),
            on_run: (Gauge::Step, &[("precision", "deepseek-fp8")]),
        },
    ],
};

/// A binary floating-point format; of a block format, its elements, and the bits of a scale with the numbers that share
/// it.
struct Format {
    name: &'static str,
    exponent: i32,
    mantissa: i32,
    /// Its largest number, where the top exponent is not kept for infinities.
    most: Option<f64>,
    scale: Option<(f64, f64)>,
}

const fn format(name: &'static str, exponent: i32, mantissa: i32) -> Format {
    Format { name, exponent, mantissa, most: None, scale: None }
}

/// Sources: IEEE 754 (fp32, fp16), NVIDIA's data sheets (TF32), OCP 8-bit floating point (E4M3, E5M2), OCP Microscaling
/// Formats (MXFP8: E4M3 elements, a scale of eight bits for 32), NVIDIA (NVFP4: E2M1, a scale in E4M3 for 16).
const FORMATS: [Format; 8] = [
    format("fp32", 8, 23),
    format("tf32", 8, 10),
    format("bf16", 8, 7),
    format("fp16", 5, 10),
    Format { most: Some(448.0), ..format("fp8 E4M3", 4, 3) },
    format("fp8 E5M2", 5, 2),
    Format { most: Some(448.0), scale: Some((8.0, 32.0)), ..format("MXFP8", 4, 3) },
    Format { most: Some(6.0), scale: Some((8.0, 16.0)), ..format("NVFP4", 2, 1) },
];
const FP16: usize = 3;

impl Format {
    fn bias(&self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }
    fn most(&self) -> f64 {
        self.most.unwrap_or_else(|| (2.0 - 2f64.powi(-self.mantissa)) * 2f64.powi(self.bias()))
    }
    /// The smallest number above 0, without the leading one.
    fn least(&self) -> f64 {
        2f64.powi(1 - self.bias() - self.mantissa)
    }
    /// Distance of neighbours, over the number.
    fn resolution(&self) -> f64 {
        2f64.powi(-self.mantissa)
    }
    /// Bits of a number, its part of a scale included.
    fn bits(&self) -> f64 {
        f64::from(1 + self.exponent + self.mantissa) + self.scale.map_or(0.0, |(bits, numbers)| bits / numbers)
    }
    /// The nearest number of the format to `value`, which is positive; none above its range.
    fn nearest(&self, value: f64) -> Option<f64> {
        let power = value.log2().floor().max(f64::from(1 - self.bias()));
        let apart = (power - f64::from(self.mantissa)).exp2();
        let rounded = (value / apart).round() * apart;
        (rounded <= self.most()).then_some(rounded)
    }
}

const BITS: Scale = Scale {
    parts: &[
        ("sign", Ink::Muted),
        ("exponent", Ink::Forward),
        ("mantissa", Ink::Memory(3)),
        ("share of a scale", Ink::Exposed),
    ],
    unit: ("bits", 1.0),
};

fn bits(dials: &Dials) -> Live {
    let at = usize::try_from(dials.get("k")).unwrap_or(1).clamp(1, FORMATS.len()) - 1;
    let one = &FORMATS[at];
    let bars: Vec<Bar> = FORMATS
        .iter()
        .map(|one| {
            let scale = one.scale.map_or(0.0, |(bits, numbers)| bits / numbers);
            let parts = [1.0, f64::from(one.exponent), f64::from(one.mantissa), scale];
            Bar::new(verbatim(one.name), parts)
        })
        .collect();
    Live::of([
        t!(
            "Bits of the exponent give range, bits of the mantissa give resolution. {name} reaches from {least} to \
                {most}, and neighbours differ by {apart}.",
            name = verbatim(one.name),
            least = scientific(one.least()),
            most = scientific(one.most()),
            apart = show_percent(one.resolution())
        ),
        t!("Half the bits halve memory and messages, and double the speed of matrix products. The cost: what is too \
                small is lost, and updates below the resolution vanish."),
    ])
    .formula(
        "largest = (2 − 2⁻ᵐ) 2ᵇ,  b = 2ᵉ⁻¹ − 1",
        format!("(2 − 2^−{}) · 2^{} = {}", one.mantissa, one.bias(), scientific(one.most())),
    )
    .note(t!("The formats of eight and four bits use the top exponent for numbers too, where it says so in their \
        standard."))
    .above("the largest number", one.most(), 1e5, scientific)
    .bars(&BITS, &bars, None)
}

/// Error of `value` in fp16 after a scale of `doublings`, over the value; all of it where it overflows.
fn lost(value: f64, doublings: f64) -> f64 {
    let scale = doublings.exp2();
    FORMATS[FP16].nearest(value * scale).map_or(1.0, |rounded| (rounded / scale / value - 1.0).abs())
}

/// A gradient of 1 after `halvings` halvings, between two powers of two.
fn gradient(halvings: f64) -> f64 {
    1.3 * (-halvings).exp2()
}

fn scaling(dials: &Dials) -> Live {
    let (g, s) = (dials.get("g") as f64, dials.get("S") as f64);
    let error = lost(gradient(g), s);
    let halvings: Vec<f64> = (1..=32_u8).map(f64::from).collect();
    let line = |name: Message, ink, doublings: f64| Line {
        name,
        ink,
        points: halvings.iter().map(|at| (*at, 100.0 * lost(gradient(*at), doublings))).collect(),
        marks: Marks::None,
    };
    let plot = Plot {
        up: Axis { name: "error after rounding, percent", spacing: Spacing::Linear },
        lines: vec![line(t!("without a scale"), Ink::Muted, 0.0), line(t!("with this scale"), Ink::Forward, s)],
        level: None,
    };
    let rows = halvings.iter().step_by(4).map(|at| {
        [0.0, s].into_iter().fold(vec![verbatim(number(*at, 3))], |mut row, doublings| {
            row.push(verbatim(show_percent(lost(gradient(*at), doublings))));
            row
        })
    });
    let across = Axis { name: "halvings of the gradient", spacing: Spacing::Linear };
    Live::of([
        t!(
            "Gradients are small. In {format} the smallest number is {least}; less than half of it is lost: this \
                gradient, {value}, is wrong by {error}.",
            format = "fp16",
            least = scientific(FORMATS[FP16].least()),
            value = scientific(gradient(g)),
            error = show_percent(error)
        ),
        t!(
            "Multiply the loss by a scale, and all gradients grow; divide before the update. Too large a scale \
                overflows: software raises it until then. {wide} has the exponent of {full} and needs none.",
            wide = "bf16",
            full = "fp32"
        ),
    ])
    .formula("g ≈ round(S g) / S", format!("round(2^{s} · {}) / 2^{s}", scientific(gradient(g))))
    .below("the error of this gradient", error, 0.01, show_percent)
    .plots(across, &[plot], &["halvings of the gradient", "without a scale", "with this scale"], rows.collect())
}

/// Mean error of numbers from 1/2 to 1 in E2M1 whose shared scale brings an outlier of `doublings` to the largest
/// number; in a block of `shared` of the 1,024 numbers only one block has the outlier.
fn block_error(doublings: f64, shared: f64) -> f64 {
    let fp4 = &FORMATS[7];
    let error = |outlier: f64| {
        let scale = fp4.most() / outlier;
        let each = (0..64_u8).map(|at| 0.5 + f64::from(at) / 128.0);
        let errors =
            each.map(|value| fp4.nearest(value * scale).map_or(1.0, |rounded| (rounded / scale / value - 1.0).abs()));
        errors.sum::<f64>() / 64.0
    };
    let touched = shared / 1024.0;
    touched * error(doublings.exp2()) + (1.0 - touched) * error(1.0)
}

const ERROR: Scale = Scale { parts: &[("mean error", Ink::Exposed)], unit: ("%", 0.01) };

fn blocks(dials: &Dials) -> Live {
    let (x, n) = (dials.get("x") as f64, dials.get("n") as f64);
    let error = block_error(x, n);
    let bars: Vec<Bar> = [16.0, 32.0, 128.0, 1024.0]
        .map(|shared| Bar::new(t!("{count} share a scale", count = number(shared, 4)), [block_error(x, shared)]))
        .into_iter()
        .collect();
    Live::of([
        t!(
            "Few bits have little range, so numbers share a scale that brings the largest to its end. One outlier \
                then makes all others too small: their error is {error}.",
            error = show_percent(error)
        ),
        t!(
            "In small blocks an outlier spoils few others: {mx} has a scale for {many} numbers, {nv} one for {few}. \
                The cost: {bits} bits a number instead of four.",
            mx = verbatim("MXFP8"),
            many = 32_u8,
            nv = verbatim("NVFP4"),
            few = 16_u8,
            bits = number(FORMATS[7].bits(), 3)
        ),
    ])
    .formula(
        "scale = largest of the format / largest of the block",
        format!("{} / {} = {}", FORMATS[7].most(), x.exp2(), number(FORMATS[7].most() / x.exp2(), 3)),
    )
    .note(t!(
        "Numbers between a half and one in {format}, rounded to nearest; one of {count} is the outlier.",
        format = verbatim("E2M1"),
        count = 1024_u64
    ))
    .below("the mean error", error, 0.15, show_percent)
    .bars(&ERROR, &bars, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IEEE 754 and OCP's standards: largest and smallest numbers and bits as they print them.
    #[test]
    fn ranges_are_those_of_the_standards() {
        let named = |name: &str| FORMATS.iter().find(|one| one.name == name).unwrap();
        assert_eq!(named("fp32").most(), f64::from(f32::MAX));
        assert_eq!(named("fp16").most(), 65_504.0);
        assert_eq!(named("fp16").least(), 2f64.powi(-24));
        assert!((named("bf16").most() / 3.389_531_389_251_535e38 - 1.0).abs() < 1e-12);
        assert_eq!(named("fp8 E5M2").most(), 57_344.0);
        assert_eq!(named("fp8 E5M2").least(), 2f64.powi(-16));
        assert_eq!(named("fp8 E4M3").least(), 2f64.powi(-9));
        assert_eq!(named("NVFP4").least(), 0.5);
        let bits = ["fp32", "tf32", "bf16", "fp16", "MXFP8", "NVFP4"].map(|name| named(name).bits());
        assert_eq!(bits, [32.0, 19.0, 16.0, 16.0, 8.25, 4.5]);
    }

    /// Rounding to the nearest is the processor's own for fp32, and E2M1's numbers are 0.5, 1, 1.5, 2, 3, 4, 6.
    #[test]
    fn rounding_is_to_the_nearest_number() {
        for value in [0.1, 1.0 / 3.0, 1e-30, 123_456.789] {
            #[allow(clippy::cast_possible_truncation)]
            let single = f64::from(value as f32);
            assert_eq!(FORMATS[0].nearest(value), Some(single));
        }
        let fp4 = &FORMATS[7];
        for (value, near) in
            [(0.5, 0.5), (1.2, 1.0), (1.3, 1.5), (2.4, 2.0), (2.6, 3.0), (3.4, 3.0), (4.9, 4.0), (5.1, 6.0)]
        {
            assert_eq!(fp4.nearest(value), Some(near));
        }
        assert_eq!(fp4.nearest(7.0), None);
    }

    /// Rounding to nearest, IEEE 754: just below half of the smallest number, 2⁻²⁴, nothing is left; just above it the
    /// smallest number is, which is what the step says.
    #[test]
    fn what_is_lost_is_below_half_of_the_smallest_number() {
        let half = 2f64.powi(-25);
        assert_eq!(lost(half * 0.999, 0.0), 1.0);
        assert!((lost(half * 1.001, 0.0) - (2.0 / 1.001 - 1.0)).abs() < 1e-9);
        let step = LESSON.steps.iter().find(|step| step.id == "scaling").unwrap();
        let text = (step.live)(&Dials::new(step.sliders, &[])).text[0].to_string();
        let said = format!("the smallest number is {}; less than half of it is lost", scientific(2f64.powi(-24)));
        assert!(text.contains(&said), "{text}");
    }

    /// A gradient below half the smallest number is lost without a scale and kept to a part in 2,048 with a large one.
    #[test]
    fn a_scale_keeps_small_gradients() {
        assert_eq!(lost(gradient(28.0), 0.0), 1.0);
        assert!(lost(gradient(28.0), 24.0) <= 2f64.powi(-11));
        assert_eq!(lost(gradient(8.0), 30.0), 1.0);
        assert!(block_error(4.0, 32.0) < block_error(4.0, 1024.0));
    }
}
