//! Share of the calendar that trains, and the best time between two saves.
//!
//! A segment of `τ` seconds of training and `δ` of saving is repeated until no interruption ends it. Gaps between
//! interruptions are exponential with mean `M`, each costs a downtime `R`, and a save is durable only `L` after it. The
//! renewal argument gives the expected time of a segment, `(M + R + L) (e^((τ+δ)/M) - 1)`, and so
//!
//! `ETTR = (τ/M) / [(1 + (R+L)/M) (e^((τ+δ)/M) - 1)]`.
//!
//! Interruptions that are counted by the calendar, not by the time that the job runs, strike a restart as well and
//! begin it anew: `R` is then replaced by `M (e^(R/M) - 1)` (Daly 2006, the complete model), and `1/M` is their
//! rate over all of the calendar.
//!
//! Its maximum over `τ` solves `(1 - τ/M) e^((τ+δ)/M) = 1`, so `τ* = M (1 + W₀(-e^(-1-δ/M)))`: it depends
//! neither on `R` nor on `L`. Young (1974) and Daly (2006) are its first and third order.

use super::formulas;
use crate::units::Seconds;

/// Segments longer than this many mean times to interrupt count as never finished.
const LONGEST_SEGMENT: f64 = 10.0;
/// Restarts longer than this many mean times to interrupt count as never finished: less than one in a hundred is.
const LONGEST_RESTART: f64 = 5.0;
/// Restarts of a draw are taken as no longer than this many mean times to interrupt: e^50 of them never end.
const LONGEST_DRAWN: f64 = 50.0;

/// Interruptions, restarts and saves of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rhythm {
    /// Mean time between interruptions, `M`; infinite where nothing fails.
    pub mtti: Seconds,
    /// `M` is of the calendar: interruptions strike restarts too. Else of the time that the job runs.
    pub by_calendar: bool,
    /// Downtime of an interruption, `R`: detection, replacement, restart, load.
    pub restart: Seconds,
    /// Time that a save blocks the step, `δ`.
    pub save: Seconds,
    /// Time until a save is durable, `L`.
    pub lag: Seconds,
    /// Training between two saves, `τ`; infinite where nothing is saved.
    pub every: Seconds,
}

impl Rhythm {
    /// Productive share of the calendar, ETTR.
    pub fn share(&self) -> f64 {
        let (m, tau, delta) = (self.mtti.0, self.every.0, self.save.0);
        if tau.is_infinite() {
            return if m.is_infinite() { 1.0 } else { 0.0 };
        }
        if m.is_infinite() {
            return tau / (tau + delta);
        }
        formulas::productive(tau, delta, m, self.downtime().0, self.lag.0)
    }

    /// Downtime of an interruption of the running job, with the restarts that another interruption begins anew.
    pub fn downtime(&self) -> Seconds {
        if self.by_calendar && self.mtti.0.is_finite() {
            Seconds(formulas::begun_anew(self.mtti.0, (self.restart / self.mtti).min(LONGEST_DRAWN)))
        } else {
            self.restart
        }
    }

    /// Calendar of `productive` time in the mean.
    pub fn calendar(&self, productive: Seconds) -> Seconds {
        productive / self.share()
    }

    /// Time of training and saving, without interruptions.
    pub fn uninterrupted(&self, productive: Seconds) -> Seconds {
        productive + self.saving(productive)
    }

    /// Time that saves block.
    pub fn saving(&self, productive: Seconds) -> Seconds {
        if self.every.0.is_infinite() {
            return Seconds::ZERO;
        }
        Seconds(formulas::saving(self.save.0, productive.0, self.every.0))
    }

    /// Segments that no mean time to interrupt lets finish.
    pub fn never_finishes(&self) -> bool {
        self.mtti.0.is_finite() && (self.every + self.save).0 > LONGEST_SEGMENT * self.mtti.0
    }

    /// Restarts that are interrupted nearly always.
    pub fn never_restarts(&self) -> bool {
        self.by_calendar && self.mtti.0.is_finite() && self.restart.0 > LONGEST_RESTART * self.mtti.0
    }
}

/// Training between two saves that loses least, `τ*`, for saves of `save` and a mean time to interrupt of `mtti`.
pub fn best_interval(mtti: Seconds, save: Seconds) -> Seconds {
    if mtti.0.is_infinite() {
        return mtti;
    }
    Seconds(formulas::best_interval(mtti.0, save.0))
}

/// `rhythm` with its interval as a whole number of steps: of the two next to it the one that loses less, at least one.
pub fn in_steps(rhythm: Rhythm, step: Seconds) -> Rhythm {
    if rhythm.every.0.is_infinite() {
        return rhythm;
    }
    let below = (rhythm.every / step).floor().max(1.0);
    let at = |steps: f64| Rhythm { every: Seconds(formulas::between_saves(step.0, steps)), ..rhythm };
    let (low, high) = (at(below), at(below + 1.0));
    // A snapshot starts after the one before is durable.
    if low.every >= rhythm.lag && low.share() >= high.share() { low } else { high }
}

