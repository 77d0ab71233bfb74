//! Kinds of GPUs for one training: of each as many as the Run has, in the fastest layout that fits and that its
//! software runs.

use super::fastest::{Fastest, faster, serves};
use super::neighbours::layout;
use super::ranking::FoundLayout;
use crate::run::presets::GPUS;
use crate::run::{Based, Run};

/// Kinds that are compared beside those with a price: with 80 GB or more, by the node of eight, one a generation.
const USUAL: [&str; 5] = ["a100-sxm-80gb", "h100-sxm-80gb", "h200-sxm-141gb", "b200-sxm", "mi300x"];

/// A kind by its place in [`GPUS`], with its fastest layout; none where none fits or none runs.
pub type KindRow = (usize, Option<Box<FoundLayout>>);

/// Places of the kinds that are compared for `run`: its own, those with a price, and the usual ones.
pub fn places(run: &Run) -> Vec<usize> {
    let ids = GPUS.iter().map(|preset| preset.choice.id);
    let is_compared = |id: &str| run.gpu.base == Some(id) || run.price(id).is_some() || USUAL.contains(&id);
    ids.enumerate().filter(|(_, id)| is_compared(id)).map(|(place, _)| place).collect()
}

/// `run` on GPUs of the preset `id`; what was measured on its own or set of them is left out. What its own GPUs cost
/// stays their price.
pub fn on(run: &Run, id: &'static str) -> Run {
    if run.gpu.base == Some(id) {
        return run.clone();
    }
    let usual = Run::default();
    let priced = run.gpu.base.and_then(|own| run.with_price(own, run.own_price()));
    Run {
        gpu: Based::preset(id),
        gpus_per_node: None,
        measured_step_s: None,
        profile: usual.profile,
        price_per_gpu_hour: None,
        ..priced.unwrap_or_else(|| run.clone())
    }
}

/// The search under way.
#[derive(Clone, Debug)]
pub struct GpuKinds {
    run: Run,
    /// The next one last.
    places: Vec<usize>,
    search: Option<Box<Fastest>>,
}

impl GpuKinds {
    /// The search for `run` on each of the GPUs at `places`.
    pub fn new(run: &Run, places: &[usize]) -> Self {
        Self { run: run.clone(), places: places.iter().rev().copied().collect(), search: None }
    }

    /// Works for about `budget` units: the next kind once its layout is found; `Err` once there is none left.
    ///
    /// # Errors
    /// Every kind has its row.
    #[allow(clippy::result_unit_err)] // nothing more is to say
    pub fn step(&mut self, budget: u64) -> Result<Option<KindRow>, ()> {
        let place = *self.places.last().ok_or(())?;
        let Some(search) = &mut self.search else {
            let preset = GPUS.get(place);
            let run = preset.map(|preset| on(&self.run, preset.choice.id));
            let run = run.filter(Run::is_on_gpus_of_its_software);
            let fastest = run.and_then(|run| Fastest::new(&run, &[]).ok());
            self.search = fastest.map(Box::new);
            return Ok(if self.search.is_some() { None } else { Some(self.row(place, None)) });
        };
        if !search.step(budget) {
            return Ok(None);
        }
        let searched = search.found().map(|found| Box::new(FoundLayout::clone(found)));
        let own = self.own(place);
        Ok(Some(self.row(place, faster(searched, own, |one| one.figures.time_s.0))))
    }

    /// The layout of the Run as it stands on the GPUs at `place`, where it serves: it may have what no search varies,
    /// recomputed modules among it.
    fn own(&self, place: usize) -> Option<Box<FoundLayout>> {
        let run = on(&self.run, GPUS.get(place)?.choice.id);
        let own = layout(run).filter(|own| serves(&own.run, &own.figures.peak))?;
        Some(Box::new(FoundLayout::clone(&own)))
    }

