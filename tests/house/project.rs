//! What strangers find: workflows of the forge, forms, metadata. Each file is read, and what it names is there.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The lines of the workflows, each with its file.
fn workflows() -> Vec<(String, String)> {
    let lines = |file: &PathBuf| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(file).unwrap();
        text.lines().map(|line| (name.clone(), line.trim().to_owned())).collect::<Vec<_>>()
    };
    files(".github/workflows").iter().flat_map(lines).collect()
}

/// Words of a text that begin with `start`, without the marks of sentences around them.
fn words<'a>(text: &'a str, start: &str) -> BTreeSet<&'a str> {
    let marks = |c: char| c.is_whitespace() || "`'\"(),;|$".contains(c);
    text.split(marks).map(|word| word.trim_end_matches(['.', ':'])).filter(|word| word.starts_with(start)).collect()
}

fn targets() -> BTreeSet<String> {
    let makefile = text("Makefile");
    makefile.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn every_target_that_a_workflow_or_a_document_makes_is_one_of_the_makefile() {
    let targets = targets();
    let mut used = 0;
    let documents =
        ["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/hosting.md", ".github/pull_request_template.md"];
    let documents = documents.map(|file| (file.to_owned(), text(file)));
    for (file, line) in workflows().into_iter().chain(documents) {
        let ran = line.strip_prefix("- run: ").map_or_else(|| line.clone(), |command| format!("`{command}`"));
        for called in ran.split("`make ").skip(1) {
            let called = called.split('`').next().unwrap();
            // Names of variables, as in PORT=8080, and text within angle brackets are none.
            for target in called.split_whitespace().filter(|word| !word.contains('=')) {
                assert!(targets.contains(target), "{file}: make {target}");
                used += 1;
            }
        }
    }
    assert!(used >= 8, "{used}");
}

#[test]
fn every_tool_that_a_workflow_the_makefile_or_another_tool_runs_is_there_and_may_run() {
    let mut named = 0;
    let scripts = ["Makefile", "tools/native", "tools/packages", "tools/release", "tools/build", "tools/site"];
    let scripts = scripts.map(|file| (file.to_owned(), text(file)));
    for (file, line) in workflows().into_iter().chain(scripts) {
        let is_run = |word: &&str| !word.contains(['*', '{', '}', '[', '<']);
        for tool in words(&line, "tools/").into_iter().filter(is_run) {
            let path = root().join(tool);
            assert!(path.exists(), "{file}: {tool}");
            named += 1;
            if path.is_file() && path.extension().is_none() {
                let mode = fs::metadata(&path).unwrap().permissions().mode();
                assert!(mode & 0o111 != 0, "{file}: {tool} is no program");
            }
        }
    }
    assert!(named >= 20, "{named}");
}

/// What is missing there leaves `dist` as it was: a changed translation would not be seen.
#[test]
fn whatever_the_build_reads_makes_the_makefile_build_again() {
    let makefile = text("Makefile");
    let sources = makefile.split("SOURCES := ").nth(1).unwrap().split("\n\n").next().unwrap();
    let words_of = sources.split([' ', '\n', '\t', '(', ')']).map(|word| word.trim_end_matches("/*"));
    let named: BTreeSet<&str> = words_of.filter(|word| !word.is_empty()).collect();
    let ends = |file: &str, end: &str| Path::new(file).extension().is_some_and(|found| found == end);
    let page = text("index.html");
    let trunk = page.lines().filter(|line| line.starts_with("<link data-trunk"));
    let linked = trunk.filter_map(|line| line.split("href=\"").nth(1)?.split(['"', '/']).next());
    let build = text("tools/build");
    let mut read: BTreeSet<String> = linked.map(str::to_owned).collect();
    read.extend(words(&build, "tools/").into_iter().map(str::to_owned));
    // The hook of Trunk.toml, and what scripts load and copy.
    read.insert("tools/pkg.mjs".to_owned());
    for script in read.clone().into_iter().filter(|file| ends(file, "mjs")) {
        let script = text(&script);
        let after = |mark: &str| {
            let rest = script.split(mark).skip(1).map(|rest| rest.split('\'').next().unwrap().to_owned());
            rest.collect::<Vec<_>>()
        };
        read.extend(after("from './").into_iter().map(|file| format!("tools/{file}")));
        read.extend(after("copyFileSync(source('"));
        read.extend(after("join(ROOT, '"));
        // The documents of tools/docs.mjs.
        read.extend(after("['").into_iter().filter(|file| ends(file, "md")));
    }
    assert!(read.len() >= 30, "{read:?}");
    for file in read {
        let is_named = Path::new(&file).ancestors().any(|part| part.to_str().is_some_and(|part| named.contains(part)));
        assert!(is_named, "{file} is no source of dist in the Makefile");
    }
}

/// A fork has none, and a text of a pull request within a script would be run.
#[test]
fn workflows_need_no_secret_pin_every_step_and_run_no_text_of_a_pull_request() {
    let lines = workflows();
    let (mut steps, mut permissions) = (0, BTreeSet::new());
    for (file, line) in &lines {
        assert!(!line.contains("secrets."), "{file}: {line}");
        assert!(!line.contains("pull_request_target"), "{file}: {line}");
        if line == "permissions:" {
            permissions.insert(file);
        }
        if line.contains("${{ github.") {
            let is_known = ["github.ref }}", "github.token }}"].iter().any(|known| line.contains(known));
            assert!(is_known && !line.contains("run:"), "{file}: {line}");
        }
        let Some(step) = line.split_once("uses: ").map(|(_, step)| step) else { continue };
        let (_, commit) = step.split_once('@').unwrap_or_else(|| panic!("{file}: {step} has no commit"));
        let digits = commit.split(' ').next().unwrap();
        assert!(digits.len() == 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()), "{file}: {step}");
        // The release that the commit is of, for who raises it.
        assert!(commit.contains(" # v"), "{file}: {step}");
        steps += 1;
    }
    let all: BTreeSet<&String> = lines.iter().map(|(file, _)| file).collect();
    assert_eq!((permissions, all.len()), (all, 3));
    assert!(steps >= 9, "{steps}");
}

