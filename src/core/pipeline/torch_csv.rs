//! PyTorch's pipeline CSV (`_dump_csv`, `_load_csv` of `torch.distributed.pipelining`) as the tokens of our orders.
//!
//! One line a rank, one action a cell, an empty cell where the rank idles. PyTorch wrote two dialects: the newer has
//! `I` for the gradient of the input and `B` for the whole backward, the older `B` for the gradient of the input and
//! `BW` for the whole. They are distinguished op by op: a `B` whose weight gradient stands by itself is of the input
//! only. Actions that move data (`SEND_F`, `RECV_B`, `UNSHARD`, `REDUCE_GRAD`, ...) follow from the order and are left
//! out.

use super::op::{BadToken, Op, OpKind, OrderItem};
use super::order::{Order, parse_ranks};
use crate::sort::sort;
use std::fmt::Write;

/// Actions of PyTorch that compute nothing.
const MOVES: [&str; 7] = ["SEND_F", "RECV_F", "SEND_B", "RECV_B", "UNSHARD", "RESHARD", "REDUCE_GRAD"];

/// The order that was pasted, in the tokens of our orders: it has them already, or is PyTorch's CSV.
///
/// # Errors
/// The first cell that is neither.
pub fn to_tokens(text: &str) -> Result<String, BadToken> {
    let ranks: Vec<&str> = text
        .split(['\n', '|'])
        .map(|line| line.trim().trim_matches(','))
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let mut lines = Vec::with_capacity(ranks.len());
    for rank in ranks {
        let mut line = String::new();
        for cell in rank.split(',').map(|cell| cell.trim().trim_matches('"')) {
            if cell.is_empty() || moves(cell) {
                continue;
            }
            let comma = if line.is_empty() { "" } else { "," };
            // Writing to a String cannot fail.
            let _ = write!(line, "{comma}{}", token(cell));
        }
        lines.push(line);
    }
    let mut ranks = parse_ranks(&lines.join("\n"))?;
    whole_backwards(&mut ranks);
    let lines: Vec<String> = ranks
        .iter()
        .map(|items| {
            let tokens: Vec<String> = items.iter().map(ToString::to_string).collect();
            tokens.join(",")
        })
        .collect();
    Ok(lines.join("\n"))
}

/// The CSV that PyTorch loads (`_load_csv` of a runtime schedule, torchtitan's `pipeline_parallel_schedule_csv`), in
/// its newer dialect: `I` for the gradient of the input, `B` for the whole backward.
pub fn to_csv(order: &Order) -> String {
    let cell = |op: Op| format!("{}{}{}", op.stage, letter(op.kind), op.microbatch);
    let mut csv = String::new();
    for row in &order.ranks {
        let cells = row.iter().map(|item| match item {
            OrderItem::One(op) => cell(op),
            OrderItem::Pair(first, second) => format!("({};{})OVERLAP_F_B", cell(first), cell(second)),
        });
        csv.push_str(&cells.collect::<Vec<_>>().join(","));
        csv.push('\n');
    }
    csv
}

/// The order as a table with a header row, an op a line: `rank,position,op,stage,microbatch`, the op by its letter in
/// [`to_csv`]. Both ops of an overlapped pair have the same position.
pub fn to_table(order: &Order) -> String {
    let mut table = String::from("rank,position,op,stage,microbatch\n");
    for (rank, row) in order.ranks.iter().enumerate() {
        for (position, item) in row.iter().enumerate() {
            for op in item.ops() {
                // Writing to a String cannot fail.
                let _ = writeln!(table, "{rank},{position},{},{},{}", letter(op.kind), op.stage, op.microbatch);
            }
        }
    }
    table
}

/// The letter of an op in PyTorch's newer dialect.
fn letter(kind: OpKind) -> &'static str {
    match kind {
        OpKind::B => "I",
        OpKind::BW => "B",
        kind => kind.letters(),
    }
}

fn moves(cell: &str) -> bool {
    let name = cell.trim_matches(|c: char| c.is_ascii_digit());
    MOVES.contains(&name)
}

/// A cell as a token of our orders: `I` is `B`, an overlapped pair loses its suffix.
fn token(cell: &str) -> String {
    cell.trim_end_matches("OVERLAP_F_B").replace('I', "B")
}

