//! One ledger for a tree of tasks, shared by everything that runs in it.

use std::sync::{Arc, Mutex, MutexGuard};

use posse_core::budget::{AccountId, Amount, Caps, Hold, Ledger, Shortfall};
use posse_core::usage::{Price, Usage};

/// A task's account in the shared ledger. It gives back what it reserved when it is dropped.
pub struct Account {
    ledger: Arc<Mutex<Ledger>>,
    id: AccountId,
}

impl Account {
    /// The account of a whole tree.
    pub fn root(caps: Caps) -> Self {
        let (ledger, id) = Ledger::new(caps);
        Self { ledger: Arc::new(Mutex::new(ledger)), id }
    }

    pub fn child(&self, caps: Caps) -> Result<Self, Shortfall> {
        let id = self.lock().open(self.id, caps)?;
        Ok(Self { ledger: self.ledger.clone(), id })
    }

    pub(crate) fn spent(&self) -> Amount {
        self.lock().spent(self.id)
    }

    pub(crate) fn authorise(&self, amount: Amount, keep: Amount) -> Result<Hold, Shortfall> {
        self.lock().authorise(self.id, amount, keep)
    }

    pub(crate) fn settle(&self, hold: Hold, spent: Amount) {
        self.lock().settle(hold, spent);
    }

    pub(crate) fn charge(&self, spent: Amount) {
        self.lock().charge(self.id, spent);
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        // The ledger's own operations do not panic half-way, so a poisoned lock still guards a whole ledger.
        self.ledger.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.lock().close(self.id);
    }
}

/// What a usage means in a ledger. Without a price the cost is unknown and counts as nothing.
pub fn amount(usage: &Usage, price: Option<&Price>) -> Amount {
    Amount {
        input_tokens: usage.input,
        output_tokens: usage.output,
        cost_micros: price.map_or(0, |price| price.micros(usage)),
    }
}

/// The most a call with this usage can cost, for asking beforehand.
pub fn amount_at_most(usage: &Usage, price: Option<&Price>) -> Amount {
    let cost_micros = price.map_or(0, |price| price.micros_at_most(usage));
    Amount { cost_micros, ..amount(usage, None) }
}