/// A form without a title, or with two fields of one id, is not shown.
#[test]
fn every_form_has_a_name_a_description_and_fields_of_different_ids() {
    let forms: Vec<PathBuf> =
        files(".github/ISSUE_TEMPLATE").into_iter().filter(|file| !file.ends_with("config.yml")).collect();
    assert_eq!(forms.len(), 3);
    for form in forms {
        let text = fs::read_to_string(&form).unwrap();
        for key in ["name: ", "description: ", "title: ", "body:"] {
            assert!(text.lines().any(|line| line.starts_with(key)), "{}: {key}", form.display());
        }
        let ids: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("id: ")).collect();
        let different: BTreeSet<&&str> = ids.iter().collect();
        assert!(ids.len() >= 4 && ids.len() == different.len(), "{}: {ids:?}", form.display());
        assert_eq!(ids.len(), text.matches("    attributes:").count(), "{}", form.display());
    }
}

#[test]
fn the_pairs_that_move_together_are_known_to_the_bot_that_raises_versions() {
    let (rules, trunk, packages) = (text(".github/dependabot.yml"), text("Trunk.toml"), text("package.json"));
    // The crate and the command of wasm-bindgen, and binaryen and wasm-opt, each have their version in two files.
    assert!(trunk.contains("wasm_bindgen = ") && packages.contains("\"binaryen\""));
    for name in ["wasm-bindgen", "binaryen"] {
        assert!(rules.contains(&format!("- dependency-name: {name}\n")), "{name}");
    }
}

#[test]
fn every_file_that_a_document_of_the_front_links_to_is_there() {
    for file in ["README.md", "llms.txt", "SKILL.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md"] {
        let text = text(file);
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            let path = link.split('#').next().unwrap();
            assert!(link.contains("://") || path.is_empty() || root().join(path).exists(), "{file}: {link}");
        }
    }
    assert!(text("README.md").lines().count() <= 120);
}

