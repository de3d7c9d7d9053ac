use crate::format::json::*;
use crate::format::reader::{array, object};

/// Runs `read` on a document of this text.
fn on<'a, T>(text: &'a [u8], read: impl FnOnce(&mut Json<'a, '_>) -> Result<T>) -> Result<T> {
    let mut reader = Json::new(text, crate::Cancel::never());
    let value = read(&mut reader)?;
    reader.finish()?;
    Ok(value)
}

fn refused<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

#[test]
fn floats_are_rounded_once() {
    let float = |text: &str| on(format!("{text} ").as_bytes(), |reader| reader.float());
    for text in ["0", "-0", "1E0", "5E-1", "1e-45", "3.4028235e38", "16777217", "0.1", "-1.5e+3"] {
        assert_eq!(
            float(text).unwrap().to_bits(),
            text.parse::<f32>().unwrap().to_bits(),
            "{text}"
        );
    }
    // As an f64 this is rounded to halfway between two f32, and from there to the even one.
    let halfway = "1.000000059604644775390626";
    assert_eq!(float(halfway).unwrap().to_bits(), 0x3f80_0001);
    assert!(float("NaN").unwrap().is_nan());
    assert_eq!(float("Infinity").unwrap(), f32::INFINITY);
    assert_eq!(float("-Infinity").unwrap(), f32::NEG_INFINITY);
}

#[test]
fn malformed_numbers_are_refused() {
    for text in ["-", "1.", "1e", "1e+", "12", "1.5", "Na", "Inf", "-I"] {
        let kind = refused(on(text.as_bytes(), |reader| reader.float()));
        assert!(matches!(kind, ErrorKind::Truncated | ErrorKind::WrongType), "{text}: {kind:?}");
    }
    for text in [".5", "01", "-00", "1.x", "1 2", "+1", "0x1", "NaNs", "--1", "nan"] {
        let kind = refused(on(text.as_bytes(), |reader| reader.float()));
        assert!(matches!(kind, ErrorKind::Syntax | ErrorKind::WrongType), "{text}: {kind:?}");
    }
    assert_eq!(refused(on(b"1e39 ", |reader| reader.float())), ErrorKind::Number);
    assert_eq!(refused(on(b"9223372036854775808 ", |reader| reader.integer())), ErrorKind::Number);
    assert_eq!(refused(on(b"1.0 ", |reader| reader.integer())), ErrorKind::WrongType);
    assert_eq!(refused(on(b"NaN ", |reader| reader.integer())), ErrorKind::WrongType);
    assert_eq!(on(b"-9223372036854775808 ", |reader| reader.integer()).unwrap(), i64::MIN);
}

#[test]
fn strings_are_unescaped() {
    let text = |text: &'static str| on(text.as_bytes(), |reader| reader.string());
    assert!(matches!(text("\"plain é\"").unwrap(), Cow::Borrowed("plain é")));
    assert_eq!(text(r#""\"\\\/\b\f\n\r\t""#).unwrap(), "\"\\/\u{8}\u{c}\n\r\t");
    assert_eq!(text(r#""a\u00e9\ud83d\ude00z""#).unwrap(), "aé😀z");
    assert_eq!(text(r#""""#).unwrap(), "");
}

#[test]
fn malformed_strings_are_refused() {
    let kind = |text: &'static [u8]| refused(on(text, |reader| reader.string()));
    assert_eq!(kind(b"\"\xff\""), ErrorKind::Encoding);
    assert_eq!(kind(b"\"a\xc3\""), ErrorKind::Encoding);
    assert_eq!(kind(br#""\ud83d""#), ErrorKind::Encoding);
    assert_eq!(kind(br#""\ud83d\u0041""#), ErrorKind::Encoding);
    assert_eq!(kind(br#""\ude00""#), ErrorKind::Encoding);
    assert_eq!(kind(br#""\x""#), ErrorKind::Syntax);
    assert_eq!(kind(br#""\u00g0""#), ErrorKind::Syntax);
    assert_eq!(kind(b"\"a\nb\""), ErrorKind::Syntax);
    assert_eq!(kind(b"\"open"), ErrorKind::Truncated);
    assert_eq!(kind(b"\"\\"), ErrorKind::Truncated);
    assert_eq!(kind(br#""\ud83d\"#), ErrorKind::Truncated);
    assert_eq!(kind(b"12"), ErrorKind::WrongType);
}

#[test]
fn containers_need_their_commas_and_brackets() {
    let floats = |text: &'static [u8]| {
        on(text, |reader| array(reader, 8, "numbers", |reader| reader.float()))
    };
    assert_eq!(floats(b" [ 1 , 2 ] ").unwrap(), [1.0, 2.0]);
    assert_eq!(floats(b"[]").unwrap(), [0.0; 0]);
    for text in [&b"[1 2]"[..], b"[,1]", b"[1,]", b"[1}", b"[1]]", b"[1] x"] {
        assert!(floats(text).is_err(), "{}", String::from_utf8_lossy(text));
    }
    assert_eq!(refused(floats(b"[1,2,3,4,5,6,7,8,9]")), ErrorKind::Limit);
    for text in [&b"{\"a\" 1}"[..], b"{\"a\":1,}", b"{1:2}", b"{\"a\":1 \"b\":2}", b"{,}"] {
        let kind = refused(on(text, |reader| reader.skip()));
        assert_eq!(kind, ErrorKind::Syntax, "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn unknown_values_are_skipped_and_checked() {
    let text = br#"{"a":{"b":[1,"x\n",true,false,null,NaN,-Infinity,{}]},"c":7}"#;
    let mut found = None;
    on(text, |reader| {
        object(reader, |reader, key| {
            if key == "c" {
                found = Some(reader.integer()?);
                return Ok(());
            }
            reader.skip()
        })
    })
    .unwrap();
    assert_eq!(found, Some(7));
    assert_eq!(refused(on(b"[nul]", |reader| reader.skip())), ErrorKind::Syntax);
    assert_eq!(refused(on(b"[tru", |reader| reader.skip())), ErrorKind::Truncated);
}

#[test]
fn repeated_keys_are_refused_among_few_and_many() {
    for count in [1, 40] {
        let mut text: String = (0..count).map(|key| format!("\"{key}\":0,")).collect();
        text = format!("{{{text}\"0\":0}}");
        let result = on(text.as_bytes(), |reader| object(reader, |reader, _| reader.skip()));
        assert_eq!(refused(result), ErrorKind::DuplicateKey);
        let text = text.replace("\"0\":0}", "\"x\":0}");
        on(text.as_bytes(), |reader| object(reader, |reader, _| reader.skip())).unwrap();
    }
}
