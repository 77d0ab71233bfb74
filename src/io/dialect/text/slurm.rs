//! Options of a batch job of Slurm: comments `#SBATCH`, which count as those of `sbatch` do.
//!
//! Source: `sbatch(1)`: `--gres=name[[:type]:count]`, `--gpus=[type:]number`, `--gpus-per-node`, `--gpus-per-task` and
//! `--gpus-per-socket` alike, `--constraint` with features of nodes.

/// The options of a job, each by its name and its value; an option without one has an empty value.
pub(crate) fn options(text: &str) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for line in text.lines().filter_map(|line| line.trim_start().strip_prefix("#SBATCH")) {
        let words = line.split_whitespace().take_while(|word| !word.starts_with('#'));
        let mut is_open = false;
        for word in words {
            let clean = |word: &str| word.trim_matches(['"', '\'']).to_owned();
            if let Some((name, value)) = word.split_once('=').filter(|_| word.starts_with("--")) {
                out.push((name.to_owned(), clean(value)));
                is_open = false;
            } else if word.starts_with("--") || word.starts_with('-') && word.len() == 2 {
                out.push((word.to_owned(), String::new()));
                is_open = true;
            } else if let Some((name, value)) = word.split_at_checked(2).filter(|_| word.starts_with('-')) {
                // `-N4`.
                out.push((name.to_owned(), clean(value)));
                is_open = false;
            } else if let Some((_, value)) = out.last_mut().filter(|_| is_open) {
                *value = clean(word);
                is_open = false;
            }
        }
    }
    // Resources that are no GPUs.
    out.retain(|(name, value)| name != "--gres" || value.contains("gpu"));
    out
}

/// The part of a list that is about GPUs, else its first: of `nvme:1,gpu:8` the second.
fn gpus_of(value: &str) -> Option<&str> {
    value.split(',').find(|part| part.starts_with("gpu")).or_else(|| value.split(',').next())
}

/// The count of an option: of `gpu:h100:8` and of `h100:8` the last number, of `2-4` nodes at least 2.
pub(crate) fn count(value: &str) -> Option<u64> {
    let value = gpus_of(value)?;
    let first = value.split(':').next()?;
    let place = if first.starts_with(|c: char| c.is_ascii_digit()) { first } else { value.rsplit(':').next()? };
    let place = place.split('-').next()?;
    place.parse().ok()
}

/// Types of GPUs that the options of a job name.
pub(crate) fn gpu_types(text: &str) -> Vec<String> {
    const TYPED: [&str; 6] = ["--gres", "--gpus", "-G", "--gpus-per-node", "--gpus-per-task", "--gpus-per-socket"];
    let options = options(text).into_iter().filter(|(name, _)| TYPED.contains(&name.as_str()));
    let typed = options.filter_map(|(_, value)| {
        let mut parts = gpus_of(&value)?.split(':').filter(|part| *part != "gpu");
        parts.next().filter(|part| part.starts_with(|c: char| c.is_ascii_alphabetic())).map(str::to_owned)
    });
    typed.collect()
}

/// Features of nodes that a job asks for, each as it stands.
pub(crate) fn features(text: &str) -> Vec<String> {
    let options = options(text).into_iter().filter(|(name, _)| name == "--constraint" || name == "-C");
    options.map(|(_, value)| value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_sbatch_does() {
        let text = "#!/bin/bash\n#SBATCH --nodes=4 # --nodes=9\n#SBATCH -N4 --gpus h100:32\n#SBATCH --exclusive\n";
        let pairs = [("--nodes", "4"), ("-N", "4"), ("--gpus", "h100:32"), ("--exclusive", "")];
        assert_eq!(options(text), pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        for (value, number) in
            [("8", 8), ("gpu:8", 8), ("gpu:h100:8", 8), ("h100:8", 8), ("2-4", 2), ("nvme:1,gpu:4", 4)]
        {
            assert_eq!(count(value), Some(number), "{value}");
        }
        let job = "#SBATCH -C v100-32g\n#SBATCH --gres=gpu:a100:8 --gpus-per-node=4";
        assert_eq!((gpu_types(job), features(job)), (vec!["a100".to_owned()], vec!["v100-32g".to_owned()]));
    }
}
