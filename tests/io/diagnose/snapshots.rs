//! Memory snapshots as Python's pickle and as JSON: `tests/data/traces/snapshot.py` makes both, and prints the peaks.

use super::bytes;
use shardscope::core::run::Run;
use shardscope::io::evidence::{EvidenceFile, EvidenceReader, read};
use shardscope::io::logs::Reading;

fn reading(name: &str) -> Reading {
    match read(&bytes(name), &Run::default()) {
        Ok(EvidenceFile::Log(reading, ..)) => *reading,
        Ok(_) => panic!("{name} is no snapshot"),
        Err(issues) => panic!("{name}: {issues:?}"),
    }
}

/// Bytes that the script prints: most allocated, reserved; at that moment of loading, forward, backward, optimizer.
const PRINTED: [(&str, [f64; 6]); 2] = [
    ("two", [133_589_504.0, 1_073_741_824.0, 34_422_272.0, 26_061_312.0, 22_917_632.0, 50_188_288.0]),
    ("one", [24_825_856.0, 1_073_741_824.0, 8_052_736.0, 2_002_944.0, 9_326_080.0, 5_444_096.0]),
];

#[test]
fn a_snapshot_as_a_pickle_has_the_peaks_that_python_counts() {
    for (name, [allocated, reserved, places @ ..]) in PRINTED {
        let ending = if name == "one" { "pickle" } else { "pickle.gz" };
        let pickle = reading(&format!("snapshot_{name}.{ending}"));
        let gib = [allocated, reserved].map(|bytes| bytes / 1_073_741_824.0);
        assert_eq!(pickle.peaks.iter().map(|peak| peak.gib).collect::<Vec<_>>(), gib, "{name}");
        let figures: Vec<String> = pickle.measured.iter().map(|(_, figure)| figure.to_string()).collect();
        for bytes in places {
            let gib = format!("{} GiB", shardscope::core::units::significant(bytes / 1_073_741_824.0, 3));
            assert!(figures.contains(&gib), "{name}: {gib} in {figures:?}");
        }
        assert_eq!(pickle, reading(&format!("snapshot_{name}.json.gz")), "{name}");
    }
}

/// In pieces of any length, packed and not.
#[test]
fn a_pickle_in_pieces_is_the_same() {
    for (name, sizes) in [("snapshot_two.pickle.gz", [3, 100, 4097]), ("snapshot_one.pickle", [1, 7, 1000])] {
        let (whole, file) = (reading(name), bytes(name));
        for size in sizes {
            let mut reader = EvidenceReader::default();
            for piece in file.chunks(size) {
                reader.push(piece).unwrap();
            }
            let Ok(EvidenceFile::Log(read, ..)) = reader.finish(&Run::default()) else { panic!("no snapshot") };
            assert_eq!(*read, whole, "{name} {size}");
        }
    }
}

/// Cut off anywhere: a message, or what stands before with a note.
#[test]
fn a_pickle_that_was_cut_off_says_so() {
    let file = bytes("snapshot_one.pickle");
    for length in (10..file.len()).step_by(101) {
        match read(&file[..length], &Run::default()) {
            Ok(EvidenceFile::Log(read, ..)) => {
                assert!(read.notes.iter().any(|note| note.to_string().contains("ends in the middle")), "{length}");
            }
            Ok(_) => panic!("{length}"),
            Err(issues) => assert!(issues[0].message.to_string().contains("breaks off"), "{length} {issues:?}"),
        }
    }
}
