use crate::format::reader::array;
use crate::format::ubjson::*;

/// Runs `read` on a document of these bytes.
fn on<'a, T>(bytes: &'a [u8], read: impl FnOnce(&mut Ubjson<'a, '_>) -> Result<T>) -> Result<T> {
    let mut reader = Ubjson::new(bytes, crate::Cancel::never());
    let value = read(&mut reader)?;
    reader.finish()?;
    Ok(value)
}

fn floats(bytes: &[u8]) -> Result<Vec<f32>> {
    on(bytes, |reader| array(reader, 1 << 20, "numbers", |reader| reader.float()))
}

fn integers(bytes: &[u8]) -> Result<Vec<i64>> {
    on(bytes, |reader| array(reader, 1 << 20, "numbers", |reader| reader.integer()))
}

fn kind_of<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

#[test]
fn every_number_type_is_read() {
    let bytes = b"[i\xffU\xffI\xff\xfel\xff\xff\xff\xfdL\xff\xff\xff\xff\xff\xff\xff\xfc]";
    assert_eq!(integers(bytes).unwrap(), [-1, 255, -2, -3, -4]);
    assert_eq!(floats(b"[d\x3f\x80\0\0D\x3f\xe0\0\0\0\0\0\0i\x02]").unwrap(), [1.0, 0.5, 2.0]);
    let nan = floats(b"[d\x7f\xc0\0\0]").unwrap();
    assert!(nan[0].is_nan());
    assert_eq!(kind_of(floats(b"[D\x7f\xe0\0\0\0\0\0\0]")), ErrorKind::Number);
    assert_eq!(kind_of(integers(b"[d\x3f\x80\0\0]")), ErrorKind::WrongType);
    assert_eq!(kind_of(integers(b"[HU\x011]")), ErrorKind::Number);
}

#[test]
fn typed_and_counted_arrays_have_no_closing_bracket() {
    assert_eq!(floats(b"[$d#L\0\0\0\0\0\0\0\x02\x3f\x80\0\0\x40\0\0\0").unwrap(), [1.0, 2.0]);
    assert_eq!(integers(b"[$U#i\x03\x01\x02\x03").unwrap(), [1, 2, 3]);
    assert_eq!(integers(b"[#i\x02U\x01i\x02").unwrap(), [1, 2]);
    for empty in [&b"[]"[..], b"[#i\0", b"[$l#i\0", b"[$d#L\0\0\0\0\0\0\0\0"] {
        assert_eq!(integers(empty).unwrap(), [0; 0]);
        on(empty, |reader| reader.skip()).unwrap();
    }
}

#[test]
fn typed_containers_hold_numbers_only() {
    for element in *b"ZTS[{Hx" {
        let bytes = [b'[', b'$', element, b'#', b'i', 1, 0, 0];
        assert_eq!(kind_of(on(&bytes, |reader| reader.skip())), ErrorKind::Syntax);
    }
    assert_eq!(kind_of(on(b"[$U\x01]", |reader| reader.skip())), ErrorKind::Syntax);
}

#[test]
fn text_is_checked() {
    assert_eq!(on("SU\x03aé".as_bytes(), |reader| reader.string()).unwrap(), "aé");
    assert_eq!(on(b"Cx", |reader| reader.string()).unwrap(), "x");
    assert_eq!(kind_of(on(b"SU\x01\xff", |reader| reader.string())), ErrorKind::Encoding);
    assert_eq!(kind_of(on(b"C\xff", |reader| reader.string())), ErrorKind::Encoding);
    assert_eq!(kind_of(on(b"U\x01", |reader| reader.string())), ErrorKind::WrongType);
}

#[test]
fn objects_may_be_counted_and_typed() {
    for bytes in
        [&b"{i\x01aT}"[..], b"{#i\x01i\x01aT", b"{}", b"{#i\0", b"{$U#i\x02i\x01a\x01i\x01b\x02"]
    {
        on(bytes, |reader| reader.skip()).unwrap();
    }
    assert_eq!(kind_of(on(b"{i\x01aT", |reader| reader.skip())), ErrorKind::Truncated);
    assert_eq!(kind_of(on(b"{}}", |reader| reader.skip())), ErrorKind::Syntax);
    assert_eq!(kind_of(on(b"{i\x01aN}", |reader| reader.skip())), ErrorKind::Syntax);
}
