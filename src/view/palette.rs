//! The data colours, which have fixed roles everywhere; computed to stay apart under every kind of colour vision.
//!
//! `style/main.css` holds the same colours as tokens; a test holds the two together.

use shardscope_core::run::one_of;

pub type Rgb = (u8, u8, u8);

one_of! {
    /// Light paper or dark.
    #[derive(Default)]
    Theme {
        /// Dark ink on white paper.
        #[default]
        Light = "light" "light",
        /// Light ink on dark paper.
        Dark = "dark" "dark",
    }
}

/// The colours that pictures need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Background.
    pub paper: Rgb,
    /// Hairlines.
    pub line: Rgb,
    pub text: Rgb,
    /// Secondary text.
    pub muted: Rgb,
    /// Focus and selection.
    pub accent: Rgb,
    /// Idle time.
    pub hatch: Rgb,
    pub forward: Rgb,
    /// Backward, whole or for the input.
    pub backward: Rgb,
    /// Gradient of the weight.
    pub weight: Rgb,
    /// Communication that may show.
    pub exposed: Rgb,
    /// The optimizer's step.
    pub step: Rgb,
    /// In-flight activations.
    pub activations: Rgb,
    /// Weights in memory.
    pub weights: Rgb,
    /// Gradients in memory.
    pub gradients: Rgb,
    /// Optimizer states.
    pub optimizer: Rgb,
    /// Transient and communication buffers.
    pub buffers: Rgb,
    /// Context, communicators, fragmentation.
    pub overhead: Rgb,
}

impl Palette {
    /// The memory components in the order of the bars.
    pub const fn components(&self) -> [Rgb; 6] {
        [self.weights, self.gradients, self.optimizer, self.activations, self.buffers, self.overhead]
    }
}

const fn hex(rgb: u32) -> Rgb {
    let [_, r, g, b] = rgb.to_be_bytes();
    (r, g, b)
}

const LIGHT: Palette = Palette {
    paper: hex(0xFF_FF_FF),
    line: hex(0xD5_DA_E0),
    text: hex(0x14_18_1D),
    muted: hex(0x59_61_6B),
    accent: hex(0x1A_5F_B0),
    hatch: hex(0xB9_C0_C9),
    forward: hex(0x0C_3E_81),
    backward: hex(0xE0_70_05),
    weight: hex(0x2A_A7_89),
    exposed: hex(0x7F_02_19),
    step: hex(0x68_68_68),
    activations: hex(0xB8_75_21),
    weights: hex(0x21_73_C1),
    gradients: hex(0x03_A3_BD),
    optimizer: hex(0x6D_20_7B),
    buffers: hex(0x05_4E_2A),
    overhead: hex(0x62_63_63),
};

const DARK: Palette = Palette {
    paper: hex(0x0F_13_17),
    line: hex(0x2B_32_3A),
    text: hex(0xE8_EC_F0),
    muted: hex(0x9A_A4_AF),
    accent: hex(0x67_B6_FE),
    hatch: hex(0x4A_53_5D),
    forward: hex(0x67_B6_FE),
    backward: hex(0xEE_93_10),
    weight: hex(0x95_F4_CD),
    exposed: hex(0xC6_33_36),
    step: hex(0x95_96_98),
    activations: hex(0xEB_95_26),
    weights: hex(0x62_94_ED),
    gradients: hex(0x9D_E9_FF),
    optimizer: hex(0x84_4A_B2),
    buffers: hex(0x25_7B_59),
    overhead: hex(0xAE_AF_B3),
};

impl Theme {
    pub const fn palette(self) -> Palette {
        match self {
            Self::Light => LIGHT,
            Self::Dark => DARK,
        }
    }
}

/// Colours of pipeline stages, from the first to the last: one ramp, dark to light.
const STAGES: [[Rgb; 4]; 2] = [
    [hex(0x16_40_7F), hex(0x2A_7F_A6), hex(0x46_AE_9E), hex(0xC3_DB_86)],
    [hex(0x3C_6C_C4), hex(0x3A_9C_C4), hex(0x4D_BD_AE), hex(0xDC_EB_A4)],
];

/// The colour of pipeline stage `stage` of `count`.
pub(crate) fn stage_colour(theme: Theme, stage: usize, count: usize) -> Rgb {
    let ramp = STAGES[usize::from(theme == Theme::Dark)];
    let along = stage as f64 / count.saturating_sub(1).max(1) as f64 * 3.0;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 to 2
    let from = along.clamp(0.0, 2.0) as usize;
    blend(ramp[from], ramp[from + 1], (along - from as f64).min(1.0))
}

/// `colour`, `share` of the way to `other`.
pub fn blend(colour: Rgb, other: Rgb, share: f64) -> Rgb {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // stays between two bytes
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
    (mix(colour.0, other.0), mix(colour.1, other.1), mix(colour.2, other.2))
}

/// Black or white ink, whichever reads better on `colour` (WCAG relative luminance).
pub fn ink_on(colour: Rgb) -> Rgb {
    let channel = |byte: u8| {
        let c = f64::from(byte) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    };
    let luminance = 0.2126 * channel(colour.0) + 0.7152 * channel(colour.1) + 0.0722 * channel(colour.2);
    if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) { LIGHT.text } else { LIGHT.paper }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_sheet_has_the_same_colours() {
        let css = include_str!("../../style/main.css").to_ascii_lowercase();
        let (light, dark) = css.split_once("[data-theme=dark]").unwrap();
        for (sheet, palette) in [(light, LIGHT), (dark, DARK)] {
            for (token, (r, g, b)) in [
                ("--bg", palette.paper),
                ("--line", palette.line),
                ("--text", palette.text),
                ("--muted", palette.muted),
                ("--accent", palette.accent),
                ("--t-forward", palette.forward),
                ("--t-backward", palette.backward),
                ("--t-weight", palette.weight),
                ("--m-activations", palette.activations),
                ("--m-weights", palette.weights),
                ("--m-gradients", palette.gradients),
                ("--m-optimizer", palette.optimizer),
                ("--m-buffers", palette.buffers),
                ("--m-overhead", palette.overhead),
            ] {
                let rule = format!("{token}: #{r:02x}{g:02x}{b:02x}");
                assert!(sheet.contains(&rule), "{rule}");
            }
        }
    }

    #[test]
    fn ink_reads_on_every_block() {
        assert_eq!(ink_on(LIGHT.forward), LIGHT.paper);
        assert_eq!(ink_on(LIGHT.backward), LIGHT.text);
        assert_eq!(ink_on(DARK.forward), LIGHT.text);
    }
}
