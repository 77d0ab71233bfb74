//! A pattern as text: `(Wd*5,Ad)*10,Wd*2`, `MEMEM*E`; and back.
//!
//! A layer is the letter of its mixer and of its FFN, or of one of them alone; `*n` repeats a layer or a group in
//! brackets, commas may be between. Megatron-LM's hybrid patterns are read as they are: `*` without a number is
//! attention, `E` experts, `-` a dense FFN, `D` and `+` its two latent attentions, each alone; `/` begins the layers
//! of a multi-token-prediction module. Source: Megatron-LM, `hybrid_layer_allocation.py`.

use super::pattern::{Ffn, LayerKind, MAX_MODULE, MAX_REPEATS, Mixer, Pattern, PatternError};
use std::fmt::{self, Display, Formatter};

/// Brackets inside brackets.
const MAX_DEPTH: usize = 8;

/// A text on its way to a pattern.
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

/// `?` where a function is `const`.
macro_rules! ok {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Err(error),
        }
    };
}

impl Pattern {
    /// The pattern that `text` writes.
    ///
    /// # Errors
    /// The first fault, and its place.
    pub const fn parse(text: &str) -> Result<Self, PatternError> {
        let mut reader = Reader { text: text.as_bytes(), at: 0 };
        let mut pattern = Self::UNIFORM;
        ok!(reader.layers(&mut pattern, 0));
        if pattern.run_count == 0 && reader.at == reader.text.len() {
            return Err(PatternError::Empty);
        }
        while let Some(letter) = reader.next() {
            match letter {
                b'/' => ok!(reader.module(&mut pattern)),
                b')' => return Err(PatternError::Bracket(reader.at)),
                _ => return Err(PatternError::Letter(reader.at)),
            }
        }
        if pattern.run_count == 0 {
            return Err(PatternError::Empty);
        }
        Ok(pattern)
    }

    /// The pattern of a preset; a text that does not parse stops the build.
    pub(crate) const fn known(text: &str) -> Self {
        match Self::parse(text) {
            Ok(pattern) => pattern,
            Err(_) => panic!("a preset's pattern does not parse"),
        }
    }
}