/// Intervals on both sides of the best one that take less than half a percent more calendar; none is shorter than the
/// time until a save is durable.
pub fn flat_range(rhythm: Rhythm, best: Seconds) -> Option<[Seconds; 2]> {
    const MORE: f64 = 1.005;
    if best.0.is_infinite() {
        return None;
    }
    let best = best.max(rhythm.lag);
    let share = |every: f64| Rhythm { every: Seconds(every), ..rhythm }.share();
    let least = share(best.0) / MORE;
    let edge = |mut inside: f64, mut outside: f64| {
        for _ in 0..50 {
            let middle = (inside * outside).sqrt();
            if share(middle) >= least {
                inside = middle;
            } else {
                outside = middle;
            }
        }
        Seconds(inside)
    };
    Some([edge(best.0, best.0 * 1e-6).max(rhythm.lag), edge(best.0, best.0 * 1e6)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maths::{exp, pow};

    const HOUR: f64 = 3600.0;

    fn rhythm([mtti, save, every, restart]: [f64; 4]) -> Rhythm {
        let hours = |hours: f64| Seconds(hours * HOUR);
        Rhythm {
            mtti: hours(mtti),
            by_calendar: false,
            restart: hours(restart),
            save: hours(save),
            lag: Seconds::ZERO,
            every: hours(every),
        }
    }

    #[test]
    fn the_share_is_that_of_simulated_runs_to_two_tenths_of_a_point() {
        // `docs/methods/whole-run.md`: the exact value, 300 simulated runs.
        let rows = [
            ([2.78, 1.0 / 180.0, 0.33, 0.25], 0.8489, 0.8481),
            ([7.5, 0.02, 3.0, 2.0], 0.6369, 0.6353),
            ([0.5, 0.05, 0.2, 0.25], 0.4111, 0.4097),
        ];
        for (row, exact, simulated) in rows {
            let share = rhythm(row).share();
            assert!((share - exact).abs() < 5e-5, "{row:?}: {share}");
            assert!((share - simulated).abs() < 2e-3, "{row:?}: {share}");
        }
    }

    #[test]
    fn the_share_at_the_best_interval_is_the_worked_one() {
        // Worked by hand: M 3.093 h, δ 20 s, R 0.25 h, at τ*, 2 τ* and τ*/2; 128 and 2,048 nodes of an
        // unknown class, δ 30 s, and the billions of tokens that 1,000 a second and GPU make in 30 days.
        let effective = |mtti: f64, save: f64, factor: f64| {
            let best = best_interval(Seconds(mtti * HOUR), Seconds(save)).0 / HOUR;
            rhythm([mtti, save / HOUR, best * factor, 0.25]).share()
        };
        for (factor, expected) in [(1.0, 0.8709), (2.0, 0.8580), (0.5, 0.8584)] {
            assert!((effective(54.0 * 24.0 / 419.0, 20.0, factor) - expected).abs() < 6e-5, "{factor}");
        }
        for (nodes, expected, billions) in [(128.0, 0.9595, 2547.0), (2048.0, 0.7416, 31_493.0)] {
            let share = effective(24_000.0 / (nodes * 9.33), 30.0, 1.0);
            assert!((share - expected).abs() < 6e-5, "{nodes}: {share}");
            assert!((share * nodes * 8.0 * 1000.0 * 30.0 * 86_400.0 / 1e9 / billions - 1.0).abs() < 2e-4, "{nodes}");
        }
    }

    #[test]
    fn the_best_interval_is_that_of_brute_force() {
        // M, δ in hours; the best interval by brute force, in minutes.
        let rows = [
            (2.78, 20.0 / HOUR, 10.324),
            (10.0, 0.1, 80.901),
            (1.0, 0.2, 30.406),
            (0.3, 0.2, 13.677),
            (6.0, 0.05, 44.497_69),
        ];
        for (mtti, save, minutes) in rows {
            let best = best_interval(Seconds(mtti * HOUR), Seconds(save * HOUR)).0 / 60.0;
            assert!((best - minutes).abs() < 1e-3, "{mtti} {save}: {best}");
        }
    }

    #[test]
    fn no_interval_beats_the_best() {
        let mut random = super::super::random::Random::new(3);
        for _ in 0..1000 {
            let mtti = 0.2 * pow(1000.0, random.unit());
            let save = mtti * 1e-6 * pow(1e6, random.unit());
            let restart = random.unit() * 2.0;
            let best = best_interval(Seconds(mtti * HOUR), Seconds(save * HOUR)).0 / HOUR;
            let share = |every: f64| rhythm([mtti, save, every, restart]).share();
            for factor in [0.5, 0.9, 0.99, 1.01, 1.1, 2.0] {
                assert!(share(best) >= share(best * factor), "{mtti} {save} {factor}");
            }
        }
    }

    #[test]
    fn a_rate_by_the_calendar_adds_what_strikes_restarts() {
        // Daly 2006: M e^(R/M) in place of M + R, 0.4 % apart at R/M = 0.09.
        let running = rhythm([2.78, 1.0 / 180.0, 0.33, 0.25]);
        let both = running.share() / Rhythm { by_calendar: true, ..running }.share();
        let x = 0.25 / 2.78_f64;
        assert!((both - exp(x) / (1.0 + x)).abs() < 1e-12 && (both - 1.004).abs() < 5e-4, "{both}");
    }

    #[test]
    fn no_interval_that_costs_as_little_is_shorter_than_the_storage_takes() {
        let fast = rhythm([1.25, 0.5 / HOUR, 0.03, 0.25]);
        let best = best_interval(fast.mtti, fast.save);
        let slow = Rhythm { lag: best * 2.0, ..fast };
        let ([low, _], [least, most]) = (flat_range(fast, best).unwrap(), flat_range(slow, best).unwrap());
        assert!(low < best && least == slow.lag && most > least);
    }

    #[test]
    fn without_interruptions_only_saves_cost() {
        let calm = Rhythm { mtti: Seconds(f64::INFINITY), ..rhythm([1.0, 0.1, 0.9, 1.0]) };
        assert!((calm.share() - 0.9).abs() < 1e-15);
        assert!((rhythm([1e12, 0.1, 0.9, 1.0]).share() - 0.9).abs() < 1e-6);
        assert_eq!(Rhythm { every: Seconds(f64::INFINITY), ..calm }.share(), 1.0);
        assert!(best_interval(Seconds(f64::INFINITY), Seconds(1.0)).0.is_infinite());
    }
}
