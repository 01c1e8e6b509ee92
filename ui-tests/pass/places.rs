mod deep {
    pub(super) mod er {
        #[inbox::inbox_handler(consumer = "places")]
        pub(in super::super) async fn nested(
            _: super::super::super::Happened,
            _: ui_tests::FakeTx<'_>,
        ) -> Result<(), String> {
            Ok(())
        }
    }
}

#[test]
fn a_handler_is_a_function_also_in_another_module() {
    let _ = deep::er::nested;
}

#[test]
fn a_handler_may_be_local_with_an_event_of_its_own() {
    #[inbox::integration_event]
    #[derive(serde::Deserialize)]
    struct Local;

    #[inbox::inbox_handler(consumer = "places")]
    async fn local(_: Local, _: ui_tests::FakeTx<'_>) -> Result<(), String> {
        Ok(())
    }

    {
        #[inbox::inbox_handler(consumer = "places")]
        async fn local(_: Local, _: ui_tests::FakeTx<'_>) -> Result<(), String> {
            Ok(())
        }
    }
}
