//! Sizes of the images of a training set, each with its share, and how many of them a sample has.

use crate::field::{Held, MissingParts, PresetShape, Row, Slot, Value};
use crate::units::{parse_count, parse_number, shortest};

/// Most sizes.
const MOST: usize = 8;
/// Longest side, pixels: as that of one size.
const LONGEST: u64 = 1 << 16;
/// Most images of a sample.
const MOST_IMAGES: u64 = 4096;
/// A place without a size.
const EMPTY: ImageSize = ImageSize { width: 0, height: 0, weight: 0.0, count: None };

/// A size with the weight of its images.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageSize {
    /// Pixels across and down.
    pub width: u32,
    pub height: u32,
    /// Its share of all images, in any unit; if it has a count, the share of samples with that number of images.
    pub weight: f64,
    /// Images of this size in a sample; none: not said.
    pub count: Option<u32>,
}

/// A distribution of sizes; of none, all images have one size. Where one entry has a count all have, 1 where it is not
/// said: weights are those of samples, and say how many images a sequence has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageSizes([ImageSize; MOST]);

impl ImageSize {
    /// Pixels across and down.
    pub fn pixels(self) -> [u64; 2] {
        [self.width, self.height].map(u64::from)
    }

    /// Images of this size in a sample, one where it is not said.
    pub fn images(self) -> f64 {
        f64::from(self.count.unwrap_or(1))
    }

    /// Weight of its images among all.
    fn of_images(self) -> f64 {
        self.weight * self.images()
    }
}

impl ImageSizes {
    pub const NONE: Self = Self([EMPTY; MOST]);

    /// The sizes, as they were given.
    pub fn iter(&self) -> impl Iterator<Item = ImageSize> + '_ {
        self.0.iter().copied().filter(|size| size.width > 0)
    }

    /// Sum of the weights of images; 0 for none.
    fn weight(&self) -> f64 {
        self.iter().map(ImageSize::of_images).sum()
    }

    /// Images of a sample on average, where counts say it.
    pub fn images(&self) -> Option<f64> {
        let samples: f64 = self.iter().map(|size| size.weight).sum();
        let counted = self.differ() && self.iter().any(|size| size.count.is_some());
        counted.then(|| self.weight() / samples)
    }

    /// Sizes with their shares of all images.
    pub fn shares(&self) -> impl Iterator<Item = (ImageSize, f64)> + '_ {
        let whole = self.weight();
        self.iter().map(move |size| (size, size.of_images() / whole))
    }

    /// True where images differ in size: some are given, and their weights sum to something.
    pub fn differ(&self) -> bool {
        self.weight() > 0.0
    }

    /// Mean of `figure` over the images.
    pub fn mean(&self, figure: impl Fn(ImageSize) -> f64) -> f64 {
        self.shares().map(|(size, share)| share * figure(size)).sum()
    }

    /// Reads `768x768:40,1024x1024:60`, a pasted table of three columns, or JSON's `[[768, 768, 40], ...]`; with images
    /// of a sample `1*768x768:40,8*448x448:60`, or a column more.
    fn read(text: &str) -> Option<Self> {
        let has_colons = text.contains(':');
        let ends = |c: char| matches!(c, '|' | ';' | '\n') || has_colons && c == ',';
        let size = |entry: &str| {
            let (before, entry) = entry.split_once('*').map_or((None, entry), |(count, rest)| (Some(count), rest));
            let mut words = entry.split([':', ',', '\t', ' ', 'x', '×']).filter(|word| !word.is_empty());
            let mut side = || {
                let pixels = words.next().and_then(parse_count).filter(|side| (1..=LONGEST).contains(side))?;
                u32::try_from(pixels).ok()
            };
            let (width, height) = (side()?, side()?);
            let weight = words.next().and_then(parse_number).filter(|weight| (0.0..=1e12).contains(weight))?;
            let column = if has_colons { None } else { words.next() };
            let count = match (before, column) {
                (None, None) => None,
                (Some(count), None) | (None, Some(count)) => {
                    let count = parse_count(count.trim()).filter(|count| (1..=MOST_IMAGES).contains(count))?;
                    Some(u32::try_from(count).ok()?)
                }
                (Some(_), Some(_)) => return None,
            };
            words.next().is_none().then_some(ImageSize { width, height, weight, count })
        };
        let mut sizes = Self::NONE;
        let mut given = 0;
        for entry in text.split(ends).filter(|entry| !entry.trim().is_empty()) {
            *sizes.0.get_mut(given)? = size(entry.trim())?;
            given += 1;
        }
        (given > 0).then_some(sizes)
    }
}

impl Held for ImageSizes {
    fn slot(_: &Row) -> Slot {
        Slot::Text
    }
    fn get(&self) -> Value {
        let size = |size: ImageSize| {
            let count = size.count.map_or_else(String::new, |count| format!("{count}*"));
            format!("{count}{}x{}:{}", size.width, size.height, shortest(size.weight))
        };
        Value::Text(self.iter().map(size).collect::<Vec<_>>().join(","))
    }
    fn of(value: &Value) -> Option<Self> {
        Self::read(value.text()?)
    }
}

impl PresetShape for ImageSizes {
    type Parts = Option<Self>;
    const STAND_IN: Self = Self::NONE;

