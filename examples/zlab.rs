#![allow(missing_docs)]
#[path = "../tests/common/mod.rs"]
mod common;
use common::*;
use shardscope::core::accuracy::Measured;
use shardscope::core::run::*;
use shardscope::core::time::Clock;
fn main() {
    for file in ["fujii_measured.csv", "throughput.csv"] {
        for row in evidence(file) {
            let Measured::Step(measured) = row.measured else {
                continue;
            };
            let sc = Scenario::new(&row.run).unwrap();
            let e = estimate(&sc);
            let clock = Clock::new(&sc);
            let m = sc.layout.microbatches as f64;
            let p = sc.layout.pp as f64;
            let (mut lin, mut core, mut ew, mut host, mut rec) = (0.0, 0.0, 0.0, 0.0, 0.0);
            let (mut tp, mut cp, mut ep, mut z3, mut gr) = (0.0, 0.0, 0.0, 0.0, 0.0);
            for stage in 0..sc.stage_layers.len() {
                let t = clock.stage(&sc, stage);
                lin += t.linear.0;
                core += t.attention.0;
                host += t.host.0;
                rec += t.recompute.0;
                ew += t.total().0;
                let w = &e.waits[stage];
                tp += w.tp.exposed().0;
                cp += w.cp.exposed().0;
                ep += w.ep.exposed().0;
                z3 += w.zero3.exposed().0;
                gr += w.gradients.exposed().0;
            }
            let rest = ew - lin - core - host - rec;
            let total: f64 = ew + tp + cp + ep + z3 + gr;
            // ms a layer and micro-batch
            let l = 1000.0 / sc.model.layers as f64;
            let per = |x: f64| x * l;
            let step = |x: f64| x / m * p * l;
            println!(
                "{}\t{}\t{}\t{}\t{:.3}\tmeasured {:.2} ours {:.2}: lin {:.2} core {:.2} ew {:.2} host {:.2} rec {:.2} tp {:.2} cp {:.2} ep {:.2} z3 {:.2} gr {:.2} sync {:.2} rest {:.2} | b {} m {} vpp {} {:?}",
                row.source().name,
                row.run.stack.base.unwrap_or(""),
                row.run.precision.base.unwrap_or(""),
                row.label,
                e.seconds / measured,
                step(measured),
                step(e.seconds),
                per(lin),
                per(core),
                per(rest),
                per(host),
                per(rec),
                per(tp),
                per(cp),
                per(ep),
                per(z3),
                per(gr),
                step(e.exposed_sync),
                step(e.seconds - e.exposed_sync) - per(total),
                row.run.micro_batch,
                m,
                sc.stage_layers.len() as f64 / p,
                row.run.recompute,
            );
        }
    }
}
