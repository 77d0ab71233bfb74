//! One simulated future of a run: its interruptions in order, the same for the same seed.

use super::effective::Rhythm;
use super::random::Random;
use super::setting::Setting;
use crate::maths::exp;
use crate::run::Run;
use crate::units::Seconds;

/// Events of a future at most; what follows is not listed.
const MOST: usize = 20_000;
/// Standard deviation of the logarithm of a downtime between interruptions.
const BETWEEN_EVENTS: f64 = 1.0;

/// An interruption of a future.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunEvent {
    /// Calendar time since the start of the run.
    pub at: Seconds,
    /// Work that is repeated after it.
    pub lost: Seconds,
    /// Time until the run goes on.
    pub down: Seconds,
}

/// The seed of a Run's own future: FNV-1a over the settings that differ from the default, so that a link shows the same
/// future everywhere.
pub fn seed(run: &Run) -> u64 {
    let texts = run.changed_texts();
    let bytes = texts.iter().flat_map(|(key, text)| key.bytes().chain([b'=']).chain(text.bytes()).chain([b'&']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The interruptions of a future, and the calendar at the last token.
pub fn future(setting: &Setting, seed: u64) -> (Vec<RunEvent>, Seconds) {
    let Rhythm { mtti, by_calendar, restart, save, lag, every } = setting.rhythm;
    let work = setting.work().0;
    let mut random = Random::new(seed);
    let (mut clock, mut done) = (setting.startup.0, 0.0);
    let mut events = Vec::new();
    if every.0.is_infinite() || mtti.0.is_infinite() {
        return (events, Seconds(clock) + setting.rhythm.uninterrupted(Seconds(work)));
    }
    let segment = every.0 + save.0;
    while events.len() < MOST {
        let gap = random.exponential(mtti.0);
        let left = (work - done) * segment / every.0;
        if gap >= left {
            return (events, Seconds(clock + left));
        }
        clock += gap;
        // A save counts once it is durable.
        let kept = ((gap - lag.0).max(0.0) / segment).floor() * every.0;
        done += kept;
        let mut lost = gap - kept / every.0 * segment;
        loop {
            let down = restart.0 * exp(BETWEEN_EVENTS * random.normals()[0] - BETWEEN_EVENTS.powi(2) / 2.0);
            // Another interruption begins the restart anew.
            let next = if by_calendar { random.exponential(mtti.0) } else { f64::INFINITY };
            let at = Seconds(clock);
            clock += down.min(next);
            events.push(RunEvent { at, lost: Seconds(lost), down: Seconds(down.min(next)) });
            lost = 0.0;
            if down <= next || events.len() >= MOST {
                break;
            }
        }
    }
    let rest = setting.rhythm.calendar(Seconds(work - done));
    (events, Seconds(clock) + rest)
}
