//! A strict JSON reader that also accepts XGBoost's bare `NaN`, `Infinity` and `-Infinity`.
//!
//! Thresholds of categorical splits are NaN in files of releases 1.3 to 2.1. In all other respects the
//! reader is strict, down to UTF-8, surrogate pairs and leading zeros.
//!
//! XGBoost writes an f32 as the shortest text that reads back as the same f32. Rounding through f64 can
//! change the last bit, so f32 fields are parsed as f32. Strings without escapes borrow from the file.

use std::borrow::Cow;
use std::str::FromStr;

use crate::format::reader::{CancelChecks, MAX_NESTING, Number, Reader, ValueKind, appended};
use crate::memory::owned;
use crate::{Cancel, Error, ErrorKind, Place, Result};

pub(super) struct Json<'a, 'b> {
    bytes: &'a [u8],
    position: usize,
    depth: usize,
    checks: CancelChecks<'b>,
}

/// An open object or array.
pub(super) struct Container {
    started: bool,
}

/// Returns whether the byte is JSON white space.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

impl<'a, 'b> Json<'a, 'b> {
    pub(super) fn new(bytes: &'a [u8], cancel: Cancel<'b>) -> Self {
        Json { bytes, position: 0, depth: 0, checks: CancelChecks::new(cancel) }
    }

    /// Returns the next byte that is not white space, without consuming it.
    fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.bytes.get(self.position) {
            if !is_space(byte) {
                return Some(byte);
            }
            self.position += 1;
        }
        None
    }

    /// Returns the error for an unexpected byte, or for the end of the file.
    fn syntax(&self, wanted: &str) -> Error {
        if self.position >= self.bytes.len() {
            self.error(ErrorKind::Truncated, format!("model ends where {wanted} belongs"))
        } else {
            self.error(ErrorKind::Syntax, format!("malformed JSON: {wanted} belongs here"))
        }
    }

    fn expect(&mut self, byte: u8, wanted: &str) -> Result<()> {
        if self.peek() != Some(byte) {
            return Err(self.syntax(wanted));
        }
        self.position += 1;
        Ok(())
    }

    /// Reads an unquoted literal.
    fn word(&mut self, word: &'static str) -> Result<()> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        if rest.starts_with(word.as_bytes()) {
            self.position += word.len();
            return Ok(());
        }
        if word.as_bytes().starts_with(rest) {
            self.position = self.bytes.len();
        }
        Err(self.syntax(word))
    }

    /// Reads the comma before a member, or the closing bracket; returns whether a member follows.
    fn advance(&mut self, container: &mut Container, bracket: u8) -> Result<bool> {
        match self.peek() {
            Some(byte) if byte == bracket => {
                self.position += 1;
                self.depth = self.depth.saturating_sub(1);
                return Ok(false);
            }
            Some(b',') if container.started => self.position += 1,
            _ if container.started => return Err(self.syntax("a comma or closing bracket")),
            _ => container.started = true,
        }
        self.checks.count()?;
        Ok(true)
    }
}

impl<'a> Reader<'a> for Json<'a, '_> {
    type Container = Container;

    fn offset(&self) -> usize {
        self.position
    }

