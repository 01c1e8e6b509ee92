use std::io;

use inbox::inbox_handler;
use ui_tests::FakeTx;

use super::Happened;

macro_rules! handlers {
    ($consumer:literal: $($name:ident($event:ty, $tx:ty) $order:expr, $timeout:expr, $body:block)*) => {
        $(
            #[inbox_handler(consumer = $consumer, order = $order, timeout = $timeout)]
            async fn $name(event: $event, tx: $tx) -> Result<(), io::Error> {
                let (_, _) = (event, tx);
                $body
                Ok(())
            }
        )*
    };
}

handlers! {
    "macro_rules":
    first(Happened, FakeTx<'_>) 1, "1s", { let __event = 1; let _ = __event; }
    second(&Happened, FakeTx<'_>) -1, "2s", {}
}

macro_rules! handler_with_body {
    ($body:block) => {
        #[inbox_handler(consumer = "macro_rules")]
        async fn with_body(_: Happened, _: FakeTx<'_>) -> Result<(), io::Error>
        $body
    };
}

handler_with_body!({ Ok(()) });