impl Reader<'_> {
    /// The next letter that is no separator.
    const fn next(&mut self) -> Option<u8> {
        while self.at < self.text.len() {
            match self.text[self.at] {
                b',' | b' ' => self.at += 1,
                letter => return Some(letter),
            }
        }
        None
    }

    /// The letter at hand, whatever it is.
    const fn letter(&self) -> u8 {
        if self.at < self.text.len() { self.text[self.at] } else { 0 }
    }

    /// Layers and groups up to the end, a `)` or a `/`.
    const fn layers(&mut self, pattern: &mut Pattern, depth: usize) -> Result<(), PatternError> {
        while let Some(letter) = self.next() {
            match letter {
                b')' | b'/' => break,
                b'(' => ok!(self.group(pattern, depth + 1)),
                _ => {
                    let kind = ok!(self.kind());
                    let place = ok!(pattern.place(kind));
                    let mut left = ok!(self.repeats());
                    while left > 0 {
                        let count = if left > 255 { 255 } else { left };
                        #[allow(clippy::cast_possible_truncation)] // at most 255
                        let few = count as u8;
                        ok!(pattern.push(place, few));
                        left -= count;
                    }
                }
            }
        }
        Ok(())
    }

    /// `(...)*n`.
    const fn group(&mut self, pattern: &mut Pattern, depth: usize) -> Result<(), PatternError> {
        let (open, start) = (self.at, pattern.run_count);
        self.at += 1;
        if depth > MAX_DEPTH {
            return Err(PatternError::Bracket(open));
        }
        ok!(self.layers(pattern, depth));
        let end = pattern.run_count;
        if self.letter() != b')' || end == start {
            return Err(PatternError::Bracket(open));
        }
        self.at += 1;
        let mut left = ok!(self.repeats());
        while left > 1 {
            let mut run = start;
            while run < end {
                let (place, count) = pattern.runs[run];
                ok!(pattern.push(place, count));
                run += 1;
            }
            left -= 1;
        }
        Ok(())
    }

    /// `/...`: the layers of a multi-token-prediction module, the same in every one.
    const fn module(&mut self, pattern: &mut Pattern) -> Result<(), PatternError> {
        let open = self.at;
        self.at += 1;
        let mut layer = 0;
        while let Some(letter) = self.next() {
            if letter == b'/' {
                break;
            }
            let kind = ok!(self.kind());
            let place = ok!(pattern.place(kind));
            if pattern.modules == 0 && layer < MAX_MODULE {
                pattern.module[layer] = place;
                pattern.module_count += 1;
            } else if layer >= pattern.module_count || pattern.module[layer] != place {
                return Err(PatternError::Module(open));
            }
            layer += 1;
        }
        if layer == 0 || layer != pattern.module_count {
            return Err(PatternError::Module(open));
        }
        pattern.modules += 1;
        Ok(())
    }

    /// The letters of one layer.
    const fn kind(&mut self) -> Result<LayerKind, PatternError> {
        let start = self.at;
        let letter = self.letter();
        self.at += 1;
        let mixer = match letter {
            b'A' => Mixer::Full,
            b'W' => Mixer::Window,
            b'B' => Mixer::Second,
            b'C' => Mixer::Chunked,
            b'L' => Mixer::Latent,
            b'S' => Mixer::Sparse,
            b'G' => Mixer::DeltaNet,
            b'K' => Mixer::Kda,
            b'M' => Mixer::Mamba,
            b'X' => match self.number() {
                #[allow(clippy::cast_possible_truncation)] // at most 255
                Some(ratio) if ratio <= 255 => Mixer::Compressed(ratio as u8),
                _ => return Err(PatternError::Ratio(start)),
            },
            b'E' => return Ok(LayerKind::new(Mixer::None, Ffn::Experts)),
            b'-' => return Ok(LayerKind::new(Mixer::None, Ffn::Dense)),
            b'*' if !self.letter().is_ascii_digit() => {
                return Ok(LayerKind::new(Mixer::Full, Ffn::None));
            }
            b'D' => return Ok(LayerKind::new(Mixer::Sparse, Ffn::None)),
            b'+' => return Ok(LayerKind::new(Mixer::Latent, Ffn::None)),
            _ => return Err(PatternError::Letter(start)),
        };
        let ffn = match self.letter() {
            b'd' => Ffn::Dense,
            b'e' => Ffn::Experts,
            b'x' => Ffn::Both,
            _ => return Ok(LayerKind::new(mixer, Ffn::None)),
        };
        self.at += 1;
        Ok(LayerKind::new(mixer, ffn))
    }

    /// `*n` behind a layer or a group; 1 where there is none. A `*` without a number is the next layer.
    const fn repeats(&mut self) -> Result<u32, PatternError> {
        let star = self.at;
        if self.letter() != b'*' {
            return Ok(1);
        }
        self.at += 1;
        if !self.letter().is_ascii_digit() {
            self.at = star;
            return Ok(1);
        }
        match self.number() {
            Some(count) if count > 0 && count <= MAX_REPEATS => Ok(count),
            _ => Err(PatternError::Repeats(star)),
        }
    }

    const fn number(&mut self) -> Option<u32> {
        let start = self.at;
        let mut number: u32 = 0;
        while self.letter().is_ascii_digit() {
            number = number.saturating_mul(10).saturating_add((self.letter() - b'0') as u32);
            self.at += 1;
        }
        if self.at == start { None } else { Some(number) }
    }
}

impl Display for LayerKind {
    fn fmt(&self, out: &mut Formatter) -> fmt::Result {
        let alone = match self.ffn {
            Ffn::None => "",
            Ffn::Dense => "d",
            Ffn::Experts => "e",
            Ffn::Both => "x",
        };
        match self.mixer {
            Mixer::None if self.ffn == Ffn::Dense => out.write_str("-"),
            Mixer::None => out.write_str("E"),
            Mixer::Compressed(ratio) => write!(out, "X{ratio}{alone}"),
            mixer => write!(out, "{}{alone}", char::from(mixer.letter())),
        }
    }
}

