//! Files that a worker has read and sent to the page: what is found of them there is what is found of the files.

use super::{TRACES, bytes};
use shardscope::core::diagnose::Diagnosis;
use shardscope::core::issue::Issue;
use shardscope::core::run::Run;
use shardscope::io::evidence::{EvidenceAnswer, EvidenceFile, SentAnswer, SentFile, answer, diagnose, read};
use shardscope::web::worker::job::{from_bytes, to_bytes};

type ReadFile = Result<EvidenceFile, Vec<Issue>>;

fn sent(file: &[u8], run: &Run) -> ReadFile {
    from_bytes::<SentFile>(&to_bytes(&SentFile::from(read(file, run)))).unwrap().into()
}

fn found(file: &ReadFile, run: &Run) -> Result<Diagnosis, Vec<Issue>> {
    diagnose(&[file], run)
}

#[test]
fn a_file_that_was_sent_is_diagnosed_like_the_file() {
    let run = Run { gpus: 8, tp: 1, pp: 1, global_batch: 64, ..Run::default() };
    let mut files: Vec<(String, Vec<u8>)> = TRACES
        .iter()
        .map(|name| (*name).to_owned())
        .map(|name| {
            let file = bytes(&format!("{name}.json.gz"));
            (name, file)
        })
        .collect();
    for name in [
        "bytedance_AR.json.gz",
        "no_gpu_kernels.json.gz",
        "primus_pp8.json.gz",
        "rocprofv3_results.json.gz",
        "tracelens_llama70b_fsdp_nccl_summary_long.csv",
    ] {
        files.push((name.to_owned(), bytes(name)));
    }
    let messages = String::from_utf8(bytes("oom_messages.txt")).unwrap();
    files.extend(messages.split("====").enumerate().map(|(at, text)| (format!("message {at}"), text.into())));
    let line = |step: u64| {
        format!(
            " iteration {step:8}/ 100 | consumed samples: {} | elapsed time per iteration (ms): 5400.3 | throughput per \
             GPU (TFLOP/s/GPU): 420.0 | global batch size: 64 | MA 5.4 GB CA 8.1 GB\n",
            64 * step
        )
    };
    files.push(("log".to_owned(), (1..40).map(line).collect::<String>().into_bytes()));
    files.push(("nothing".to_owned(), b"to be or not to be".to_vec()));
    for (name, file) in files {
        assert_eq!(found(&sent(&file, &run), &run), found(&read(&file, &run), &run), "{name}");
    }
}

/// The answer of a worker arrives whole: diagnosis and timeline of one rank, of several, of a job, of messages.
#[test]
fn an_answer_that_was_sent_is_the_answer() {
    let run = Run { gpus: 8, tp: 1, pp: 1, global_batch: 64, ..Run::default() };
    let messages = String::from_utf8(bytes("oom_messages.txt")).unwrap();
    let steps: Vec<String> = (1..40).map(|step| format!("step {step} MA {step}.0 GB CA {}.0 GB\n", step + 2)).collect();
    let mut sets: Vec<Vec<Vec<u8>>> = TRACES.iter().map(|name| vec![bytes(&format!("{name}.json.gz"))]).collect();
    sets.push(vec![bytes("hta_rec_rank0of128.json.gz"), bytes("hta_rec_rank1of128.json.gz")]);
    sets.push(vec![bytes("bytedance_AR.json.gz")]);
    sets.push(vec![bytes("primus_pp8.json.gz")]);
    sets.push(vec![bytes("tracelens_llama70b_fsdp_nccl_summary_long.csv")]);
    sets.push(vec![bytes("no_gpu_kernels.json.gz")]);
    sets.push(vec![steps.concat().into_bytes()]);
    sets.extend(messages.split("====").map(|text| vec![text.as_bytes().to_vec()]));
    for set in sets {
        let files: Vec<ReadFile> = set.iter().map(|file| read(file, &run)).collect();
        let files: Vec<&ReadFile> = files.iter().collect();
        let there = answer(&files, &run);
        let lanes = there.lanes.clone();
        let here = EvidenceAnswer::from(from_bytes::<SentAnswer>(&to_bytes(&SentAnswer::from(there))).unwrap());
        // What is sent has no trace of which field a figure is; texts and figures are the same.
        let whole = diagnose(&files, &run);
        assert_eq!(serde_json::to_value(&here.found).unwrap(), serde_json::to_value(&whole).unwrap());
        if let (Ok(found), Ok(whole)) = (here.found, whole) {
            assert_eq!((found.own, found.expected, found.made_of), (whole.own, whole.expected, whole.made_of));
        }
        assert_eq!(here.lanes, lanes);
    }
}

/// Texts of a file's issues can be translated where they are shown, so that they keep their templates.
#[test]
fn a_message_that_was_sent_keeps_its_template() {
    let run = Run::default();
    let file = bytes("no_gpu_kernels.json.gz");
    let templates = |file: ReadFile| {
        let mut all = Vec::new();
        for issue in file.err().unwrap() {
            issue.message.templates(&mut |text| all.push(text));
        }
        all
    };
    assert_eq!(templates(sent(&file, &run)), templates(read(&file, &run)));
}
