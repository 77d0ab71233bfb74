//! Needs of adapters: a method, linears that the model has, a base that can be quantised.

use super::Check;
use crate::issue::Issue;
use crate::model::{Target, linears};
use crate::run::registry::first_set;
use crate::run::{AdapterParts, BaseFormat, Format, Method, OneOf, Precision};
use crate::t;

impl Check<'_> {
    pub fn adapter(&mut self, precision: Precision) {
        let run = self.run;
        let Some(adapter) = run.adapter.resolve(&run.software(), precision) else {
            if run.adapter != AdapterParts::default()
                && let Some(field) = first_set(run, "adapter")
            {
                let message = t!("{field} says nothing without a method of adapters", field = field.label);
                self.refuse("adapter.method", message, "lora");
            }
            return;
        };
        let has = |target: &Target| {
            let kinds = self.model.all_kinds();
            kinds.iter().any(|(kind, _)| {
                let list = linears(self.model, *kind);
                list.iter().any(|linear| linear.target == *target)
            })
        };
        if run.adapter.targets.is_some() {
            let (present, missing): (Vec<Target>, Vec<Target>) = adapter.targets.iter().partition(|target| has(target));
            if let Some(first) = missing.first() {
                let ids: Vec<&str> = present.iter().map(|target| target.id()).collect();
                self.refuse("adapter.targets", t!("the model has no linear {name}", name = first.id()), ids.join(","));
            }
        } else if !adapter.targets.iter().any(has) {
            self.error("adapter.method", "no linear of this model has a name that adapters know; train everything");
        }
        let quantised = adapter.base.is_some();
        if quantised && precision.computes == Format::Fp32 {
            self.refuse("precision", t!("products with a quantised base run in 16 bits"), "bf16");
        }
        if adapter.base == Some(BaseFormat::Int8) && run.zero == 3 && adapter.sharded {
            let message = "FSDP and ZeRO-3 shard no int8 weights: those of NF4 are stored as 16-bit numbers for it";
            self.doubt("adapter.base", message, "nf4-double");
        }
        if run.tp > 1 && run.adapter.is_uncut(precision.computes) {
            let message =
                "no published software cuts quantised linears by tensor parallelism; shard them with ZeRO-3 instead";
            let issue = Issue::warning("adapter.base", message);
            self.warnings.push(issue);
        }
        if run.memory_method != Method::Detailed {
            let message = "this method knows no adapters: it counts all parameters as trained";
            self.doubt("memory_method", message, "detailed");
        }
    }
}
