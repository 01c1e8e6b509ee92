//! What the proxy does in which order, where only a slow server or a slow client shows it.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};
use test_servers::postgres::{Server, TestDatabase};
use test_servers::proxy::{Action, Proxy, Trigger};
use url::Url;

type Done = Result<(), Box<dyn std::error::Error>>;

async fn scene() -> Result<(TestDatabase, Proxy), test_servers::Error> {
    let database = Server::shared().await?.create_database().await?;
    let proxy = Proxy::in_front_of(database.direct_url())?;
    Ok((database, proxy))
}

#[tokio::test]
async fn a_rule_after_a_request_acts_when_the_server_has_done_it() -> Done {
    let (database, proxy) = scene().await?;
    let mut direct = PgConnection::connect(database.direct_url()).await?;
    direct.execute("CREATE TABLE kept (n int)").await?;
    let mut client = PgConnection::connect(&proxy.url_for(database.direct_url())?).await?;
    let stall = proxy.on(Trigger::client().containing("kept").after(), Action::Stall);
    let client = tokio::spawn(async move {
        client.execute("SELECT pg_sleep(0.2); INSERT INTO kept VALUES (1)").await
    });
    stall.fired().await;
    let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM kept").fetch_one(&mut direct).await?;
    assert_eq!(kept, 1, "{}", proxy.trace());
    proxy.heal();
    client.await??;
    Ok(())
}

/// A client that sends bytes when it is told to.
struct Slow(TcpStream);

impl Slow {
    fn connect(url: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let url = Url::parse(url)?;
        let address = url.socket_addrs(|| None)?[0];
        let parameters =
            format!("user\0postgres\0database\0{}\0\0", url.path().trim_start_matches('/'));
        let mut packet = (u32::try_from(parameters.len())? + 8).to_be_bytes().to_vec();
        packet.extend(0x0003_0000_u32.to_be_bytes()); // protocol 3.0
        packet.extend(parameters.as_bytes());
        let mut client = Self(TcpStream::connect(address)?);
        client.0.write_all(&packet)?;
        client.until_ready()?;
        Ok(client)
    }

    fn until_ready(&mut self) -> io::Result<()> {
        loop {
            let mut head = [0; 5];
            self.0.read_exact(&mut head)?;
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) - 4;
            io::copy(&mut (&mut self.0).take(length.into()), &mut io::sink())?;
            if head[0] == b'Z' {
                return Ok(());
            }
        }
    }
}

#[tokio::test]
async fn what_is_sent_in_one_breath_is_one_trip_although_it_arrives_in_pieces() -> Done {
    const QUERY: &[u8] = b"Q\0\0\0\x0dSELECT 1\0";
    let (database, proxy) = scene().await?;
    let mut client = Slow::connect(&proxy.url_for(database.direct_url())?)?;
    let both = [QUERY, QUERY].concat();
    let (first, second) = both.split_at(QUERY.len() + 3);
    client.0.write_all(first)?;
    std::thread::sleep(Duration::from_millis(50)); // time enough for a wrong proxy to pass the first query on
    client.0.write_all(second)?;
    client.until_ready()?;
    client.until_ready()?;
    assert_eq!(proxy.round_trips(), 1, "{}", proxy.trace());
    Ok(())
}
