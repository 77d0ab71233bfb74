//! Visible part of a time axis, and its moves.

/// A window `[start, end]` on an axis from 0 to `full`, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Viewport {
    pub start: f64,
    pub end: f64,
    /// End of the axis.
    pub full: f64,
}

/// Share of the axis that fills the picture at the deepest zoom.
const MIN_SPAN: f64 = 1e-6;

impl Viewport {
    /// All of an axis of length `full`.
    pub fn all(full: f64) -> Self {
        let full = if full > 0.0 { full } else { 1.0 };
        Self { start: 0.0, end: full, full }
    }
    /// Visible length.
    pub fn span(self) -> f64 {
        self.end - self.start
    }
    /// Place of `time` on a picture `width` wide.
    pub fn x(self, time: f64, width: f64) -> f64 {
        (time - self.start) / self.span() * width
    }
    /// The time at `x` of a picture `width` wide.
    pub fn time(self, x: f64, width: f64) -> f64 {
        self.start + x / width * self.span()
    }
    /// Zooms by `factor` (above 1: closer) and keeps the time `at` where it is.
    pub fn zoomed(self, factor: f64, at: f64) -> Self {
        let span = (self.span() / factor).clamp(self.full * MIN_SPAN, self.full);
        let share = (at - self.start) / self.span();
        self.placed(at - share * span, span)
    }
    /// Moves by `seconds`, not past the ends.
    pub fn panned(self, seconds: f64) -> Self {
        self.placed(self.start + seconds, self.span())
    }
    /// The share of the axis that is visible, on an axis of another length.
    pub fn on(self, full: f64) -> Self {
        let ratio = full / self.full;
        Self { start: self.start * ratio, end: self.end * ratio, full }
    }
    /// Exactly `[start, end]`, as far as the axis goes.
    pub fn between(self, start: f64, end: f64) -> Self {
        self.placed(start, (end - start).clamp(self.full * MIN_SPAN, self.full))
    }
    /// Shows `[start, end]` with a margin on both sides.
    pub fn showing(self, start: f64, end: f64) -> Self {
        let span = ((end - start) * 6.0).clamp(self.full * MIN_SPAN, self.full);
        self.placed(f64::midpoint(start, end) - span / 2.0, span)
    }
    fn placed(self, start: f64, span: f64) -> Self {
        let start = start.clamp(0.0, (self.full - span).max(0.0));
        Self { start, end: start + span, full: self.full }
    }
    /// True if the whole axis is visible.
    pub fn is_all(self) -> bool {
        self.span() >= self.full * (1.0 - 1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zooming_keeps_the_time_under_the_pointer() {
        let view = Viewport::all(100.0).zoomed(4.0, 30.0);
        assert!((view.x(30.0, 800.0) - Viewport::all(100.0).x(30.0, 800.0)).abs() < 1e-9);
        assert!((view.span() - 25.0).abs() < 1e-9);
        assert!(view.zoomed(0.01, 30.0).is_all());
    }

    #[test]
    fn panning_stops_at_the_ends() {
        let view = Viewport::all(100.0).zoomed(10.0, 50.0);
        assert!(view.panned(-1000.0).start.abs() < 1e-12);
        assert!((view.panned(1000.0).end - 100.0).abs() < 1e-9);
    }

    #[test]
    fn a_zoom_stays_on_the_same_part_of_a_longer_axis() {
        let view = Viewport::all(10.0).between(2.0, 4.0);
        assert_eq!(view.on(20.0), Viewport { start: 4.0, end: 8.0, full: 20.0 });
        assert!(Viewport::all(10.0).on(3.0).is_all());
    }

    #[test]
    fn pixels_and_times_are_inverse() {
        let view = Viewport::all(3.0).zoomed(7.0, 1.0);
        assert!((view.time(view.x(1.1, 640.0), 640.0) - 1.1).abs() < 1e-12);
    }
}