/// Runs in the shortest form: the group that saves most is in brackets, from the left on.
impl Display for Pattern {
    fn fmt(&self, out: &mut Formatter) -> fmt::Result {
        let runs: Vec<(LayerKind, u64)> = self.runs().collect();
        let mut at = 0;
        while at < runs.len() {
            let left = &runs[at..];
            let repeats = |length: usize| {
                let groups = left.chunks_exact(length);
                groups.take_while(|group| *group == &left[..length]).count()
            };
            let saved = |length: &usize| length * (repeats(*length) - 1);
            let most = (1..=left.len() / 2).rev().max_by_key(saved);
            let length = most.filter(|length| saved(length) > 0).unwrap_or(1);
            let times = repeats(length);
            let separator = |at: usize| if at > 0 { "," } else { "" };
            out.write_str(separator(at))?;
            if times > 1 {
                out.write_str("(")?;
            }
            for (place, (kind, count)) in left[..length].iter().enumerate() {
                write!(out, "{}{kind}", separator(place))?;
                if *count > 1 {
                    write!(out, "*{count}")?;
                }
            }
            if times > 1 {
                write!(out, ")*{times}")?;
            }
            at += length * times;
        }
        for _ in 0..self.modules {
            out.write_str("/")?;
            for kind in self.module() {
                write!(out, "{kind}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(text: &str) -> u64 {
        Pattern::parse(text).unwrap().layers()
    }

    /// Megatron-LM, `hybrid_layer_allocation.py`: letters M, `*`, E and -, and modules behind `/`.
    #[test]
    fn megatrons_letters_are_read_as_they_are() {
        let nano = Pattern::parse("MEM*E-/*E/*E").unwrap();
        let kinds: Vec<LayerKind> = nano.iter().collect();
        let kind = LayerKind::new;
        assert_eq!(kinds[0], kind(Mixer::Mamba, Ffn::None));
        assert_eq!(kinds[1], kind(Mixer::None, Ffn::Experts));
        assert_eq!(kinds[3], kind(Mixer::Full, Ffn::None));
        assert_eq!(kinds[5], kind(Mixer::None, Ffn::Dense));
        assert_eq!((nano.layers(), nano.modules()), (6, 2));
        let module: Vec<LayerKind> = nano.module().collect();
        assert_eq!(module, [kinds[3], kinds[4]]);
    }

    #[test]
    fn what_is_written_is_read_back() {
        for (text, count) in [
            ("(Wd*5,Ad)*10,Wd*2", 62),
            ("Kd,Ke*2,Le,(Ke*3,Le)*21,Ke*3,Le*2", 93),
            ("X0e*2,(X4e,X128e)*20,X4e", 43),
            ("((Wd*2,Ad)*3,Gx)*2", 20),
            ("Ad*1000", 1000),
            ("MEM*EM-/*E", 7),
        ] {
            let pattern = Pattern::parse(text).unwrap();
            assert_eq!(layers(text), count, "{text}");
            let written = pattern.to_string();
            let again = Pattern::parse(&written).unwrap();
            assert!(pattern.iter().eq(again.iter()), "{text}: {written}");
            assert!(pattern.module().eq(again.module()), "{text}: {written}");
        }
        let gemma = Pattern::parse("(Wd*5,Ad)*10,Wd*2").unwrap();
        assert_eq!(gemma.to_string(), "(Wd*5,Ad)*10,Wd*2");
        assert_eq!(Pattern::parse("(We,Ae)*18").unwrap().shortest().to_string(), "We,Ae");
    }

    #[test]
    fn what_does_not_parse_names_the_letter() {
        for (text, error) in [
            ("", PatternError::Empty),
            ("/Ad", PatternError::Empty),
            ("Ad,Qd", PatternError::Letter(3)),
            ("d", PatternError::Letter(0)),
            ("Ad*0", PatternError::Repeats(2)),
            ("Ad*5000000000", PatternError::Repeats(2)),
            ("(Ad", PatternError::Bracket(0)),
            ("Ad)", PatternError::Bracket(2)),
            ("()*2", PatternError::Bracket(0)),
            ("Xd", PatternError::Ratio(0)),
            ("Ad/", PatternError::Module(2)),
            ("Ad/Ad/Wd", PatternError::Module(5)),
            ("(Ad,Wd)*100", PatternError::Runs),
            ("AdAeAxWdWeWxCdCeCx", PatternError::Kinds),
            ("*5", PatternError::Letter(0)),
        ] {
            assert_eq!(Pattern::parse(text).unwrap_err(), error, "{text}");
            assert!(!error.message(text).to_string().contains('{'));
        }
    }
}