/// Turns a `B` into a `BW` where the table has no weight gradient of its stage and micro-batch.
fn whole_backwards(ranks: &mut [Vec<OrderItem>]) {
    let mut weights: Vec<(u32, u32)> = ranks
        .iter()
        .flatten()
        .flat_map(|item| item.ops())
        .filter(|op| op.kind == OpKind::W)
        .map(|op| (op.stage, op.microbatch))
        .collect();
    sort(&mut weights);
    let whole = |op: Op| {
        let split = weights.binary_search(&(op.stage, op.microbatch)).is_ok();
        if op.kind == OpKind::B && !split { Op::bw(op.stage, op.microbatch) } else { op }
    };
    for item in ranks.iter_mut().flatten() {
        *item = match *item {
            OrderItem::One(op) => OrderItem::One(whole(op)),
            OrderItem::Pair(first, second) => OrderItem::Pair(whole(first), whole(second)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Durations, Spec, build, schedule};

    /// The older dialect with communication, shortened from the shape of PyTorch's own test artifact (2 ranks, 2
    /// stages).
    #[test]
    fn an_older_csv_with_sends_is_the_order_behind_it() {
        let csv = "0F0,0SEND_F0,0F1,0SEND_F1,,0RECV_B0,0BW0,0RECV_B1,0BW1\n\
                   1RECV_F0,1F0,1B0,1SEND_B0,1W0,1RECV_F1,1F1,1B1,1SEND_B1,1W1,\n";
        let tokens = "0F0,0F1,0BW0,0BW1\n1F0,1B0,1W0,1F1,1B1,1W1";
        assert_eq!(to_tokens(csv).unwrap(), tokens);
        assert_eq!(to_tokens(tokens).unwrap(), tokens, "tokens stay as they are");
    }

    #[test]
    fn a_newer_csv_has_i_for_the_input_and_b_for_all() {
        let csv = "0UNSHARD,0F0,3F0,3I0,3W0,(0F1;3B1)OVERLAP_F_B,0B0,0REDUCE_GRAD";
        assert_eq!(to_tokens(csv).unwrap(), "0F0,3F0,3B0,3W0,(0F1;3BW1),0BW0");
        assert!(to_tokens("0F0,0X1").is_err());
    }

    /// Orders that PyTorch printed, written back in its newer dialect and read again.
    #[test]
    fn pytorchs_own_orders_survive_the_way_through_its_csv() {
        for file in [
            include_str!("../../../tests/data/schedule_orders/torch_dualpipev_p3_m6_v2.csv"),
            include_str!("../../../tests/data/schedule_orders/torch_interleaved_zb1p_p4_m8_v2.csv"),
            include_str!("../../../tests/data/schedule_orders/torch_interleaved1f1b_p4_m8_v2.csv"),
            include_str!("../../../tests/data/schedule_orders/torch_zbv_p4_m7_v2.csv"),
        ] {
            let ours: Vec<&str> = file.lines().filter(|line| !line.starts_with('#')).collect();
            let ours = ours.join("\n");
            let csv = ours.replace('B', "I").replace("IW", "B").replace(')', ")OVERLAP_F_B");
            assert_ne!(csv, ours);
            assert_eq!(to_tokens(&csv).unwrap(), ours);
            let spec = Spec { order: Some(ours), ..Spec::new(schedule("custom").unwrap(), 0, 0) };
            let order = build(&spec, &Durations::unit(1)).unwrap().order;
            assert_eq!(to_csv(&order).trim_end(), csv);
        }
    }

    /// The table, its lines put side by side again by rank and position, is the file that the loader reads.
    #[test]
    fn the_table_and_the_file_are_the_same_order() {
        for (id, pp, m, chunks) in [("1f1b", 4, 8, 1), ("zb-h1", 4, 6, 1), ("dualpipev", 4, 10, 2), ("zb-v", 4, 8, 2)] {
            let spec = Spec { virtual_stages: chunks, ..Spec::new(schedule(id).unwrap(), pp, m) };
            let order = build(&spec, &Durations::unit(spec.stages())).unwrap().order;
            let table = to_table(&order);
            let mut lines = table.lines();
            assert_eq!(lines.next(), Some("rank,position,op,stage,microbatch"));
            let mut ranks: Vec<Vec<Vec<String>>> = Vec::new();
            for line in lines {
                let cells: Vec<&str> = line.split(',').collect();
                let [rank, position] = [cells[0], cells[1]].map(|cell| cell.parse::<usize>().unwrap());
                ranks.resize(ranks.len().max(rank + 1), Vec::new());
                let row = &mut ranks[rank];
                assert!(position == row.len() || position + 1 == row.len(), "{id}: {line}");
                row.resize(row.len().max(position + 1), Vec::new());
                row[position].push(format!("{}{}{}", cells[3], cells[2], cells[4]));
            }
            let cell = |ops: &Vec<String>| match &ops[..] {
                [one] => one.clone(),
                pair => format!("({})OVERLAP_F_B", pair.join(";")),
            };
            let rows = ranks.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join(",") + "\n");
            assert_eq!(rows.collect::<String>(), to_csv(&order), "{id}");
        }
    }
}
