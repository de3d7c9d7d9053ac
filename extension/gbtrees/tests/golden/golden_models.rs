//! Golden models and their libraries' predictions, by names such as `lightgbm/4.7.0/deep.txt`.
//!
//! Each library has an archive next to this file, which is part of the test's binary and extracted into
//! memory on first use. README.md says how to add files.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::LazyLock;

use lzma_rust2::XzReader;
use tar::Archive;

type Files = BTreeMap<String, &'static [u8]>;

/// Sorted by the name of the library.
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
        // Links refer to earlier files with the same content.
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

/// Returns the content of a file, if it exists.
pub fn find(name: &str) -> Option<&'static [u8]> {
    let (_, files) = LIBRARIES.iter().find(|(library, _)| name.starts_with(library))?;
    files.get(name).copied()
}

/// Returns the content of a file.
///
/// # Panics
/// If there is no such file.
pub fn file(name: &str) -> &'static [u8] {
    find(name).unwrap_or_else(|| panic!("no golden file {name}"))
}

/// Returns the sorted names that begin with `start`, such as `lightgbm/4.7.0/`.
pub fn names(start: &str) -> Vec<&'static str> {
    let libraries = LIBRARIES
        .iter()
        .filter(|(library, _)| library.starts_with(start) || start.starts_with(library));
    let names = libraries.flat_map(|(_, files)| files.keys().map(String::as_str));
    names.filter(|name| name.starts_with(start)).collect()
}