    fn cancel(&self) -> Cancel<'_> {
        self.checks.cancel()
    }

    fn kind(&mut self) -> Result<ValueKind> {
        match self.peek() {
            Some(b'{') => Ok(ValueKind::Object),
            Some(b'[') => Ok(ValueKind::Array),
            Some(b'"') => Ok(ValueKind::String),
            Some(b't' | b'f') => Ok(ValueKind::Bool),
            Some(b'n') => Ok(ValueKind::Null),
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => Ok(ValueKind::Number),
            _ => Err(self.syntax("a value")),
        }
    }

    fn open(&mut self, bracket: u8, kind: ValueKind) -> Result<Container> {
        if self.peek() != Some(bracket) {
            return Err(self.unexpected(kind));
        }
        if self.depth == MAX_NESTING {
            return Err(self.too_deep());
        }
        self.depth += 1;
        self.position += 1;
        Ok(Container { started: false })
    }

    fn next_key(&mut self, container: &mut Container) -> Result<Option<Cow<'a, str>>> {
        if !self.advance(container, b'}')? {
            return Ok(None);
        }
        if self.peek() != Some(b'"') {
            return Err(self.syntax("a key"));
        }
        let key = self.quoted()?;
        self.expect(b':', "a colon")?;
        Ok(Some(key))
    }

    fn next_element(&mut self, container: &mut Container) -> Result<bool> {
        self.advance(container, b']')
    }

    fn declared_elements(&self, _: &Container) -> Option<usize> {
        None
    }

    fn string(&mut self) -> Result<Cow<'a, str>> {
        if self.kind()? != ValueKind::String {
            return Err(self.unexpected(ValueKind::String));
        }
        self.quoted()
    }

    fn float(&mut self) -> Result<f32> {
        let start = self.start();
        match self.token()? {
            Token::Integer(text) | Token::Decimal(text) => {
                let value = parsed::<f32>(text, start)?;
                if value.is_finite() { Ok(value) } else { Err(too_large("f32", start)) }
            }
            Token::Named(value) => Ok(value),
        }
    }

    fn integer(&mut self) -> Result<i64> {
        let start = self.start();
        match self.token()? {
            Token::Integer(text) => text.parse().map_err(|_| too_large("i64", start)),
            _ => Err(fault!(WrongType, "found a fraction where an integer belongs")
                .at(Place::Byte(start))),
        }
    }

    fn number(&mut self) -> Result<Number> {
        let start = self.start();
        let value = match self.token()? {
            Token::Integer(text) => {
                return text.parse().map(Number::Integer).map_err(|_| too_large("i64", start));
            }
            Token::Decimal(text) => parsed::<f64>(text, start)?,
            Token::Named(value) => return Ok(Number::Float(value.into())),
        };
        if value.is_finite() { Ok(Number::Float(value)) } else { Err(too_large("f64", start)) }
    }

    fn boolean(&mut self) -> Result<bool> {
        match self.peek() {
            Some(b't') => self.word("true").map(|()| true),
            Some(b'f') => self.word("false").map(|()| false),
            _ => Err(self.unexpected(ValueKind::Bool)),
        }
    }

    fn skip_scalar(&mut self) -> Result<()> {
        match self.kind()? {
            ValueKind::String => self.quoted().map(drop),
            ValueKind::Bool => self.boolean().map(drop),
            ValueKind::Null => self.word("null"),
            _ => self.token().map(drop),
        }
    }

    fn finish(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(appended(self.offset())),
        }
    }
}

pub(super) enum Token<'a> {
    /// Digits with an optional minus sign.
    Integer(&'a str),
    /// With a fraction or an exponent.
    Decimal(&'a str),
    /// `NaN`, `Infinity` or `-Infinity`.
    Named(f32),
}

impl<'a> Json<'a, '_> {
    /// Reads a number of any type.
    pub(super) fn token(&mut self) -> Result<Token<'a>> {
        let negative = match self.peek() {
            Some(b'N') => return self.word("NaN").map(|()| Token::Named(f32::NAN)),
            Some(b'-') => true,
            Some(b'I' | b'0'..=b'9') => false,
            _ => return Err(self.unexpected(ValueKind::Number)),
        };
        let start = self.position;
        self.position += usize::from(negative);
        if self.bytes.get(self.position) == Some(&b'I') {
            self.word("Infinity")?;
            return Ok(Token::Named(if negative { f32::NEG_INFINITY } else { f32::INFINITY }));
        }
        let whole = self.digits()?;
        if whole > 1 && self.bytes.get(self.position - whole) == Some(&b'0') {
            return Err(self.error(ErrorKind::Syntax, "malformed JSON: a number begins with 0"));
        }
        let decimal = self.fraction()? | self.exponent()?;
        // The document is an object, so a number at its very end has been cut short.
        if self.position == self.bytes.len() {
            return Err(self.syntax("the rest of a number"));
        }
        let text = self.bytes.get(start..self.position).unwrap_or_default();
        let text = std::str::from_utf8(text)
            .map_err(|_| self.error(ErrorKind::Encoding, "a number is not UTF-8"))?;
        Ok(if decimal { Token::Decimal(text) } else { Token::Integer(text) })
    }

    /// Reads a number, as f64 if it is an integer outside of i64.
    pub(in crate::format) fn wide_number(&mut self) -> Result<Number> {
        let (Token::Integer(text) | Token::Decimal(text)) = self.token()? else {
            return Err(self.unexpected(ValueKind::Number));
        };
        if let Ok(integer) = text.parse() {
            return Ok(Number::Integer(integer));
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Number::Float(number)),
            _ => Err(self.error(ErrorKind::Number, "a number is too large for f64")),
        }
    }

    /// Reads at least one digit and returns how many there are.
    fn digits(&mut self) -> Result<usize> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.position += count;
        if count == 0 {
            return Err(self.syntax("a digit"));
        }
        Ok(count)
    }

    fn fraction(&mut self) -> Result<bool> {
        if self.bytes.get(self.position) != Some(&b'.') {
            return Ok(false);
        }
        self.position += 1;
        self.digits().map(|_| true)
    }

    fn exponent(&mut self) -> Result<bool> {
        if !matches!(self.bytes.get(self.position), Some(b'e' | b'E')) {
            return Ok(false);
        }
        self.position += 1;
        if matches!(self.bytes.get(self.position), Some(b'+' | b'-')) {
            self.position += 1;
        }
        self.digits().map(|_| true)
    }

    /// Returns the offset at which the next value begins.
    fn start(&mut self) -> usize {
        self.peek();
        self.position
    }
}