    fn resolve(
        parts: &Self::Parts,
        base: Option<Self>,
        _: &'static str,
        usual: Option<Self>,
        _: &mut MissingParts,
    ) -> Self {
        parts.or(base).or(usual).unwrap_or(Self::NONE)
    }

    fn spelled(self) -> Self::Parts {
        (self != Self::NONE).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Vision, VisionEncoder, vision_flops};

    #[test]
    fn sizes_are_read_as_typed_as_pasted_and_from_json() {
        let read = |text: &str| ImageSizes::read(text).map(|sizes| sizes.iter().collect::<Vec<_>>());
        let of = |width: u32, height: u32, weight: f64| ImageSize { width, height, weight, count: None };
        let two = Some(vec![of(768, 768, 40.0), of(1920, 1080, 0.5)]);
        for text in [
            "768x768:40,1920x1080:0.5",
            "768×768:40; 1920×1080:0.5",
            "768\t768\t40\n1920\t1080\t0.5\n",
            "768,768,40|1920,1080,0.5",
        ] {
            assert_eq!(read(text), two, "{text}");
        }
        for text in ["", "768x768", "768:1", "1000000x1:1", "768x768:-1", "0x5:1", "768x768:1:1"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&"8x8:1,".repeat(8)).map(|sizes| sizes.len()), Some(8));
        assert_eq!(read(&"8x8:1,".repeat(9)), None);
        let counted = |size: ImageSize, count: u32| ImageSize { count: Some(count), ..size };
        let both = Some(vec![counted(of(768, 768, 40.0), 1), counted(of(448, 448, 60.0), 8)]);
        for text in ["1*768x768:40,8*448x448:60", "1 * 768×768:40; 8*448×448:60", "768,768,40,1|448,448,60,8"] {
            assert_eq!(read(text), both, "{text}");
        }
        let printed = ImageSizes::read("1*768x768:40,8*448x448:60").unwrap().get();
        assert_eq!(ImageSizes::of(&printed), ImageSizes::read("1*768x768:40,8*448x448:60"));
        for text in ["0*768x768:1", "2.5*768x768:1", "*768x768:1", "2*768,768,1,2", "9000*8x8:1"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    /// A sample in ten has eight small images, the others a large one: 1.7 images a sequence, of which 8 in 17 are
    /// small. What is kept is that of the fuller sample, the eight.
    #[test]
    fn counts_weigh_images_and_the_fullest_sample_is_kept() {
        let shape = VisionEncoder::Qwen35.shape().unwrap();
        let image_sizes = ImageSizes::read("8*448x448:1,1*768x768:9").unwrap();
        let mix = Vision { image_sizes, ..shape };
        let of = |image_width, image_height| Vision { image_width, image_height, ..shape };
        let (small, large) = (of(448, 448), of(768, 768));
        assert!((mix.images_a_sequence() - 1.7).abs() < 1e-12);
        let mean = (8.0 * small.patches() as f64 + 9.0 * large.patches() as f64) / 17.0;
        assert!((mix.patches() as f64 - mean).abs() <= 0.5, "{} {mean}", mix.patches());
        let flops = mix.images_a_sequence() * vision_flops(&mix, 4096);
        let apart = 0.8 * vision_flops(&small, 4096) + 0.9 * vision_flops(&large, 4096);
        assert!((flops / apart - 1.0).abs() < 2e-3, "{flops} {apart}");
        let fullest = mix.largest();
        assert_eq!((fullest.patches(), fullest.images_a_sequence()), (small.patches(), 8.0));
        // Without counts images are those of the field, and the largest image is kept.
        let plain = Vision { image_sizes: ImageSizes::read("448x448:1,768x768:9").unwrap(), images: 3.0, ..shape };
        assert_eq!((plain.images_a_sequence(), plain.largest().images_a_sequence()), (3.0, 3.0));
        assert_eq!(plain.largest().patches(), large.patches());
    }

    /// Shares are those of images: patches and FLOPs are the means of the sizes alone, attention grows with the square
    /// of the patches within each image, and memory is that of the largest.
    #[test]
    fn a_mix_of_sizes_is_the_mean_of_its_images() {
        for encoder in [VisionEncoder::Qwen35, VisionEncoder::Qwen25Vl, VisionEncoder::InternVit300m] {
            let shape = encoder.shape().unwrap();
            let of = |image_width, image_height| Vision { image_width, image_height, ..shape };
            let (small, large) = (of(448, 448), of(1920, 1080));
            let image_sizes = ImageSizes::read("448x448:3,1920x1080:1").unwrap();
            let mix = Vision { image_sizes, ..shape };
            let mean = |figure: fn(&Vision) -> f64| 0.75 * figure(&small) + 0.25 * figure(&large);
            for figure in [
                (|vision| vision.patches() as f64) as fn(&Vision) -> f64,
                |vision| vision.tokens() as f64,
                |vision| vision_flops(vision, 4096),
            ] {
                let ours = figure(&mix);
                assert!((ours / mean(figure) - 1.0).abs() < 2e-3, "{encoder:?} {ours} {}", mean(figure));
            }
            assert_eq!(mix.largest().patches(), large.patches());
            let alone = Vision { image_sizes: ImageSizes::read("448x448:7").unwrap(), ..shape };
            assert_eq!((alone.patches(), alone.attention()), (small.patches(), small.attention()));
        }
    }
}
