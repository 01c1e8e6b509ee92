//! `link!`: the lines that keep handler crates in the binary.

/// Links crates whose handlers would otherwise be left out of the binary.
///
/// A crate that is only listed in `Cargo.toml` and never named is not linked, and its handlers are
/// silently absent. `inbox::link!(orders, billing);` in the binary writes `use orders as _;` and
/// `use billing as _;`. A crate of which the binary names any item is linked anyway.
///
/// ```
/// inbox::link!(std, core);
/// ```
#[macro_export]
macro_rules! link {
    ($($krate:ident),+ $(,)?) => {
        $(use $krate as _;)+
    };
}