    fn row(&mut self, place: usize, found: Option<Box<FoundLayout>>) -> KindRow {
        self.search = None;
        self.places.pop();
        (place, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evaluate;
    use crate::search::serves;

    fn all(run: &Run) -> Vec<KindRow> {
        let mut kinds = GpuKinds::new(run, &places(run));
        let mut rows = Vec::new();
        while let Ok(row) = kinds.step(100_000) {
            rows.extend(row);
        }
        rows
    }

    #[test]
    fn every_kind_has_the_layout_that_is_fastest_on_it() {
        let run = Run { gpus: 16, global_batch: 64, ..Run::default() };
        let rows = all(&run);
        assert!(rows.iter().map(|(place, _)| *place).eq(places(&run)));
        for (place, found) in rows {
            let id = GPUS[place].choice.id;
            let mut fastest = Fastest::new(&on(&run, id), &[]).unwrap();
            while !fastest.step(1 << 20) {}
            let found = found.unwrap_or_else(|| panic!("{id}"));
            let searched = fastest.found().unwrap();
            assert!(found.figures.time_s.0 <= searched.figures.time_s.0);
            assert!(found.run == searched.run || found.run == on(&run, id));
            assert_eq!((found.run.gpu.base, found.run.gpus), (Some(id), 16));
            assert!(serves(&found.run, &found.figures.peak));
            assert_eq!(evaluate(&found.run).unwrap().report.step.time_s, found.figures.time_s);
        }
    }

    /// DeepSeek-V3 as it was published recomputes modules, which no search varies: its own kind is not compared in a
    /// layout slower than the run's.
    #[test]
    fn no_kind_is_compared_in_a_layout_slower_than_the_runs_own() {
        let set = [
            ("model", "deepseek-v3"),
            ("gpus", "2048"),
            ("pp", "32"),
            ("ep", "8"),
            ("seq_len", "4096"),
            ("global_batch", "15360"),
            ("recompute.modules", "norm,moe_act,mla_up"),
        ];
        let run = Run::default().with_texts(&set).unwrap();
        let report = evaluate(&run).unwrap().report;
        assert!(serves(&run, &report.memory.peak()));
        let place = GPUS.iter().position(|preset| run.gpu.base == Some(preset.choice.id)).unwrap();
        let mut kinds = GpuKinds::new(&run, &[place]);
        let row = loop {
            if let Some(row) = kinds.step(100_000).unwrap() {
                break row;
            }
        };
        assert!(row.1.unwrap().figures.time_s.0 <= report.step.time_s.0);
    }

    /// 8 B weights with 18 bytes of states each need 145 GB: no card of 24 GB alone holds them.
    #[test]
    fn a_kind_that_is_too_small_has_no_layout_and_a_priced_one_is_compared() {
        let run = Run { gpus: 1, global_batch: 1, ..Run::default() };
        let priced = run.with_price("rtx-4090", Some(0.4)).unwrap();
        assert_eq!(places(&priced).len(), places(&run).len() + 1);
        let place = GPUS.iter().position(|preset| preset.choice.id == "rtx-4090").unwrap();
        assert!(all(&priced).iter().any(|(at, found)| *at == place && found.is_none()));
    }

    /// Primus is built on `ROCm`: it trains on no GPU of NVIDIA.
    #[test]
    fn software_of_one_maker_has_no_layout_on_the_gpus_of_another() {
        let set =
            [("gpus", "8"), ("tp", "1"), ("pp", "1"), ("gpu", "mi300x"), ("global_batch", "8"), ("stack", "primus")];
        let rows = all(&Run::default().with_texts(&set).unwrap());
        for (place, found) in rows {
            assert_eq!(found.is_some(), GPUS[place].family.is_amd(), "{}", GPUS[place].choice.id);
        }
    }

    #[test]
    fn prices_stay_with_their_kinds_when_the_kind_changes() {
        let run = Run { price_per_gpu_hour: Some(2.0), ..Run::default() };
        let run = run.with_price("b200-sxm", Some(4.5)).unwrap();
        let other = on(&run, "b200-sxm");
        assert_eq!(other.own_price(), Some(4.5));
        assert_eq!(on(&other, "h100-sxm-80gb").own_price(), Some(2.0));
        assert_eq!(on(&run, "mi300x").own_price(), None);
        let own = run.with_price("h100-sxm-80gb", Some(3.0)).unwrap();
        assert_eq!((own.own_price(), own.price_per_gpu_hour), (Some(3.0), None));
        // Typed for one kind, it is no other kind's.
        let typed = Run { price_per_gpu_hour: Some(1.25), ..Run::default() }.with_price_of_kind();
        assert_eq!((typed.own_price(), typed.price_per_gpu_hour), (Some(1.25), None));
        assert_eq!(Run { gpu: Based::preset("mi300x"), ..typed }.own_price(), None);
    }
}
