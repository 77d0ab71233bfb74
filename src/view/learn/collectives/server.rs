//! A parameter server beside a ring: what the busiest link carries.

use crate::learn::prelude::*;

const CARRIED: Scale = Scale { parts: &[("in and out of the busiest link", Ink::Exposed)], unit: ("GB", 1e9) };
/// Bytes of the gradients of eight billion parameters in bf16.
const GRADIENTS: f64 = 16e9;
const WORKERS: [u64; 5] = [2, 4, 8, 16, 64];

/// Tensors that pass the busiest link of `n` workers, in and out: of `k` servers, each with a part, that add up and
/// answer; and of a ring.
fn carried(n: u64, k: u64) -> [f64; 2] {
    let n = n as f64;
    // A worker's own link carries the whole tensor out and in.
    let server = (2.0 * n / k as f64).max(2.0);
    [server, 4.0 * (n - 1.0) / n]
}

pub(super) fn server(dials: &Dials) -> Live {
    let (n, k) = (dials.get("n"), dials.get("k"));
    let [server, ring] = carried(n, k);
    let ratio = server / ring;
    let rows: Vec<Bar> = WORKERS
        .iter()
        .flat_map(|workers| {
            let [server, ring] = carried(*workers, k).map(|tensors| GRADIENTS * tensors);
            [
                Bar::new(t!("server, {workers} workers", workers = *workers), [server]),
                Bar::new(t!("ring, {workers} workers", workers = *workers), [ring]),
            ]
        })
        .collect();
    Live::of([
        t!(
            "Workers once sent gradients to a parameter server, which added them up and sent weights back. Its link \
                carries the tensor of each of {n} workers, in and out.",
            n
        ),
        t!(
            "Servers with a part of the parameters each share that: with {k} the busiest link carries {ratio} × \
                what a ring's does. On a ring every link carries the same.",
            k,
            ratio = number(ratio, 3)
        ),
    ])
    .below("the busiest link of the servers over that of the ring", ratio, 2.0, three)
    .formula(
        "2 n S / k  against  4 S (n − 1) / n",
        format!("{} GB, {} GB", number(server * GRADIENTS / 1e9, 3), number(ring * GRADIENTS / 1e9, 3)),
    )
    .note(t!("Gradients of eight billion parameters in bf16, both directions of a link added."))
    .bars(&CARRIED, &rows, None)
}

fn three(value: f64) -> String {
    number(value, 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Li et al. 2014 (the parameter server): a server receives from and answers every worker; nccl-tests,
    /// PERFORMANCE.md: a rank of a ring sends and receives `2 (n − 1)/n`. With as many servers as workers each
    /// carries two tensors, and a ring of two ranks the same.
    #[test]
    fn servers_as_many_as_workers_carry_what_workers_do() {
        assert_eq!(carried(64, 1), [128.0, 3.9375]);
        assert_eq!(carried(64, 64)[0], 2.0);
        assert_eq!(carried(2, 2), [2.0, 2.0]);
        // More servers than workers leave the workers' own links the busiest.
        assert_eq!(carried(2, 8)[0], 2.0);
    }
}
