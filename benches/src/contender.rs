//! Who is compared: applies messages for a while and tells how many a second.

use std::future::Future;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use tokio::task::JoinSet;

type Slice = Box<dyn Fn(Duration) -> LocalBoxFuture<'static, anyhow::Result<f64>>>;

/// One side of a comparison.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    slice: Slice,
    /// The only one that is compared with it; everyone where there is none.
    rival: Option<&'static str>,
}

/// One of several tasks that apply messages side by side.
pub(crate) trait Worker: Send + 'static {
    /// Applies one message, or some; answers how many.
    fn step(&mut self) -> impl Future<Output = anyhow::Result<u64>> + Send;
}

impl Contender {
    /// `slice` applies messages for about so long and answers how many a second.
    pub(crate) fn new<F>(name: &'static str, slice: impl Fn(Duration) -> F + 'static) -> Self
    where
        F: Future<Output = anyhow::Result<f64>> + 'static,
    {
        Self { name, slice: Box::new(move |time| slice(time).boxed_local()), rival: None }
    }

    /// So many workers at once, made anew for each slice before its time begins.
    pub(crate) fn of_workers<W, F>(
        name: &'static str,
        workers: usize,
        make: impl Fn() -> F + Clone + 'static,
    ) -> Self
    where
        W: Worker,
        F: Future<Output = anyhow::Result<W>> + 'static,
    {
        Self::new(name, move |time| {
            let make = make.clone();
            async move {
                let mut ready = Vec::with_capacity(workers);
                for _ in 0..workers {
                    ready.push(make().await?);
                }
                rate(ready, time).await
            }
        })
    }

    /// A baseline for this one alone.
    pub(crate) fn rival_of(self, name: &'static str) -> Self {
        Self { rival: Some(name), ..self }
    }

    pub(crate) fn is_compared_with(&self, name: &str) -> bool {
        self.rival.is_none_or(|rival| rival == name)
    }

    /// Messages a second over about that time.
    pub(crate) async fn slice(&self, time: Duration) -> anyhow::Result<f64> {
        (self.slice)(time).await
    }
}

async fn rate<W: Worker>(workers: Vec<W>, time: Duration) -> anyhow::Result<f64> {
    let start = Instant::now();
    let until = start + time;
    let mut running = JoinSet::new();
    for mut worker in workers {
        running.spawn(async move {
            let mut done = 0;
            while Instant::now() < until {
                done += worker.step().await?;
            }
            anyhow::Ok(done)
        });
    }
    let mut done = 0;
    while let Some(ended) = running.join_next().await {
        done += ended??;
    }
    Ok(done as f64 / start.elapsed().as_secs_f64())
}
