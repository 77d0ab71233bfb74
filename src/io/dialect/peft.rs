//! PEFT's `adapter_config.json`: an adapter and the model that it is beside; the rest is the page's.
//!
//! Source: huggingface/peft, `src/peft/tuners/lora/config.py`: names and defaults.

use super::deepspeed;
use super::tuning::{self, LowRank};
use crate::dialect::rows::hub;
use crate::dialect::rows::prelude::*;

pub(crate) static DIALECT: Dialect = Dialect {
    id: "peft",
    name: "PEFT",
    file: "adapter_config.json",
    entries: |text| deepspeed::entries(text.text),
    keys: &[],
    told: |_| None,
    silent: "hf-trainer",
    read,
    write,
    print: deepspeed::print,
};

/// True if an object is a file of PEFT.
pub(crate) fn knows(object: &Value) -> bool {
    ["peft_type", "base_model_name_or_path"].iter().any(|sign| object.get(sign).is_some())
}

fn read(reader: &mut SettingsReader) {
    let name = hub::read(reader, "base_model_name_or_path");
    let kind = reader.word("peft_type", "adapters");
    let rank = reader.count("r", "rank of the adapters");
    let targets = tuning::targets(reader, "target_modules");
    let saved = tuning::saved(reader, "modules_to_save");
    let dora = reader.flag("use_dora", "DoRA");
    match kind.as_deref() {
        Some("LORA") => {}
        Some(other) => {
            reader.leave("peft_type");
            reader.assume(t!("adapters, as on this page: {other} is not known", other = other.to_owned()));
            return;
        }
        None => {
            reader.run.adapter = AdapterParts::default();
            return;
        }
    }
    // The file does not say how the base is stored; the names of quantised copies do.
    let named = name.as_deref().and_then(tuning::stored_as);
    let base = named.or_else(|| reader.run.adapter.method.and(stored(reader)));
    reader
        .assume("the batch, the sequence and how the base is stored, as on this page: the file has the adapter alone");
    LowRank { rank, dora, base, targets, saved }.take(reader);
    // A frozen base has 16 bits and no states.
    let adapted = &reader.run.precision;
    if adapted.resolve().is_ok_and(|bytes| bytes.weights > 2.0) {
        reader.precision("bf16");
    }
}

/// Format in which the Run's own adapters store their base.
fn stored(reader: &SettingsReader) -> Option<BaseFormat> {
    let adapter = &reader.run.adapter;
    let of_qlora = (adapter.method == Some(AdapterMethod::Qlora)).then_some(BaseFormat::Nf4Double);
    adapter.base.or(of_qlora)
}

fn write(s: &Scenario, writer: &mut SettingsWriter) {
    hub::write(writer, "base_model_name_or_path", &s.run.model);
    if let Some(adapter) = &s.adapter {
        writer.say("peft_type", "LORA");
        writer.say("r", adapter.rank);
        tuning::write_linears(writer, "target_modules", adapter);
        tuning::write_saved(writer, "modules_to_save", adapter);
        writer.say("use_dora", adapter.method == AdapterMethod::Dora);
    }
}
