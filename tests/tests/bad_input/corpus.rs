//! Hand-picked input that has broken one reader or another.

/// JSON, or nearly, too deep or too wide to be read carelessly.
pub(crate) fn enormous() -> Vec<Vec<u8>> {
    let members = |n: usize| (0..n).map(|i| format!("\"m{i}\":{i}")).collect::<Vec<_>>().join(",");
    vec![
        b"[".repeat(100_000),
        [b"[".repeat(100_000), b"]".repeat(100_000)].concat(),
        b"{\"a\":".repeat(100_000),
        [b"{\"lines\":[".repeat(500), b"1".to_vec(), b"]}".repeat(500)].concat(),
        [b"\"".to_vec(), b"x".repeat(500_000), b"\"".to_vec()].concat(),
        b"9".repeat(100_000),
        [b"1e".to_vec(), b"9".repeat(100_000)].concat(),
        format!("{{{}}}", members(50_000)).into_bytes(),
        b" ".repeat(1_000_000),
    ]
}

/// Small ones.
pub(crate) fn odd() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 38] = [
        b"",
        b" ",
        b"\0",
        b"\xff\xfe{\0}\0",
        b"\xef\xbb\xbf{}",
        b"\xed\xa0\x80",
        b"\"\xc3\x28\"",
        b"\"\xf4\x90\x80\x80\"",
        b"nul",
        b"nulll",
        b"NaN",
        b"-Infinity",
        b"0x10",
        b"01",
        b"1.",
        b".5",
        b"+1",
        b"-",
        b"1e",
        b"1e400",
        b"-0",
        b"18446744073709551616",
        b"\"\\ud800\"",
        b"\"\\udc00\\ud800\"",
        b"\"\\u\"",
        b"\"\\u00\"",
        b"\"\\q\"",
        b"\"a\nb\"",
        b"'single'",
        b"[1,]",
        b"{\"a\":1,}",
        b"{a:1}",
        b"{\"a\":1}{\"a\":1}",
        b"{\"a\":1,\"a\":2}",
        b"{\"\\u0061\":1,\"a\":2}",
        b"/* */{}",
        b"<!DOCTYPE x [<!ENTITY a \"b\">]>",
        b"%7B%7D",
    ];
    texts.into_iter().map(<[u8]>::to_vec).collect()
}
