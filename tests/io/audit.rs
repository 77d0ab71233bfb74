//! Launch scripts of the programs' own repositories, read by a person setting by setting: the import means the same, or
//! names what it does not read.

use shardscope::core::run::Run;
use shardscope::core::run::registry::field;
use shardscope::io::import::read;

const SCRIPTS: &str = include_str!("../data/launch_audit.txt");

#[derive(Default)]
struct Script {
    /// Repository, commit and path.
    source: String,
    command: String,
    /// `key=value` with blanks between, or `refused`.
    says: String,
    named: String,
}

fn scripts() -> Vec<Script> {
    let mut all: Vec<Script> = Vec::new();
    let mut part = "";
    for line in SCRIPTS.lines().filter(|line| !line.starts_with("# ")) {
        match line.strip_prefix("### ") {
            Some(name @ ("says" | "named" | "found")) => part = name,
            Some(source) => {
                part = "command";
                all.push(Script { source: source.to_owned(), ..Script::default() });
            }
            None => {
                let Some(script) = all.last_mut() else { continue };
                let text = match part {
                    "command" => &mut script.command,
                    "says" => &mut script.says,
                    "named" => &mut script.named,
                    _ => continue,
                };
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    all
}

#[test]
fn scripts_of_public_repositories_mean_what_a_person_reads_in_them() {
    let all = scripts();
    assert!(all.len() >= 30, "{}", all.len());
    let (mut wrong, mut right, mut named, mut refused) = (Vec::new(), 0, 0, 0);
    for script in &all {
        let read = match read(&script.command, &Run::default()) {
            Ok(read) => read,
            Err(_) if script.says.trim() == "refused" => {
                refused += 1;
                continue;
            }
            Err(issues) => {
                wrong.push(format!("{}: refused: {issues:?}", script.source));
                continue;
            }
        };
        let run = read.run.resolved();
        for setting in script.says.split_whitespace() {
            let Some((key, value)) = setting.split_once('=') else {
                wrong.push(format!("{}: read, and should be refused", script.source));
                continue;
            };
            let field = field(key).unwrap_or_else(|| panic!("{key}"));
            let said = field.text(&run).unwrap_or_default();
            if said == value {
                right += 1;
            } else {
                wrong.push(format!("{}: {setting}, read as {said}", script.source));
            }
        }
        for name in script.named.split_whitespace() {
            if read.unread.iter().any(|one| one.name == name) {
                named += 1;
            } else {
                wrong.push(format!("{}: {name} is not named", script.source));
            }
        }
    }
    println!("audit: {} scripts, {right} settings right, {named} named, {refused} scripts refused", all.len());
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
