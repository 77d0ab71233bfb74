//! Packages of others that the calculator is built from: known licences, one registry, exact versions, and not ever
//! more.
//!
//! Reads what cargo and npm have locked; `make deny` checks the same with cargo-deny, and the advisories.

use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// Crates that the page is made of, macros and what they need included. Set anew when one module
/// replaced two, and TOML, YAML and the worker's messages got libraries in place of our own code; raised on purpose
/// only.
const MAX_CRATES: usize = 190;

fn root(file: &str) -> String {
    fs::read_to_string(format!("{}/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The licences of deny.toml.
fn allowed() -> BTreeSet<String> {
    let text = root("deny.toml");
    let list = text.split_once("\nallow = [").unwrap().1;
    let list = list.split_once(']').unwrap().0;
    list.split(',').map(|id| id.trim().trim_matches('"').to_owned()).collect()
}

/// True where an expression such as `(MIT OR Apache-2.0) AND Unicode-3.0` can be met with what is allowed.
fn may(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let clean = expression.replace(['(', ')'], "").replace('/', " OR ");
    clean.split(" AND ").all(|part| part.split(" OR ").any(|id| allowed.contains(id.trim())))
}

fn metadata() -> Json {
    let arguments = ["metadata", "--locked", "--offline", "--format-version", "1", "--features", "ui"];
    let platform = ["--filter-platform", "wasm32-unknown-unknown"];
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(platform)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    if output.status.success() {
        return serde_json::from_slice(&output.stdout).unwrap();
    }
    // Without the page's packages at hand (a machine that only runs the native tests) the lock file is all there is.
    let said = String::from_utf8_lossy(&output.stderr);
    let missing = ["failed to download", "unable to update", "--offline"];
    assert!(missing.iter().any(|words| said.contains(words)), "{said}");
    Json::Null
}

#[test]
fn every_crate_has_a_licence_that_is_allowed() {
    let (all, allowed) = (metadata(), allowed());
    let Some(packages) = all["packages"].as_array() else {
        println!("dependencies: the page's crates are not here; their licences were not read");
        return;
    };
    for package in packages {
        let licence = package["license"].as_str().unwrap_or("none");
        assert!(may(licence, &allowed), "{}: {licence} is not in deny.toml", package["name"]);
    }
    let nodes = all["resolve"]["nodes"].as_array().unwrap();
    let mut linked = BTreeSet::new();
    let mut next = vec![all["resolve"]["root"].as_str().unwrap()];
    while let Some(id) = next.pop() {
        if !linked.insert(id) {
            continue;
        }
        let node = nodes.iter().find(|node| node["id"] == id).unwrap();
        for dep in node["deps"].as_array().unwrap() {
            let mut kinds = dep["dep_kinds"].as_array().unwrap().iter();
            if kinds.any(|kind| kind["kind"].is_null()) {
                next.push(dep["pkg"].as_str().unwrap());
            }
        }
    }
    let crates = linked.iter().filter(|id| id.contains("registry")).count();
    println!(
        "dependencies: the page is built from {crates} crates, all in all {} are locked",
        root("Cargo.lock").matches("[[package]]").count() - 1
    );
    assert!(crates <= MAX_CRATES, "{crates} crates, {MAX_CRATES} are meant");
}

#[test]
fn every_crate_comes_from_one_registry_with_a_checksum() {
    let lock = root("Cargo.lock");
    let mut registries = BTreeSet::new();
    for package in lock.split("[[package]]").skip(1) {
        let name = package.lines().nth(1).unwrap();
        if name.starts_with("name = \"shardscope") {
            continue;
        }
        let source = package.lines().find_map(|line| line.strip_prefix("source = "));
        let source = source.unwrap_or_else(|| panic!("{name} comes from a folder"));
        assert!(source.starts_with("\"registry+"), "{name}: {source}");
        assert!(package.contains("\nchecksum = "), "{name} has no checksum");
        registries.insert(source);
    }
    assert_eq!(registries.len(), 1, "{registries:?}");
}

/// npm's packages build and test the page; none is shipped, none may run a script when it is installed.
#[test]
fn npms_packages_are_few_exact_and_harmless() {
    let lock: Json = serde_json::from_str(&root("package-lock.json")).unwrap();
    let allowed = allowed();
    let packages = lock["packages"].as_object().unwrap();
    for (path, package) in packages.iter().filter(|(path, _)| !path.is_empty()) {
        assert!(package["integrity"].is_string(), "{path} has no checksum");
        assert!(package["hasInstallScript"] != true, "{path} runs a script");
        let licence = package["license"].as_str().unwrap();
        // axe-core is MPL-2.0, those below the SDK are BSD and ISC: tools of the tests, unchanged here.
        let is_of_tests = ["MPL-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC"].contains(&licence);
        assert!(is_of_tests || may(licence, &allowed), "{path}: {licence}");
    }
    println!("dependencies: {} npm packages", packages.len() - 1);
    // Five are named; the rest are those of the SDK whose client tests the server of `shardscope mcp`.
    let named = packages[""]["devDependencies"].as_object().unwrap();
    assert!(named.len() <= 5 && packages.len() <= 110, "{} named, {} in all", named.len(), packages.len());
}
