//! Makes a module of each Rust block in `docs/*.md`.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    println!("cargo::rerun-if-changed={}", docs.display());
    let mut modules = String::new();
    let mut files: Vec<_> = fs::read_dir(&docs)?.collect::<Result<_, _>>()?;
    files.sort_by_key(fs::DirEntry::path);
    for file in files {
        let path = file.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().replace('-', "_");
            for (line, block) in blocks(&fs::read_to_string(&path)?) {
                let code = in_a_function(&block);
                writeln!(modules, "mod {name}_{line} {{\nuse crate::prelude::*;\n{code}}}")?;
            }
        }
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("blocks.rs"), modules)?;
    Ok(())
}

/// The blocks that are Rust, each with the line it begins at. One that is not to be compiled is
/// no Rust block: `text` says so.
fn blocks(guide: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, line) in guide.lines().enumerate() {
        match &mut open {
            Some(_) if line.starts_with("```") => blocks.extend(open.take()),
            Some((_, block)) => {
                block.push_str(line);
                block.push('\n');
            }
            None if line.starts_with("```rust") => open = Some((index + 1, String::new())),
            None => {}
        }
    }
    blocks
}

/// Statements are put into a handler's body, where a guide leaves it out.
fn in_a_function(block: &str) -> String {
    // A recipe for the reader's own tests is compiled, and run by its reader.
    let block = &block.replace("#[test]", "#[test]\n#[ignore]");
    if !block.lines().any(|line| line.starts_with("let ")) {
        return block.to_owned();
    }
    format!(
        "async fn block(mut tx: SqliteTx<'_>, pool: sqlx::SqlitePool, url: String) -> Result<(), Anything> {{\n\
         {block}\nOk(())\n}}\n"
    )
}
