//! `pgbench -M prepared` with the SQL that one writes by hand: the server, without any client of ours.

use std::cell::Cell;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use tempfile::NamedTempFile;
use tokio::process::Command;

use crate::bed::{Bed, Network, ROWS};
use crate::contender::Contender;
use crate::message::{CONSUMER, EVENT_TYPE};

/// As many as the machines have cores on which the figures are read.
const THREADS: usize = 2;

/// `None` where the server's installation has no pgbench.
pub(crate) fn contender(
    bed: &Bed,
    network: Network,
    workers: usize,
) -> anyhow::Result<Option<Contender>> {
    let program = bed.cluster.installation().programs().join("pgbench");
    if !program.is_file() {
        return Ok(None);
    }
    let (url, script) = (bed.url(network)?, script()?);
    // It counts transactions where a slice has less than a second: as many as it made of late.
    let rate = Cell::new(500.0 * workers as f64);
    let run = async move |time: Duration| {
        let each = (rate.get() * time.as_secs_f64() / workers as f64).ceil().max(1.0);
        let measured = run(&program, &url, script.path(), workers, each).await?;
        rate.set(measured);
        Ok(measured)
    };
    let run = std::rc::Rc::new(run);
    Ok(Some(Contender::new("pgbench", move |time| {
        let run = std::rc::Rc::clone(&run);
        async move { run(time).await }
    })))
}

/// The ids grow, as those of UUIDv7 do.
fn script() -> anyhow::Result<NamedTempFile> {
    let last = ROWS - 1;
    let mut file = NamedTempFile::new()?;
    write!(
        file,
        "\\set i :i + 1
\\set sku random(0, {last})
BEGIN;
INSERT INTO hand (consumer, message_id, event_type) VALUES ('{CONSUMER}', \
lpad(to_hex(:i::bigint * 1000 + :client_id), 32, '0')::uuid, '{EVENT_TYPE}') ON CONFLICT DO NOTHING;
UPDATE stock SET reserved = reserved + 1 WHERE sku = :sku;
COMMIT;
"
    )?;
    Ok(file)
}

/// Transactions a second, without the time to connect.
async fn run(
    program: &Path,
    url: &str,
    script: &Path,
    workers: usize,
    transactions: f64,
) -> anyhow::Result<f64> {
    // No other slice's ids begin there: nobody makes a transaction in a microsecond.
    let first = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros();
    let output = Command::new(program)
        .args(["--no-vacuum", "--protocol=prepared", "-c", &workers.to_string()])
        .args(["-j", &workers.min(THREADS).to_string(), "-t", &transactions.to_string()])
        .args(["-D", &format!("i={first}"), "-f"])
        .arg(script)
        .arg(url)
        .output()
        .await?;
    let text = String::from_utf8_lossy(&output.stdout);
    let rate = text.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next());
    let rate = rate.with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    Ok(rate.parse()?)
}
