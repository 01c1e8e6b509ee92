//! The proof: what the database holds, against what the distinct events add up to.

use std::collections::{BTreeMap, HashMap};

use comfy_table::{CellAlignment, Table, presets};

use crate::database::StockRow;
use crate::fact::Fact;

/// One sku: what it must be and what it is.
#[derive(Debug)]
pub(crate) struct Line {
    sku: String,
    expected: Pieces,
    found: Option<Pieces>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Pieces {
    on_hand: i64,
    reserved: i64,
}

impl Line {
    fn is_exact(&self) -> bool {
        self.found == Some(self.expected)
    }
}

/// Compares row by row. A row that should not be there is a difference too.
pub(crate) fn compare(facts: &[Fact], rows: &[StockRow]) -> Vec<Line> {
    let expected = add_up(facts);
    let mut found: BTreeMap<&str, Pieces> = BTreeMap::new();
    for StockRow { sku, on_hand, reserved } in rows {
        found.insert(sku, Pieces { on_hand: *on_hand, reserved: *reserved });
    }
    let mut lines = Vec::new();
    for (sku, expected) in expected {
        let found = found.remove(sku);
        lines.push(Line { sku: sku.to_owned(), expected, found });
    }
    for (sku, pieces) in found {
        let expected = Pieces::default();
        lines.push(Line { sku: sku.to_owned(), expected, found: Some(pieces) });
    }
    lines
}

/// The stock after `facts`, without a database.
fn add_up(facts: &[Fact]) -> BTreeMap<&str, Pieces> {
    let mut stock: BTreeMap<&str, Pieces> = BTreeMap::new();
    let mut orders: HashMap<&str, (&str, i64)> = HashMap::new();
    for fact in facts {
        match fact {
            Fact::Received { sku, quantity } => stock.entry(sku).or_default().on_hand += quantity,
            Fact::Placed { order_id, sku, quantity } => {
                orders.insert(order_id, (sku, *quantity));
                stock.entry(sku).or_default().reserved += quantity;
            }
            Fact::Cancelled { order_id } => {
                if let Some((sku, quantity)) = orders.remove(order_id.as_str()) {
                    stock.entry(sku).or_default().reserved -= quantity;
                }
            }
        }
    }
    stock
}

/// The proof as a table, its verdict, and whether it holds.
pub(crate) fn render(lines: &[Line]) -> (Table, String, bool) {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["sku", "on_hand", "from events", "reserved", "from events", ""]);
    for line in lines {
        let found = |pick: fn(Pieces) -> i64| {
            line.found.map_or_else(|| "missing".to_owned(), |pieces| pick(pieces).to_string())
        };
        table.add_row([
            line.sku.clone(),
            found(|pieces| pieces.on_hand),
            line.expected.on_hand.to_string(),
            found(|pieces| pieces.reserved),
            line.expected.reserved.to_string(),
            if line.is_exact() { "✓" } else { "✗" }.to_owned(),
        ]);
    }
    for column in table.column_iter_mut().skip(1).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let (all, wrong) = (lines.len(), lines.iter().filter(|line| !line.is_exact()).count());
    let verdict = match wrong {
        0 => format!("{all} of {all} skus as the distinct events add up: exact"),
        _ => format!("{wrong} of {all} skus differ from what the distinct events add up to"),
    };
    (table, verdict, wrong == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Vec<Fact> {
        let tea = || "tea".to_owned();
        let placed =
            |id: &str, quantity| Fact::Placed { order_id: id.into(), sku: tea(), quantity };
        vec![
            Fact::Received { sku: tea(), quantity: 9 },
            placed("a", 3),
            placed("b", 2),
            Fact::Cancelled { order_id: "a".into() },
        ]
    }

    fn row(sku: &str, on_hand: i64, reserved: i64) -> StockRow {
        StockRow { sku: sku.into(), on_hand, reserved }
    }

    #[test]
    fn the_right_stock_is_exact() {
        let (table, verdict, holds) = render(&compare(&facts(), &[row("tea", 9, 2)]));
        assert!(holds && verdict.ends_with("exact"), "{verdict}");
        assert_eq!(table.to_string().matches('✓').count(), 1);
    }

    #[test]
    fn a_wrong_a_missing_and_a_foreign_row_are_differences() {
        let wrong: [&[StockRow]; 5] = [
            &[row("tea", 18, 2)],
            &[row("tea", 9, 5)],
            &[row("tea", 9, 2), row("mate", 1, 0)],
            &[row("tea", 9, 2), row("mate", 0, 1)],
            &[],
        ];
        for rows in wrong {
            let (table, verdict, holds) = render(&compare(&facts(), rows));
            assert!(!holds && !verdict.contains("exact"), "{verdict}");
            assert!(table.to_string().contains('✗'), "{table}");
        }
    }
}
