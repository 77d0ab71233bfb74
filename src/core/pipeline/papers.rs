//! The papers and code that schedules come from and that no other module cites.

use crate::source::Source;

macro_rules! papers {
    ($($name:ident = $short:literal, $title:literal, $locator:literal;)*) => {
        $(
            #[doc = concat!("`", $title, "`")]
            pub static $name: Source = Source { short: $short, title: $title, locator: $locator };
        )*
        /// All of them.
        pub static ALL: &[&Source] = &[$(&$name),*];
    };
}

papers! {
    BREADTH_FIRST = "Lamy-Poirier 2022", "Lamy-Poirier, Breadth-First Pipeline Parallelism, 2022", "https://arxiv.org/abs/2211.05953";
    PIPEDREAM_2BW = "PipeDream-2BW", "Narayanan et al., Memory-Efficient Pipeline-Parallel DNN Training, 2020", "https://arxiv.org/abs/2006.09503";
    CHIMERA = "Chimera", "Li and Hoefler, Chimera: Efficiently Training Large-Scale Neural Networks with Bidirectional Pipelines, 2021", "https://arxiv.org/abs/2107.06925";
    HANAYO = "Hanayo", "Liu et al., Hanayo: Harnessing Wave-like Pipeline Parallelism for Enhanced Large Model Training Efficiency, 2023", "https://arxiv.org/abs/2308.15762";
    ZERO_BUBBLE = "Zero Bubble", "Qi et al., Zero Bubble Pipeline Parallelism, 2023", "https://arxiv.org/abs/2401.10241";
    CONTROLLABLE = "Controllable memory", "Qi et al., Pipeline Parallelism with Controllable Memory, 2024", "https://arxiv.org/abs/2405.15362";
    TORCH_PIPELINING = "PyTorch pipelining", "PyTorch, torch.distributed.pipelining schedules", "https://docs.pytorch.org/docs/stable/distributed.pipelining.html";
    DUALPIPE = "DualPipe", "DeepSeek, DualPipe: a bidirectional pipeline parallelism algorithm", "https://github.com/deepseek-ai/DualPipe";
    PP_VISUALIZATION = "PP-Schedule-Visualization", "Victarry, PP-Schedule-Visualization: strategies and formulas", "https://github.com/Victarry/PP-Schedule-Visualization";
    SEQ1F1B = "Seq1F1B", "Sun et al., Seq1F1B: Efficient Sequence-Level Pipeline Parallelism for Large Language Model Training, 2024", "https://arxiv.org/abs/2406.03488";
    TERAPIPE = "TeraPipe", "Li et al., TeraPipe: Token-Level Pipeline Parallelism for Training Large-Scale Language Models, 2021", "https://arxiv.org/abs/2102.07988";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_paper_is_cited_from_two_lists() {
        for paper in ALL {
            let elsewhere = crate::source::ALL
                .iter()
                .any(|other| other.short == paper.short);
            assert!(!elsewhere, "{} stands in source.rs too", paper.short);
            assert!(paper.locator.starts_with("https://"));
        }
    }
}
