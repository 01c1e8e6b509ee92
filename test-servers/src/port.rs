use std::net::{Ipv4Addr, TcpListener};

use crate::{Error, Result};

/// A port nobody listens on. Below the range from which systems take ports for outgoing connections, so that it is still
/// free when a server that was stopped starts on it again.
pub(crate) fn free() -> Result<u16> {
    let mut tries = (0..200).map(|_| fastrand::u16(12_000..32_000));
    tries
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .ok_or_else(|| Error::new("found no free TCP port on 127.0.0.1 between 12000 and 32000"))
}
