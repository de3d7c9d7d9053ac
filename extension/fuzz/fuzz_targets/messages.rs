//! Messages between a backend and its trainer: any bytes are refused, or are a message that arrives as it
//! was when it is sent again.
//!
//! An input's first byte chooses the side and whether the length before the text is put right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pgboost_trainer::{Reply, Request, receive, receive_bytes, send};

/// No message of an input is longer.
const MAX: u64 = 1 << 16;

fuzz_target!(|input: &[u8]| {
    let Some((choice, rest)) = input.split_first() else { return };
    let length = (rest.len() as u64).to_le_bytes();
    let framed = if choice & 1 == 0 { rest.to_vec() } else { [&length, rest].concat() };
    if choice & 2 == 0 {
        check::<Request>(&framed);
    } else {
        check::<Reply>(&framed);
    }
    // The bytes behind a message: no more than there are, and no more than is allowed.
    let (announced, allowed) = (u64::from(*choice), rest.len() as u64 / 2);
    if let Ok(bytes) = receive_bytes(&mut &*rest, announced, allowed) {
        assert!(
            announced <= allowed && bytes == rest[..bytes.len()] && bytes.len() as u64 == announced
        );
    }
});

fn check<T>(bytes: &[u8])
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let Ok(message) = receive::<T>(&mut &*bytes, MAX) else { return };
    let mut sent = Vec::new();
    send(&mut sent, &message).expect("memory takes all");
    assert_eq!(receive::<T>(&mut sent.as_slice(), u64::MAX).expect("it was sent"), message);
}