/// Parses a token; cannot fail in practice, since Rust's grammar of numbers contains JSON's.
fn parsed<T: FromStr>(text: &str, start: usize) -> Result<T> {
    text.parse().map_err(|_| fault!(Syntax, "malformed number").at(Place::Byte(start)))
}

fn too_large(target: &str, start: usize) -> Error {
    fault!(Number, "a number is too large for {target}").at(Place::Byte(start))
}

impl<'a> Json<'a, '_> {
    pub(super) fn quoted(&mut self) -> Result<Cow<'a, str>> {
        self.position += 1;
        let first = self.plain()?;
        if self.bytes.get(self.position) == Some(&b'"') {
            self.position += 1;
            return Ok(Cow::Borrowed(first));
        }
        let mut text = owned(Cow::Borrowed(first))?;
        loop {
            match self.bytes.get(self.position) {
                Some(b'"') => {
                    self.position += 1;
                    return Ok(Cow::Owned(text));
                }
                Some(b'\\') => {
                    self.position += 1;
                    text.push(self.escape()?);
                }
                _ => {
                    let plain = self.plain()?;
                    text.try_reserve(plain.len())?;
                    text.push_str(plain);
                }
            }
        }
    }

    /// Reads up to the next quote or backslash.
    fn plain(&mut self) -> Result<&'a str> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
        let Some(length) = length else {
            self.position = self.bytes.len();
            return Err(self.syntax("the end of a string"));
        };
        if rest.get(length).is_some_and(|byte| *byte < 0x20) {
            self.position += length;
            return Err(self.syntax("an escape instead of a control character"));
        }
        let text =
            std::str::from_utf8(rest.get(..length).unwrap_or_default()).map_err(|error| {
                self.position += error.valid_up_to();
                self.error(ErrorKind::Encoding, "a string is not UTF-8")
            })?;
        self.position += length;
        Ok(text)
    }

    /// Reads the rest of an escape sequence.
    fn escape(&mut self) -> Result<char> {
        let escaped = match self.bytes.get(self.position) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.position += 1;
                return self.code_point();
            }
            _ => return Err(self.syntax("a known escape")),
        };
        self.position += 1;
        Ok(escaped)
    }

    /// Reads four hexadecimal digits, and four more after a high surrogate.
    fn code_point(&mut self) -> Result<char> {
        let high = self.code_unit()?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high).ok_or_else(|| self.lone_surrogate());
        }
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        if !rest.starts_with(b"\\u") {
            if !b"\\u".starts_with(rest) {
                return Err(self.lone_surrogate());
            }
            self.position = self.bytes.len();
            return Err(self.syntax("the other half of a surrogate pair"));
        }
        self.position += 2;
        let low = self.code_unit()?;
        if !(0xdc00..0xe000).contains(&low) {
            return Err(self.lone_surrogate());
        }
        char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))
            .ok_or_else(|| self.lone_surrogate())
    }

    fn code_unit(&mut self) -> Result<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit =
                self.bytes.get(self.position).and_then(|byte| char::from(*byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.syntax("a hexadecimal digit"));
            };
            self.position += 1;
            unit = unit << 4 | digit;
        }
        Ok(unit)
    }

    fn lone_surrogate(&self) -> crate::Error {
        self.error(ErrorKind::Encoding, "an escape is half of a surrogate pair")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::reader::{array, object};

    /// Runs `read` on the whole of `text`.
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
        for text in
            ["0", "-0", "1E0", "5E-1", "1e-45", "3.4028235e38", "16777217", "0.1", "-1.5e+3"]
        {
            assert_eq!(
                float(text).unwrap().to_bits(),
                text.parse::<f32>().unwrap().to_bits(),
                "{text}"
            );
        }
        // Rounded to f64 first, this lies halfway between two f32 and would round to the even one.
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
            assert!(
                matches!(kind, ErrorKind::Truncated | ErrorKind::WrongType),
                "{text}: {kind:?}"
            );
        }
        for text in [".5", "01", "-00", "1.x", "1 2", "+1", "0x1", "NaNs", "--1", "nan"] {
            let kind = refused(on(text.as_bytes(), |reader| reader.float()));
            assert!(matches!(kind, ErrorKind::Syntax | ErrorKind::WrongType), "{text}: {kind:?}");
        }
        assert_eq!(refused(on(b"1e39 ", |reader| reader.float())), ErrorKind::Number);
        assert_eq!(
            refused(on(b"9223372036854775808 ", |reader| reader.integer())),
            ErrorKind::Number
        );
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
    fn containers_need_commas_and_brackets() {
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
}
