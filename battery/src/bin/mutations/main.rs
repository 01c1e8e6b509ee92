//! Takes out each safeguard in turn, in a copy of the tree, and shows which test notices.
//! `battery-mutations [WORD…]` tries those whose name or file has one of the words; without words, all.
//! `scripts/mutations` builds it and starts a server for the tests.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

mod scratch;
mod tests;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use battery::Result;
use battery::mutations::{Mutation, mutations};

use crate::scratch::Scratch;
use crate::tests::{Answer, baseline, run};

fn main() -> ExitCode {
    match try_all() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(count) => {
            eprintln!("\n{count} not noticed: each needs a test, or is no safeguard");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("mutations: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Answers how many were not noticed.
fn try_all() -> Result<usize> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the crate has a parent")?;
    let chosen = chosen(std::env::args().skip(1).collect());
    if chosen.is_empty() {
        return Err("no safeguard has one of these words in its name or file".into());
    }
    let scratch = Scratch::copy_of(root)?;
    println!("{} safeguards; first their tests as they are, in {}", chosen.len(), scratch.place());
    let started = Instant::now();
    baseline(&scratch, &chosen)?;
    println!("passed after {} s\n", started.elapsed().as_secs());
    println!("| safeguard taken out | noticed by | after |\n|---|---|---|");
    let mut not_noticed = 0;
    for mutation in &chosen {
        let started = Instant::now();
        let answer = scratch.without(mutation, || run(&scratch, &[mutation.noticed_by]))?;
        let noticed = match &answer {
            Answer::Failed(tests) => {
                tests.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            }
            Answer::Passed => "**nothing**".to_owned(),
            Answer::Broken(why) => format!("**nothing was run**: {why}"),
        };
        not_noticed += usize::from(!matches!(answer, Answer::Failed(_)));
        println!("| {} | {noticed} | {} s |", mutation.safeguard, started.elapsed().as_secs());
    }
    println!("\n{} of {} noticed", chosen.len() - not_noticed, chosen.len());
    Ok(not_noticed)
}

fn chosen(words: Vec<String>) -> Vec<Mutation> {
    let has = |mutation: &Mutation, word: &String| {
        mutation.safeguard.contains(word.as_str()) || mutation.file.contains(word.as_str())
    };
    let is_chosen =
        |mutation: &Mutation| words.is_empty() || words.iter().any(|word| has(mutation, word));
    mutations().into_iter().filter(is_chosen).collect()
}
