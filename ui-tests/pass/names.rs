use std::io;

use inbox::inbox_handler;
use ui_tests::FakeTx;

#[inbox::integration_event(name = "pass.raw.v1")]
#[derive(serde::Deserialize)]
#[allow(non_camel_case_types)]
pub(crate) struct r#struct {
    r#type: String,
}

#[inbox_handler(consumer = "names")]
async fn r#type(r#in: r#struct, mut r#mut: FakeTx<'_>) -> Result<(), io::Error> {
    r#mut.execute(&r#in.r#type).await
}

// The names of what the generated code is made of.
#[inbox_handler(consumer = "names")]
async fn r(call: r#struct, requirements: FakeTx<'_>) -> Result<(), io::Error> {
    let (_, _) = (call, requirements);
    Ok(())
}
