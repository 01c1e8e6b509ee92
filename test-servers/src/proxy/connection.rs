//! One client's connection, from its first packet to its end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

use super::forward::{Arrival, End, Link};
use super::frame::{FrameReader, Until};
use super::journal::Journal;
use super::message::Side;

const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;

/// Serves the client until either side ends or the connection is cut. An error is an end like any other.
pub(super) async fn serve(
    journal: Arc<Journal>,
    client: TcpStream,
    server: SocketAddr,
) -> io::Result<()> {
    let mut cut_all = journal.cut.subscribe();
    let server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, mut to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let mut from_client = FrameReader::new(from_client);
    start(&mut from_client, &mut to_client, &mut to_server).await?;

    let (client_sends, client_sent) = mpsc::channel(64);
    let (server_sends, server_sent) = mpsc::channel(64);
    let client_reader = tokio::spawn(read_client(from_client, client_sends));
    tokio::spawn(read_server(FrameReader::new(from_server), server_sends));

    let link = Link::new(journal);
    let client_to_server = async {
        match link.forward(Side::Client, client_sent, to_server).await {
            Ok(End::Cut) => End::Cut,
            _ => std::future::pending().await, // the server has been told, and may still have to say something
        }
    };
    tokio::select! {
        _ = client_to_server => {}
        _ = link.forward(Side::Server, server_sent, to_client) => {}
        _ = cut_all.changed() => {}
    }
    client_reader.abort(); // with the halves dropped above, this closes the client's socket
    Ok(())
}

/// Passes the client's first packet on, after refusing encryption.
async fn start(
    client: &mut FrameReader<OwnedReadHalf>,
    to_client: &mut OwnedWriteHalf,
    to_server: &mut OwnedWriteHalf,
) -> io::Result<()> {
    while let Some((code, packet)) = client.startup().await? {
        if !matches!(code, SSL_REQUEST | GSS_REQUEST) {
            return to_server.write_all(&packet).await;
        }
        to_client.write_all(b"N").await?;
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

async fn read_client(mut from: FrameReader<impl AsyncRead + Unpin>, to: mpsc::Sender<Arrival>) {
    while let Ok(Some(frames)) = from.next(Until::NothingIsHalf).await {
        if to.send((Instant::now(), frames)).await.is_err() {
            return;
        }
    }
}

/// Goes on after nobody listens any more: closing a socket that has something to read resets the connection, and the server
/// would drop what it was sent and has not read yet.
async fn read_server(mut from: FrameReader<impl AsyncRead + Unpin>, to: mpsc::Sender<Arrival>) {
    while let Ok(Some(frames)) = from.next(Until::AnyFrame).await {
        let _ = to.send((Instant::now(), frames)).await;
    }
}
