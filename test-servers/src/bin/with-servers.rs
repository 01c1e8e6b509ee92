//! Runs a command with one server for all its processes: `with-servers cargo nextest run`.
//!
//! `INBOX_TEST_POSTGRES` and `INBOX_TEST_THROUGH` choose the server, as they do for a test process that starts its own.
//! `with-servers --list` says what was found on this machine, a line each: kind, major version, version, path.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};
use test_servers::nats::NatsServer;
use test_servers::pgbouncer::PgBouncer;
use test_servers::postgres::{Installation, Started};
use test_servers::rabbitmq::RabbitMq;
use test_servers::{Error, Result};
use tokio::signal::unix::{SignalKind, signal};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let done = match arguments.split_first() {
        None => Err("say which command to run: with-servers COMMAND [ARGUMENT…]".into()),
        Some((first, [])) if first == "--list" => {
            list();
            Ok(ExitCode::SUCCESS)
        }
        Some((program, rest)) => with_servers(program, rest),
    };
    done.unwrap_or_else(|error| {
        eprintln!("with-servers: {error}");
        ExitCode::FAILURE
    })
}

fn list() {
    for found in Installation::all() {
        println!("postgresql {} {} {}", found.major(), found.version(), found.programs().display());
    }
    let others = [("pgbouncer", PgBouncer::program()), ("nats-server", NatsServer::program())];
    for (kind, program) in others {
        if let Ok(program) = program {
            let version = version_of(&program);
            let major = version.split('.').next().unwrap_or_default();
            println!("{kind} {major} {version} {}", program.display());
        }
    }
    if let Ok(program) = RabbitMq::program() {
        let version = RabbitMq::version_at(&program).unwrap_or("unknown");
        let major = version.split('.').next().unwrap_or_default();
        println!("rabbitmq {major} {version} {}", program.display());
    }
}

/// `PgBouncer 1.18.0` and further lines; `nats-server: v2.9.10`.
fn version_of(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output();
    let text = output
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    let version = text.split_whitespace().nth(1).unwrap_or("unknown");
    version.trim_start_matches('v').to_owned()
}

fn with_servers(
    program: &OsString,
    arguments: &[OsString],
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = match env::var_os("INBOX_TEST_DATABASE_URL") {
            Some(_) => None, // the processes find it themselves
            None => Some(Started::by_environment().await?),
        };
        let rabbitmq = match env::var("INBOX_TEST_RABBITMQ").as_deref() {
            Ok("shared") if env::var_os("INBOX_TEST_AMQP_URL").is_none() => {
                Some(RabbitMq::start().await?)
            }
            _ => None,
        };
        let mut variables =
            server.as_ref().map(|started| started.server().environment()).unwrap_or_default();
        variables.extend(rabbitmq.iter().flat_map(|server| server.broker().environment()));
        let status = run(program, arguments, variables).await?;
        let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        Ok(ExitCode::from(code))
    })
}

async fn run(
    program: &OsString,
    arguments: &[OsString],
    variables: Vec<(&'static str, OsString)>,
) -> Result<ExitStatus> {
    let name = program.to_string_lossy();
    // Before the child is there, so that no signal ends us without it. A terminal sends Ctrl-C to the child as well: it
    // is the child that decides what to do, and we end when it has.
    let mut interrupted =
        signal(SignalKind::interrupt()).map_err(Error::doing("cannot wait for signals"))?;
    let mut terminated =
        signal(SignalKind::terminate()).map_err(Error::doing("cannot wait for signals"))?;
    let mut child = tokio::process::Command::new(program)
        .args(arguments)
        .envs(variables)
        .spawn()
        .map_err(Error::doing(format!("cannot run {name}")))?;
    loop {
        tokio::select! {
            status = child.wait() => return status.map_err(Error::doing(format!("cannot wait for {name}"))),
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {
                let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
                let _ = pid.map(|pid| kill_process(pid, Signal::TERM));
            }
        }
    }
}
