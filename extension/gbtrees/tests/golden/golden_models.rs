//! The golden models and what their libraries predict with them, by name, as `lightgbm/4.7.0/deep.txt`.
//!
//! They lie next to this file in an archive per library, which is part of the test's binary. An archive is
//! extracted into memory when a test first asks for a file of it, once per process. README.md says how files
//! are added.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::LazyLock;

use lzma_rust2::XzReader;
use tar::Archive;

type Files = BTreeMap<String, &'static [u8]>;

/// By the name of the library, sorted.
static LIBRARIES: [(&str, LazyLock<Files>); 4] = [
    ("catboost/", LazyLock::new(|| extracted(include_bytes!("catboost.tar.xz")))),
    ("lightgbm/", LazyLock::new(|| extracted(include_bytes!("lightgbm.tar.xz")))),
    ("onnx/", LazyLock::new(|| extracted(include_bytes!("onnx.tar.xz")))),
    ("xgboost/", LazyLock::new(|| extracted(include_bytes!("xgboost.tar.xz")))),
];

fn extracted(archive: &[u8]) -> Files {
    let mut files = Files::new();
    let mut archive = Archive::new(XzReader::new(archive, false));
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_str().unwrap().to_owned();
        // A link is to an earlier file, which has the same content.
        let same = entry.link_name().unwrap().map(|link| files[link.to_str().unwrap()]);
        let content = same.unwrap_or_else(|| {
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            content.leak()
        });
        files.insert(name, content);
    }
    files
}

/// The content of a file, if there is such a one.
pub fn find(name: &str) -> Option<&'static [u8]> {
    let (_, files) = LIBRARIES.iter().find(|(library, _)| name.starts_with(library))?;
    files.get(name).copied()
}

/// The content of a file.
///
/// # Panics
///
/// If there is no such file.
pub fn file(name: &str) -> &'static [u8] {
    find(name).unwrap_or_else(|| panic!("no golden file {name}"))
}

/// The sorted names that begin with `start`, as `lightgbm/4.7.0/`; all of them with nothing.
pub fn names(start: &str) -> Vec<&'static str> {
    let libraries = LIBRARIES
        .iter()
        .filter(|(library, _)| library.starts_with(start) || start.starts_with(library));
    let names = libraries.flat_map(|(_, files)| files.keys().map(String::as_str));
    names.filter(|name| name.starts_with(start)).collect()
}
