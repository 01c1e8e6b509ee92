//! Mistakes whose text is ours: each error is read word by word.

#[test]
fn every_mistake_is_told_in_our_words() {
    trybuild::TestCases::new().compile_fail("fail/*/*.rs");
}
