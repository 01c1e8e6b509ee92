//! Every statement of the stock service, in the order of an order's life. But for the tables, SQLite
//! and PostgreSQL read the same.

/// The tables. `CHECK` is the last line of defence: no bug may reserve what is not there.
pub(crate) const SQLITE_TABLES: &str = "
    CREATE TABLE IF NOT EXISTS stock (
        sku      TEXT    NOT NULL PRIMARY KEY,
        on_hand  INTEGER NOT NULL,
        reserved INTEGER NOT NULL,
        CHECK (reserved BETWEEN 0 AND on_hand)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS orders (
        order_id TEXT    NOT NULL PRIMARY KEY,
        sku      TEXT    NOT NULL,
        quantity INTEGER NOT NULL CHECK (quantity > 0),
        status   TEXT    NOT NULL CHECK (status IN ('placed', 'cancelled'))
    ) STRICT, WITHOUT ROWID";

/// The same tables.
pub(crate) const POSTGRES_TABLES: &str = "
    CREATE TABLE IF NOT EXISTS stock (
        sku      text   PRIMARY KEY,
        on_hand  bigint NOT NULL,
        reserved bigint NOT NULL,
        CHECK (reserved BETWEEN 0 AND on_hand)
    );
    CREATE TABLE IF NOT EXISTS orders (
        order_id text   PRIMARY KEY,
        sku      text   NOT NULL,
        quantity bigint NOT NULL CHECK (quantity > 0),
        status   text   NOT NULL CHECK (status IN ('placed', 'cancelled'))
    )";

/// Fails where tables of these names are somebody else's.
pub(crate) const OUR_TABLES: &str = "
    SELECT sku, on_hand, reserved, order_id, quantity, status
    FROM stock JOIN orders USING (sku) LIMIT 0";

pub(crate) const RECEIVE: &str = "
    INSERT INTO stock (sku, on_hand, reserved) VALUES ($1, $2, 0)
    ON CONFLICT (sku) DO UPDATE SET on_hand = stock.on_hand + excluded.on_hand";

pub(crate) const PLACE: &str = "
    INSERT INTO orders (order_id, sku, quantity, status) VALUES ($1, $2, $3, 'placed')
    ON CONFLICT (order_id) DO NOTHING";

pub(crate) const RESERVE: &str = "
    UPDATE stock SET reserved = reserved + $2 WHERE sku = $1 AND on_hand - reserved >= $2";

pub(crate) const CANCEL: &str = "
    UPDATE orders SET status = 'cancelled' WHERE order_id = $1 AND status = 'placed'
    RETURNING sku, quantity";

pub(crate) const RELEASE: &str = "
    UPDATE stock SET reserved = reserved - $2 WHERE sku = $1";

pub(crate) const STOCK: &str = "
    SELECT sku, on_hand, reserved FROM stock ORDER BY sku";
