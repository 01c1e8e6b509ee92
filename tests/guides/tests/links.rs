//! Every link from one document to another leads somewhere.

#![expect(clippy::unwrap_used, reason = "a test, also where its functions are no `#[test]`")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let documents = documents(&root);
    let mut broken = Vec::new();
    let mut checked = 0;
    for (path, text) in &documents {
        for link in links(text) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => Ok(path.clone()),
                file => path.parent().unwrap().join(file).canonicalize(),
            };
            let is_there = target.is_ok_and(|target| match documents.get(&target) {
                Some(text) if !heading.is_empty() => anchors(text).contains(&heading.to_owned()),
                _ => heading.is_empty(),
            });
            checked += 1;
            if !is_there {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
    assert!(checked > 2, "only {checked} links found");
}

#[test]
fn a_heading_is_linked_as_github_does() {
    let text = "# `build()` checks: what?\n```sh\n# no heading\n```\n## One_two – three\n## One_two – three\n";
    assert_eq!(anchors(text), ["build-checks-what", "one_two--three", "one_two--three-1"]);
    assert_eq!(links("[a](b.md#c) [d](https://e.f)\n[`g`][h]\n\n[h]: i.md\n"), ["b.md#c", "i.md"]);
    assert!(links("```\n[a](b.md)\n```\n`[a](c.md)`").is_empty());
}

/// The documents for people, by their whole path.
fn documents(root: &Path) -> BTreeMap<PathBuf, String> {
    let folders = ["", "docs", "docs/decisions"].map(|folder| root.join(folder));
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = files.map(|file| file.unwrap().path());
    let guides = paths.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    guides.map(|path| (path.clone(), fs::read_to_string(&path).unwrap())).collect()
}

/// The lines that are prose, without what stands in backticks.
fn prose(text: &str) -> Vec<String> {
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_fence && !is_code
    });
    lines.map(str::to_owned).collect()
}

/// Where the links of a document lead, apart from those into the web.
fn links(text: &str) -> Vec<&str> {
    let mut links = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            let outside = line.split('`').step_by(2);
            let inline = outside.flat_map(|part| part.split("](").skip(1));
            links.extend(inline.filter_map(|rest| rest.split([')', ' ']).next()));
            let reference = line.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
            links.extend(reference.and_then(|(_, to)| to.split(' ').next()));
        }
    }
    links.retain(|link| !link.contains("://") && !link.starts_with("mailto:"));
    links
}

/// The anchors GitHub gives a document's headings.
fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for line in prose(text) {
        let Some(heading) = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#')) else {
            continue;
        };
        let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = kept.collect::<String>().to_lowercase().replace(' ', "-");
        let same = |known: &&String| {
            known.strip_prefix(anchor.as_str()).is_some_and(|rest| {
                rest.is_empty() || rest.strip_prefix('-').is_some_and(|n| n.parse::<u32>().is_ok())
            })
        };
        match anchors.iter().filter(same).count() {
            0 => anchors.push(anchor),
            before => anchors.push(format!("{anchor}-{before}")),
        }
    }
    anchors
}
