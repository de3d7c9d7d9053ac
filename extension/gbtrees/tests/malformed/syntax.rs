//! Bytes that are not a document, with the place of the error.

use crate::malformed::models::{binary, categorical};
use crate::malformed::{ErrorKind, parse};
use gbtrees::Place;

fn refused(bytes: &[u8], kind: ErrorKind, byte: usize) {
    let error = parse(bytes).unwrap_err();
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]);
    assert_eq!(error.kind(), kind, "{shown}: {error}");
    assert_eq!(error.place(), Place::Byte(byte), "{shown}: {error}");
}

#[test]
fn files_that_are_no_document() {
    refused(b"", ErrorKind::Truncated, 0);
    refused(b" \n\t ", ErrorKind::Truncated, 4);
    refused(b"hello", ErrorKind::Syntax, 0);
    refused(b"  [1]", ErrorKind::Syntax, 2);
    refused(b"\"learner\"", ErrorKind::Unsupported, 0);
    refused(b"\xef\xbb\xbf{}", ErrorKind::Unsupported, 0);
    refused(b"\0\0\0\0", ErrorKind::Syntax, 0);
    assert_eq!(parse(b"{}").unwrap_err().kind(), ErrorKind::MissingKey);
    // As long as an objective's name in XGBoost's binary format, which has a colon.
    let name = [&[b' '; 136][..], &8u64.to_le_bytes(), b"logistic"].concat();
    refused(&name, ErrorKind::Syntax, 136);
}

#[test]
fn the_first_key_of_one_library_decides() {
    for (file, missing) in [
        (r#"{"learner":{},"trees":[]}"#, "\"learner_model_param\""),
        (r#"{"trees":[],"learner":{}}"#, "\"features_info\""),
    ] {
        let error = parse(file.as_bytes()).unwrap_err();
        assert!(error.message().contains(missing), "{error}");
    }
}

#[test]
fn json() {
    refused(b"{", ErrorKind::Truncated, 1);
    refused(b"{\"learner\"", ErrorKind::Truncated, 10);
    refused(b"{\"learner\" 1}", ErrorKind::Syntax, 11);
    refused(b"{'learner':1}", ErrorKind::Syntax, 1);
    refused(b"{\"x\":1,}", ErrorKind::Syntax, 7);
    refused(b"{\"x\":01}", ErrorKind::Syntax, 7);
    refused(b"{\"x\":+1}", ErrorKind::Syntax, 5);
    refused(b"{\"x\":nan}", ErrorKind::Syntax, 5);
    refused(b"{\"x\":1.}", ErrorKind::Syntax, 7);
    refused(b"{\"x\":\"\xc3\x28\"}", ErrorKind::Encoding, 6);
    refused(b"{\"\xff\":1}", ErrorKind::Encoding, 2);
    refused(b"{\"x\":\"\\q\"}", ErrorKind::Syntax, 7);
    refused(b"{\"x\":\"\\ud800\"}", ErrorKind::Encoding, 12);
    refused(b"{\"x\":\"tab\there\"}", ErrorKind::Syntax, 9);
    refused(b"{\"version\":[3,4,18446744073709551616]}", ErrorKind::Number, 16);
    let deep = [&b"{\"x\":"[..], &b"[".repeat(100_000)].concat();
    refused(&deep, ErrorKind::Syntax, 68);
    let deep = b"{\"x\":".repeat(100_000);
    refused(&deep, ErrorKind::Syntax, 5 * 64);
    let valid = binary().to_json();
    refused(&[&valid[..], b"}"].concat(), ErrorKind::Syntax, valid.len());
    refused(&[&valid[..], b"\n\0"].concat(), ErrorKind::Syntax, valid.len() + 1);
    parse(&[b"\n ", &valid[..], b" \r\n"].concat()).unwrap();
}

#[test]
fn numbers_too_large_for_f32_are_refused() {
    let valid = String::from_utf8(binary().to_json()).unwrap();
    let at = valid.rfind("-0.25").unwrap();
    let large = format!("{}1e+39{}", &valid[..at], &valid[at + 5..]);
    refused(large.as_bytes(), ErrorKind::Number, at);
}

#[test]
fn ubjson() {
    let key = b"{L\0\0\0\0\0\0\0\x01x";
    let with = |rest: &[u8]| [&key[..], rest].concat();
    refused(&with(b""), ErrorKind::Truncated, 11);
    refused(&with(b"?"), ErrorKind::Syntax, 11);
    refused(&with(b"SL\x7f\xff\xff\xff\xff\xff\xff\xff"), ErrorKind::Truncated, 12);
    refused(&with(b"SL\xff\xff\xff\xff\xff\xff\xff\xff"), ErrorKind::Syntax, 12);
    refused(&with(b"Sd\0\0\0\0"), ErrorKind::Syntax, 12);
    refused(&with(b"SU\x02\xc3\x28}"), ErrorKind::Encoding, 14);
    refused(&with(b"[$d#L\x7f\xff\xff\xff\xff\xff\xff\xff"), ErrorKind::Truncated, 15);
    refused(&with(b"[$d#L\0\0\0\0\x40\0\0\0\0\0\0\0"), ErrorKind::Truncated, 15);
    refused(&with(b"[#L\x7f\xff\xff\xff\xff\xff\xff\xff"), ErrorKind::Truncated, 13);
    refused(&with(b"{#L\x7f\xff\xff\xff\xff\xff\xff\xff"), ErrorKind::Truncated, 13);
    refused(&with(b"[$Z#L\x7f\xff\xff\xff\xff\xff\xff\xff"), ErrorKind::Syntax, 13);
    refused(&with(b"[$U#L\x7f\xff\xff\xff\xff\xff\xff\xff"), ErrorKind::Truncated, 15);
    refused(&with(b"[$l#i\x02\0\0\0\0\0\0\0"), ErrorKind::Truncated, 15);
    refused(&with(b"HL\x7f\xff\xff\xff\xff\xff\xff\xff"), ErrorKind::Truncated, 12);
    refused(&with(b"[$d]"), ErrorKind::Syntax, 14);
    refused(&with(b"[$U#i\0}}"), ErrorKind::Syntax, 18);
    refused(&with(&b"[".repeat(100_000)), ErrorKind::Syntax, 11 + 63);
    refused(b"{L\0\0\0\0\0\0\0\x01\xff", ErrorKind::Encoding, 10);
    refused(b"{L\x7f\xff\xff\xff\xff\xff\xff\xff", ErrorKind::Truncated, 1);
    let valid = categorical().to_ubjson();
    refused(&[&valid[..], b"}"].concat(), ErrorKind::Syntax, valid.len());
}

#[test]
fn counted_containers_without_elements_are_read() {
    let mut bytes = b"{L\0\0\0\0\0\0\0\x01x[#L\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend(b"L\0\0\0\0\0\0\0\x01y[$l#L\0\0\0\0\0\0\0\0");
    bytes.extend(b"L\0\0\0\0\0\0\0\x01z{#L\0\0\0\0\0\0\0\0");
    bytes.extend(&binary().to_ubjson()[1..]);
    parse(&bytes).unwrap();
}
