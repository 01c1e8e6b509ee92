pub(crate) mod arguments;
mod attributes;
mod batch;
mod consts;
mod events;
mod keys;
mod macro_rules;
mod names;
mod outputs;
mod places;
mod shadows;
mod two_consumers;

#[inbox::integration_event(name = "pass.happened.v1")]
#[derive(serde::Deserialize)]
pub(crate) struct Happened {
    pub(crate) id: u64,
}
