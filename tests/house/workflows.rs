//! The commands of the workflows, run one by one as the forge runs them: in a copy of the files that they need, where
//! stand-ins take the place of what takes long (make, the compiler's installer) or needs the forge (gh).

use shardscope::core::run::Value;
use shardscope::io::dialect::text::yaml;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn list(value: Option<&Value>) -> Vec<Value> {
    match value {
        Some(Value::List(items)) => items.clone(),
        Some(Value::Map(entries)) => entries.iter().map(|(_, value)| value.clone()).collect(),
        _ => Vec::new(),
    }
}

/// The commands of a workflow's steps, in order.
fn commands(workflow: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(".github/workflows").join(workflow)).unwrap();
    let steps = list(yaml::read(&text).unwrap().get("jobs")).into_iter().flat_map(|job| list(job.get("steps")));
    steps.filter_map(|step| step.get("run")?.text().map(str::to_owned)).collect()
}

/// A folder with the project's tools, a site that was built, and the stand-ins first on its path.
struct Forge {
    folder: PathBuf,
}

/// Writes the lines that it is called with into `called`; `gh release` also answers, and brings the archive of a
/// release as `tools/packages` names it.
const GH: &str = r#"echo "gh $*" >>called
case "$*" in
'release list'*) printf '%s\n' v0.9.0 v0.8.0 ;;
'release view v0.9.0'*) printf '%s\n' SHA256SUMS shardscope-site-0.9.0.tar.gz ;;
'release view v0.8.0'*) echo notes.txt ;;
'release download v0.9.0'*)
    site=$(mktemp -d)
    echo 'the page of 0.9.0' >"$site/index.html"
    (cd "$site" && sha256sum index.html >SHA256SUMS)
    archive=shardscope-site-0.9.0.tar.gz
    tar -C "$site" -czf "target/sites/$archive" .
    (cd target/sites && sha256sum "$archive" >"$archive.sha256") ;;
'release create'*)
    for file; do
        case $file in target/*) test -f "$file" ;; esac
    done ;;
*) exit 1 ;;
esac"#;

/// `make release` leaves what the release's next steps take.
const MAKE: &str = r#"echo "make $*" >>called
if [ "$*" = release ]; then
    mkdir -p target/release-dry/packages
    echo notes >target/release-dry/NOTES.md
    echo package >target/release-dry/packages/shardscope.tgz
fi"#;

impl Forge {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("shardscope-{name}-{}", std::process::id()));
        let forge = Self { folder };
        for inner in ["bin", "tools", "dist", "target"] {
            fs::create_dir_all(forge.folder.join(inner)).unwrap();
        }
        for file in ["tools/site", "tools/toolchain", "tools/version", "Cargo.toml"] {
            fs::copy(root().join(file), forge.folder.join(file)).unwrap();
        }
        fs::write(forge.folder.join("dist/index.html"), "the page of main").unwrap();
        let rust = r#"echo "rustup $*" >>called"#;
        for (name, text) in [("gh", GH), ("make", MAKE), ("rustup", rust), ("cargo", "echo cargo")] {
            let path = forge.folder.join("bin").join(name);
            fs::write(&path, format!("#!/usr/bin/env bash\nset -euo pipefail\n{text}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        forge
    }

    /// Runs a command as the forge does: with its own shell and its options.
    fn run(&self, command: &str) {
        let path = format!("{}:{}", self.folder.join("bin").display(), std::env::var("PATH").unwrap_or_default());
        let tag = format!("v{}", env!("CARGO_PKG_VERSION"));
        let output = Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", command])
            .current_dir(&self.folder)
            .envs([("PATH", path), ("GITHUB_REF_NAME", tag)])
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// What the stand-ins were called with, a line each.
    fn called(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("called")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Forge {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

#[test]
fn commands_of_the_test_run_from_a_clone() {
    let forge = Forge::new("test");
    for command in commands("test.yml") {
        forge.run(&command);
    }
    let called = forge.called();
    assert!(called[0].starts_with("rustup --quiet toolchain install "), "{called:?}");
    assert_eq!(called.last().map(String::as_str), Some("make test"));
}

#[test]
fn commands_of_a_release_end_with_the_tested_packages_and_their_notes() {
    let forge = Forge::new("release");
    for command in commands("release.yml") {
        forge.run(&command);
    }
    let called = forge.called();
    let made: Vec<&String> = called.iter().filter(|line| !line.starts_with("rustup ")).collect();
    let version = env!("CARGO_PKG_VERSION");
    let create = format!(
        "gh release create v{version} --verify-tag --title Shardscope {version} --notes-file \
            target/release-dry/NOTES.md target/release-dry/packages/shardscope.tgz"
    );
    assert_eq!(made, ["make test", "make release", &create]);
}

#[test]
fn commands_of_the_pages_put_main_at_the_root_and_a_release_below_its_version() {
    let forge = Forge::new("pages");
    for command in commands("pages.yml") {
        forge.run(&command);
    }
    let page = |path: &str| fs::read_to_string(forge.folder.join("target/pages").join(path)).unwrap();
    assert_eq!(page("index.html"), "the page of main");
    assert_eq!(page("release/0.9.0/index.html").trim_end(), "the page of 0.9.0");
}

/// "Events triggered by the `GITHUB_TOKEN` will not create a new workflow run" (GitHub's documentation, "Use
/// `GITHUB_TOKEN` for authentication in workflows"): a release that release.yml publishes is no event for pages.yml,
/// the end of that workflow is.
#[test]
fn the_pages_follow_the_workflow_that_makes_a_release() {
    let read = |file: &str| {
        let text = fs::read_to_string(root().join(".github/workflows").join(file)).unwrap();
        yaml::read(&text).unwrap()
    };
    let (release, pages) = (read("release.yml"), read("pages.yml"));
    let followed = pages.get("on").and_then(|events| events.get("workflow_run")).unwrap();
    let names = list(followed.get("workflows"));
    let names: Vec<&str> = names.iter().filter_map(Value::text).collect();
    assert_eq!(names, [release.get("name").and_then(Value::text).unwrap()]);
    // A run that failed has published nothing.
    let condition = pages.get("jobs").and_then(|jobs| jobs.get("build")?.get("if")?.text()).unwrap();
    assert!(condition.contains("workflow_run.conclusion == 'success'"), "{condition}");
}

#[test]
fn a_tag_that_is_not_the_version_ends_the_release() {
    let forge = Forge::new("tag");
    let commands = commands("release.yml");
    let check = commands.iter().find(|command| command.contains("GITHUB_REF_NAME\" =")).unwrap();
    let succeeds = |tag: &str| {
        let run =
            Command::new("bash").args(["-ec", check]).current_dir(&forge.folder).env("GITHUB_REF_NAME", tag).status();
        run.unwrap().success()
    };
    assert!(succeeds(concat!("v", env!("CARGO_PKG_VERSION"))) && !succeeds("v0.0.0"));
}