#[test]
fn the_citation_and_the_own_predictions_name_the_version_of_the_package() {
    let version = env!("CARGO_PKG_VERSION");
    let citation = text("CITATION.cff");
    assert!(citation.lines().any(|line| line == format!("version: {version}")));
    let date = citation.lines().find_map(|line| line.strip_prefix("date-released: ")).unwrap();
    assert!(text("CHANGELOG.md").lines().any(|line| line == format!("## {version} ({date})")), "{date}");
    let predictions = text("public/data/scoreboard/shardscope.jsonl");
    let head: serde_json::Value = serde_json::from_str(predictions.lines().next().unwrap()).unwrap();
    assert_eq!(head["version"], version);
}

/// `tools/packages` takes the notes of a release from there, and `## Unreleased` is where the next line goes.
#[test]
fn the_changelog_begins_with_what_is_unreleased_and_has_a_section_of_the_version_that_is_read_in_a_minute() {
    let changelog = text("CHANGELOG.md");
    let sections: Vec<&str> = changelog.split("\n## ").skip(1).collect();
    assert!(sections[0].starts_with("Unreleased\n"));
    let start = format!("{} (", env!("CARGO_PKG_VERSION"));
    let section = sections.iter().find(|section| section.starts_with(&start)).unwrap();
    assert!((3..=25).contains(&section.trim_end().lines().count()), "{section}");
    let is_date = |text: &str| text.len() == 10 && text.split('-').all(|part| part.parse::<u16>().is_ok());
    assert!(is_date(&section[start.len()..start.len() + 10]), "{section}");
}

/// RFC 9649, section 2.7: a frame is a chunk `ANMF` behind `VP8X` with the flag of animation.
#[test]
fn the_picture_of_the_front_moves_and_is_below_one_and_a_half_megabytes() {
    let bytes = fs::read(root().join("docs/tour.webp")).unwrap();
    assert!(bytes.len() < 1_500_000, "{}", bytes.len());
    assert_eq!((&bytes[..4], &bytes[8..16]), (&b"RIFF"[..], &b"WEBPVP8X"[..]));
    assert!(bytes[20] & 2 != 0);
    let (mut at, mut frames) = (12, 0);
    while let Some(head) = bytes.get(at..at + 8) {
        let size = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        frames += usize::from(head.starts_with(b"ANMF"));
        at += 8 + size + size % 2;
    }
    assert_eq!(at, bytes.len());
    assert!((3..=20).contains(&frames), "{frames}");
}

/// What stands behind the page's address in the documents of the front is understood whole, and runs.
#[test]
fn runs_of_the_front_are_understood_and_run() {
    use shardscope::core::report::evaluate;
    use shardscope::io::link::decode;
    let readme = text("README.md");
    let mut opened = 0;
    for link in readme.lines().map(str::trim).filter(|line| line.starts_with("#v=1&")) {
        let read = decode(link);
        assert!(read.notices.is_empty(), "{link}: {:?}", read.notices);
        assert!(evaluate(&read.run).is_ok(), "{link}");
        opened += 1;
    }
    assert_eq!(opened, 3);
}

/// The requests of the skill are answered without an error, as a person would send them.
#[test]
fn the_worked_requests_of_the_skill_are_answered() {
    use shardscope::io::request::{Verb, answer};
    let skill = text("SKILL.md");
    let mut asked = 0;
    for line in skill.lines().filter_map(|line| line.trim().strip_prefix("echo '")) {
        let (request, verb) = line.split_once("' | shardscope ").unwrap();
        let verb = Verb::ALL.into_iter().find(|known| known.name() == verb).unwrap();
        let answered = answer(verb, request).unwrap_or_else(|errors| panic!("{line}: {errors:?}"));
        let answered = serde_json::to_value(answered).unwrap();
        // A plan without a layout that fits and runs in the software would tell an assistant that there is none.
        assert!(verb != Verb::Plan || answered["fastest"].is_u64(), "{line}");
        asked += 1;
    }
    assert_eq!(asked, 4);
}
