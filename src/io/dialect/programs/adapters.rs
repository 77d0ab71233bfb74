//! Adapters in the settings of programs: `peft.kind`, `peft.rank`, `peft.targets`, `peft.bits`, `peft.base`.

use crate::io::dialect::prelude::*;
use crate::io::dialect::tuning::{self, LowRank};

/// Takes them; without a kind everything is trained.
pub(crate) fn take(reader: &mut SettingsReader) {
    reader.run.adapter = AdapterParts::default();
    let kind = reader.word("peft.kind", "fine-tuning").unwrap_or_default();
    let rank = reader.count("peft.rank", "rank of the adapters");
    let bits = reader.count("peft.bits", "bits of the base");
    let base = reader.word("peft.base", "format of the base").and_then(|id| BaseFormat::from_id(&id));
    let targets = tuning::targets(reader, "peft.targets");
    let dora = kind.contains("dora");
    if kind.contains("lora") || dora {
        let base = match bits {
            Some(4) => Some(BaseFormat::Nf4Double),
            Some(8) => Some(BaseFormat::Int8),
            _ => base,
        };
        LowRank { rank, dora, base, targets, saved: None }.take(reader);
    }
}
