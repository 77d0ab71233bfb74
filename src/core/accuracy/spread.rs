//! Range of four of five runs of a further group, by the errors of groups that were left out of the fit.

use crate::maths::exp;
use crate::sort::sort_by;

/// Share of the distances outside at either end: four of five lie inside, and a little more since groups are few.
const OUTSIDE: f64 = 0.09;

/// Middle of groups of logarithms measured over predicted, and the deviation of a run of a further group:
/// `√(b (1 + 1/k) + w)` over k groups, b between them, w within; single runs count up to 0.4.
fn spread<'a>(groups: impl Iterator<Item = &'a Vec<f64>>) -> (f64, f64) {
    let average = |list: &[f64]| list.iter().sum::<f64>() / list.len().max(1) as f64;
    let cut: Vec<Vec<f64>> =
        groups.map(|group| group.iter().map(|error| (-error).clamp(-0.4, 0.4)).collect()).collect();
    let means: Vec<f64> = cut.iter().map(|group| average(group)).collect();
    let (k, middle) = (cut.len() as f64, average(&means));
    let between = means.iter().map(|mean| (mean - middle).powi(2)).sum::<f64>() / (k - 1.0).max(1.0);
    let within: Vec<f64> = cut
        .iter()
        .zip(&means)
        .map(|(group, mean)| average(&group.iter().map(|error| (error - mean).powi(2)).collect::<Vec<_>>()))
        .collect();
    (middle, (between * (1.0 + 1.0 / k) + average(&within)).sqrt())
}

/// The value that `share` of `sorted` lie below; of none, 0.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an index
    let at = (share * sorted.len().saturating_sub(1) as f64).round() as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}

/// Ends, measured over predicted, between which four of five runs of a further group lie: of groups of logarithms of
/// predicted over measured.
pub fn interval(groups: &[Vec<f64>]) -> (f64, f64) {
    let mut distances: Vec<f64> = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let others = groups.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, group)| group);
        let (middle, deviation) = spread(others);
        distances.extend(group.iter().map(|error| (-error - middle) / deviation));
    }
    sort_by(&mut distances, f64::total_cmp);
    let (middle, deviation) = spread(groups.iter());
    let end = |share: f64| exp(middle + deviation * quantile(&distances, share));
    (end(OUTSIDE), end(1.0 - OUTSIDE))
}
