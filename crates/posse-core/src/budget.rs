//! Budgets as a tree. A child's share is reserved from its parent when it starts, so that concurrent children can never
//! spend the same money; the rest is released when it ends.
//!
//! For each kind of amount, an account's spending is charged to the nearest account at or above it that has a cap (or to
//! the root). A capped child has reserved its cap there already, so no check further up is needed.

use serde::{Deserialize, Serialize};

use crate::usage::{Price, Usage};

/// Minimum output tokens of a step with tools: with fewer its calls would be cut off.
const STEP_TOKENS_MIN: u64 = 256;
/// Minimum output tokens of an answer.
const ANSWER_TOKENS_MIN: u64 = 64;
/// Input tokens that a wrap-up adds to the conversation beside the reply before it: the request to report, and stubs of
/// elided results.
const WRAP_UP_SLACK: u64 = 512;

/// Upper bounds; `None` means "as much as the parent has".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetCaps {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub cost_micros: Option<u64>,
}

impl BudgetCaps {
    /// Returns the tighter of the two caps, field by field.
    pub fn least(&self, other: &BudgetCaps) -> BudgetCaps {
        let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        BudgetCaps {
            input_tokens: least(self.input_tokens, other.input_tokens),
            output_tokens: least(self.output_tokens, other.output_tokens),
            cost_micros: least(self.cost_micros, other.cost_micros),
        }
    }

    /// Returns the caps of a resumed task, which had these, under today's: the cost can be lowered, or is `named` anew, and
    /// token limits are set anew.
    pub fn renewed(&self, today: &BudgetCaps, named: bool) -> BudgetCaps {
        BudgetCaps {
            input_tokens: today.input_tokens.or(self.input_tokens),
            output_tokens: self.output_tokens,
            cost_micros: if named { today.cost_micros } else { self.least(today).cost_micros },
        }
    }
}

/// An amount of tokens and money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost_micros: u64,
}

/// Handle of an account in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AccountId(usize);

/// A reservation of up to an amount, to be settled with the actual spending.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a hold that is not settled blocks its amount for ever"]
pub struct LedgerHold {
    account: AccountId,
    amount: Amount,
}

/// A refused authorization: the resource, the need and the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetShortfall {
    pub kind: &'static str,
    pub wanted: u64,
    pub left: u64,
    /// Input tokens without which the call would fit; 0 if a shorter input does not help.
    pub input_excess: u64,
}

/// Spending beyond a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetOverrun {
    kind: &'static str,
    spent: u64,
    limit: u64,
}

impl std::fmt::Display for BudgetOverrun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind, spent, limit } = *self;
        if kind == COST {
            let [spent, limit] = [spent, limit].map(|micros| format!("{:.4}", micros as f64 / 1e6));
            return write!(f, "${spent} spent of ${limit}");
        }
        write!(f, "{spent} {kind} spent of {limit}")
    }
}

/// Tokens of a model call: its input as estimated, and how far its output can be clamped to fit the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallNeed {
    input: u64,
    output_most: u64,
    output_least: u64,
    /// Maximum output tokens of the wrap-up that has to stay affordable afterwards.
    wrap_up: Option<u64>,
}

/// A call whose output fits the budget, and the usage that must stay available after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FittedCall {
    pub wanted: Usage,
    pub keep: Usage,
}

impl CallNeed {
    /// A step with tools, after which a wrap-up has to be affordable.
    pub fn step(input: u64, output: u32, wrap_up: u32) -> Self {
        let (output_most, wrap_up) = (u64::from(output), Some(u64::from(wrap_up)));
        Self { input, output_most, output_least: STEP_TOKENS_MIN.min(output_most), wrap_up }
    }

    /// A request that ends the run, or that asks for nothing but an answer.
    pub fn answer(input: u64, output: u32) -> Self {
        let output_most = u64::from(output);
        Self { input, output_most, output_least: ANSWER_TOKENS_MIN.min(output_most), wrap_up: None }
    }

    /// Clamps the output to the remaining budget. Fails if not even the minimum output fits.
    pub fn fit(&self, left: &BudgetCaps, price: Option<&Price>) -> Result<FittedCall, BudgetShortfall> {
        let short = |output| self.at(output).shortfall(left, price);
        if short(self.output_most).is_none() {
            return Ok(self.at(self.output_most));
        }
        if let Some(missing) = short(self.output_least) {
            return Err(BudgetShortfall { input_excess: self.input_excess(&missing, price), ..missing });
        }
        // The cost grows with the output, so binary search finds the longest that fits.
        let (mut fits, mut too_much) = (self.output_least, self.output_most);
        while too_much - fits > 1 {
            let middle = fits + (too_much - fits) / 2;
            match short(middle) {
                None => fits = middle,
                Some(_) => too_much = middle,
            }
        }
        Ok(self.at(fits))
    }

    fn at(&self, output: u64) -> FittedCall {
        let usage = |input, output| Usage { input, output, ..Usage::default() };
        // A quarter of the whole is enough for a report, up to its maximum.
        let keep = self.wrap_up.map(|most| {
            let input = self.input.saturating_add(output).saturating_add(WRAP_UP_SLACK);
            usage(input, most.min((output / 3).max(ANSWER_TOKENS_MIN)))
        });
        FittedCall { wanted: usage(self.input, output), keep: keep.unwrap_or_default() }
    }

    fn input_excess(&self, missing: &BudgetShortfall, price: Option<&Price>) -> u64 {
        let times = 1 + u64::from(self.wrap_up.is_some());
        let over = (missing.wanted - missing.left).div_ceil(times);
        match missing.kind {
            INPUT => over,
            COST => price.map_or(0, |price| price.input_tokens_for(over)),
            _ => 0,
        }
    }
}

impl FittedCall {
    fn shortfall(&self, left: &BudgetCaps, price: Option<&Price>) -> Option<BudgetShortfall> {
        let cost = |usage: &Usage| price.map_or(0, |price| price.micros_at_most(usage));
        let amount = |usage: &Usage| [usage.input, usage.output, cost(usage)];
        let wanted = amount(&self.wanted).into_iter().zip(amount(&self.keep));
        let wanted = wanted.map(|(call, keep)| call.saturating_add(keep));
        wanted.zip(left.array()).zip(NAMES).find_map(|((wanted, left), kind)| {
            let left = left.filter(|left| wanted > *left)?;
            Some(BudgetShortfall { kind, wanted, left, input_excess: 0 })
        })
    }
}

/// The budget tree of a session: accounts with caps, spending and holds.
#[derive(Debug)]
pub struct BudgetLedger {
    accounts: Vec<LedgerAccount>,
}

#[derive(Debug)]
struct LedgerAccount {
    parent: Option<AccountId>,
    caps: [Option<u64>; KINDS],
    spent: [u64; KINDS],
    held: [u64; KINDS],
    open: bool,
}

const KINDS: usize = 3;
const INPUT: &str = "input tokens";
const COST: &str = "cost";
const NAMES: [&str; KINDS] = [INPUT, "output tokens", COST];

impl BudgetLedger {
    /// Creates a ledger with one root account.
    pub fn new(caps: BudgetCaps) -> (Self, AccountId) {
        let root = LedgerAccount {
            parent: None,
            caps: caps.array(),
            spent: [0; KINDS],
            held: [0; KINDS],
            open: true,
        };
        (Self { accounts: vec![root] }, AccountId(0))
    }

    /// Opens a child account and reserves its caps. A cap that is not lower than its parent's bounds nothing, so nothing
    /// is reserved for it. On a shortfall, nothing is reserved at all.
    pub fn open(&mut self, parent: AccountId, caps: BudgetCaps) -> Result<AccountId, BudgetShortfall> {
        let payers: [AccountId; KINDS] = std::array::from_fn(|kind| self.payer(parent, kind));
        let above = payers.iter().enumerate().map(|(kind, payer)| self.accounts[payer.0].caps[kind]);
        let mut caps = caps.array();
        for (cap, above) in caps.iter_mut().zip(above) {
            *cap = cap.filter(|cap| above.is_none_or(|above| *cap < above));
        }
        for kind in 0..KINDS {
            let wanted = caps[kind].unwrap_or(0);
            self.check(payers[kind], kind, wanted)?;
        }
        for kind in 0..KINDS {
            let held = &mut self.accounts[payers[kind].0].held[kind];
            *held = held.saturating_add(caps[kind].unwrap_or(0));
        }
        self.accounts.push(LedgerAccount {
            parent: Some(parent),
            caps,
            spent: [0; KINDS],
            held: [0; KINDS],
            open: true,
        });
        Ok(AccountId(self.accounts.len() - 1))
    }

    /// Reserves an amount before it is spent. `keep` must stay available beyond it, for a wrap-up turn.
    pub fn authorise(
        &mut self,
        account: AccountId,
        amount: Amount,
        keep: Amount,
    ) -> Result<LedgerHold, BudgetShortfall> {
        let (wanted, keep) = (amount.array(), keep.array());
        let payers: [AccountId; KINDS] = std::array::from_fn(|kind| self.payer(account, kind));
        for kind in 0..KINDS {
            self.check(payers[kind], kind, wanted[kind].saturating_add(keep[kind]))?;
        }
        for kind in 0..KINDS {
            let held = &mut self.accounts[payers[kind].0].held[kind];
            *held = held.saturating_add(wanted[kind]);
        }
        Ok(LedgerHold { account, amount })
    }

    /// Settles a hold with the actual spending.
    pub fn settle(&mut self, hold: LedgerHold, spent: Amount) {
        let (held, spent) = (hold.amount.array(), spent.array());
        for kind in 0..KINDS {
            let payer = self.payer(hold.account, kind);
            let account = &mut self.accounts[payer.0];
            account.held[kind] = account.held[kind].saturating_sub(held[kind]);
            account.spent[kind] = account.spent[kind].saturating_add(spent[kind]);
        }
    }

    /// Charges the earlier spending of a resumed task, without a check.
    pub fn charge(&mut self, account: AccountId, spent: Amount) {
        self.settle(LedgerHold { account, amount: Amount::default() }, spent);
    }

    /// Returns the spending charged to this account, including accounts below it that have no cap of their own.
    pub fn spent(&self, account: AccountId) -> Amount {
        let [input_tokens, output_tokens, cost_micros] = self.accounts[account.0].spent;
        Amount { input_tokens, output_tokens, cost_micros }
    }

    /// Returns the rest of each capped resource.
    pub fn left(&self, account: AccountId) -> BudgetCaps {
        let left = |kind: usize| {
            let payer = &self.accounts[self.payer(account, kind).0];
            let cap = payer.caps[kind]?;
            Some(cap.saturating_sub(payer.spent[kind].saturating_add(payer.held[kind])))
        };
        BudgetCaps { input_tokens: left(0), output_tokens: left(1), cost_micros: left(2) }
    }

    /// Returns the overrun of a limit of this account: a provider billed more than was reserved for its call.
    pub fn overrun(&self, account: AccountId) -> Option<BudgetOverrun> {
        (0..KINDS).find_map(|kind| {
            let payer = &self.accounts[self.payer(account, kind).0];
            let limit = payer.caps[kind].filter(|cap| payer.spent[kind] > *cap)?;
            Some(BudgetOverrun { kind: NAMES[kind], spent: payer.spent[kind], limit })
        })
    }

    /// Closes an account: its unspent reservation returns to its parent. Closing twice does nothing.
    pub fn close(&mut self, account: AccountId) {
        let Some(parent) = self.accounts[account.0].parent.filter(|_| self.accounts[account.0].open) else {
            return;
        };
        self.accounts[account.0].open = false;
        for kind in 0..KINDS {
            let Some(cap) = self.accounts[account.0].caps[kind] else { continue };
            let spent = self.accounts[account.0].spent[kind];
            let payer = self.payer(parent, kind);
            let above = &mut self.accounts[payer.0];
            above.held[kind] = above.held[kind].saturating_sub(cap);
            above.spent[kind] = above.spent[kind].saturating_add(spent);
        }
    }

    /// Finds the nearest account that caps this kind, or the root.
    fn payer(&self, account: AccountId, kind: usize) -> AccountId {
        let mut at = account;
        while let (None, Some(parent)) = (self.accounts[at.0].caps[kind], self.accounts[at.0].parent) {
            at = parent;
        }
        at
    }

    fn check(&self, payer: AccountId, kind: usize, wanted: u64) -> Result<(), BudgetShortfall> {
        let account = &self.accounts[payer.0];
        let Some(cap) = account.caps[kind] else { return Ok(()) };
        let left = cap.saturating_sub(account.spent[kind]).saturating_sub(account.held[kind]);
        if wanted > left {
            Err(BudgetShortfall { kind: NAMES[kind], wanted, left, input_excess: 0 })
        } else {
            Ok(())
        }
    }
}

impl BudgetCaps {
    fn array(self) -> [Option<u64>; KINDS] {
        [self.input_tokens, self.output_tokens, self.cost_micros]
    }
}

impl Amount {
    fn array(self) -> [u64; KINDS] {
        [self.input_tokens, self.output_tokens, self.cost_micros]
    }
}

impl BudgetShortfall {
    /// Says that the budget of a task cannot be reserved.
    pub fn of_reservation(&self) -> String {
        let Self { kind, wanted, left, .. } = self;
        if *kind == COST {
            let [wanted, left] = [*wanted, *left].map(|micros| format!("{:.4}", micros as f64 / 1e6));
            return format!("its budget of up to ${wanted} cannot be reserved: ${left} is left");
        }
        format!("its budget of up to {wanted} {kind} cannot be reserved: {left} are left")
    }
}

impl std::fmt::Display for BudgetShortfall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.kind == COST {
            let [wanted, left] = [self.wanted, self.left].map(|micros| micros as f64 / 1e6);
            return write!(f, "the next call needs up to ${wanted:.4}, ${left:.4} is left");
        }
        let Self { kind, wanted, left, .. } = self;
        write!(f, "the next call needs up to {wanted} {kind}, {left} are left")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Action {
        Open { parent: usize, cap: Option<u64> },
        Authorise { account: usize, wanted: u64 },
        Settle { hold: usize, share: u64 },
        Close { account: usize },
    }

    fn action() -> impl Strategy<Value = Action> {
        prop_oneof![
            (0usize..8, proptest::option::of(0u64..60))
                .prop_map(|(parent, cap)| Action::Open { parent, cap }),
            (0usize..8, 0u64..40).prop_map(|(account, wanted)| Action::Authorise { account, wanted }),
            (0usize..8, 0u64..=100).prop_map(|(hold, share)| Action::Settle { hold, share }),
            (1usize..8).prop_map(|account| Action::Close { account }),
        ]
    }

    #[test]
    fn a_task_that_goes_on_keeps_its_cost_limit_unless_a_new_one_is_named() {
        let cost = |today: Option<u64>, named: bool, before: Option<u64>| {
            let caps = |cost_micros| BudgetCaps { cost_micros, ..BudgetCaps::default() };
            caps(before).renewed(&caps(today), named).cost_micros
        };
        assert_eq!(cost(None, false, Some(500_000)), Some(500_000));
        assert_eq!(cost(Some(2_000_000), false, Some(500_000)), Some(500_000));
        assert_eq!(cost(Some(2_000_000), false, Some(5_000_000)), Some(2_000_000));
        assert_eq!(cost(Some(2_000_000), false, None), Some(2_000_000));
        assert_eq!(cost(Some(1_000_000), true, Some(500_000)), Some(1_000_000));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn spend_never_exceeds_the_budget_in_any_interleaving(
            cap in 0u64..120, actions in proptest::collection::vec(action(), 0..60)
        ) {
            let caps = |cap| BudgetCaps { output_tokens: cap, ..BudgetCaps::default() };
            let (mut ledger, root) = BudgetLedger::new(caps(Some(cap)));
            let mut accounts = vec![(root, Some(cap))];
            let mut holds = Vec::new();
            let mut spent_in_all = 0;
            for action in actions {
                match action {
                    Action::Open { parent, cap } if parent < accounts.len() => {
                        if !ledger.accounts[accounts[parent].0.0].open { continue }
                        if let Ok(id) = ledger.open(accounts[parent].0, caps(cap)) { accounts.push((id, cap)) }
                    }
                    Action::Authorise { account, wanted } if account < accounts.len() => {
                        let id = accounts[account].0;
                        if !ledger.accounts[id.0].open { continue }
                        let amount = Amount { output_tokens: wanted, ..Amount::default() };
                        if let Ok(hold) = ledger.authorise(id, amount, Amount::default()) { holds.push(hold) }
                    }
                    Action::Settle { hold, share } if hold < holds.len() => {
                        let hold = holds.swap_remove(hold);
                        let spent = hold.amount.output_tokens * share / 100;
                        spent_in_all += spent;
                        ledger.settle(hold, Amount { output_tokens: spent, ..Amount::default() });
                    }
                    Action::Close { account } if account < accounts.len() => {
                        let id = accounts[account].0;
                        // A task ends after its calls and its children have ended.
                        let busy = holds.iter().any(|h| h.account == id)
                            || ledger.accounts.iter().any(|a| a.open && a.parent == Some(id));
                        if !busy { ledger.close(id) }
                    }
                    _ => {}
                }
                prop_assert!(spent_in_all <= cap, "the tree spent {} of {}", spent_in_all, cap);
                for (account, cap) in ledger.accounts.iter().zip(accounts.iter().map(|a| a.1)) {
                    if let Some(cap) = cap { prop_assert!(account.spent[1] + account.held[1] <= cap) }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_call_is_clamped_to_the_most_that_fits_and_no_further(
            input in 0u64..5_000, output in 0u32..10_000, wrap_up in proptest::option::of(0u32..3_000),
            left_input in proptest::option::of(0u64..20_000), left_output in proptest::option::of(0u64..20_000),
            left_cost in proptest::option::of(0u64..90_000), dollars in 0.0f64..10.0
        ) {
            let need = match wrap_up {
                Some(wrap_up) => CallNeed::step(input, output, wrap_up),
                None => CallNeed::answer(input, output),
            };
            let left = BudgetCaps { input_tokens: left_input, output_tokens: left_output, cost_micros: left_cost };
            let price = Price { input: dollars, output: dollars * 3.0, cache_read: None, cache_write: Some(dollars * 1.25) };
            let fits = |output| need.at(output).shortfall(&left, Some(&price)).is_none();
            match need.fit(&left, Some(&price)) {
                Ok(call) => {
                    prop_assert!(fits(call.wanted.output));
                    prop_assert!(call.wanted.output == u64::from(output) || !fits(call.wanted.output + 1));
                    prop_assert!(call.wanted.output >= need.output_least);
                }
                Err(missing) => {
                    prop_assert!(!fits(need.output_least));
                    // Without the excess it fits, as far as the input is what was missing.
                    let shorter = CallNeed { input: input.saturating_sub(missing.input_excess), ..need };
                    let still = shorter.at(need.output_least).shortfall(&left, Some(&price));
                    if missing.input_excess > 0 && missing.input_excess <= input {
                        prop_assert!(still.is_none_or(|still| still.kind != missing.kind), "{:?} {:?}", missing, still);
                    }
                }
            }
        }
    }

    #[test]
    fn a_cap_that_is_not_below_the_one_above_it_reserves_nothing() {
        let caps = |cost_micros| BudgetCaps { cost_micros: Some(cost_micros), ..BudgetCaps::default() };
        let amount = |cost_micros| Amount { cost_micros, ..Amount::default() };
        let (mut ledger, root) = BudgetLedger::new(caps(1_000_000));
        let child = ledger.open(root, caps(5_000_000)).unwrap();
        assert_eq!(ledger.left(root).cost_micros, Some(1_000_000), "its parent can go on");
        let hold = ledger.authorise(child, amount(1_000_000), Amount::default()).unwrap();
        ledger.settle(hold, amount(600_000));
        assert_eq!(ledger.left(child).cost_micros, Some(400_000), "it has no more than its parent");
        let short = ledger.open(root, caps(800_000)).unwrap_err();
        assert_eq!(short.of_reservation(), "its budget of up to $0.8000 cannot be reserved: $0.4000 is left");
    }

    #[test]
    fn what_a_child_did_not_spend_comes_back() {
        let (mut ledger, root) =
            BudgetLedger::new(BudgetCaps { cost_micros: Some(100), ..BudgetCaps::default() });
        let amount = |cost_micros| Amount { cost_micros, ..Amount::default() };
        let child = ledger.open(root, BudgetCaps { cost_micros: Some(80), ..BudgetCaps::default() }).unwrap();
        let short = ledger.authorise(root, amount(30), Amount::default()).unwrap_err();
        assert_eq!((short.wanted, short.left), (30, 20));
        let hold = ledger.authorise(child, amount(80), Amount::default()).unwrap();
        ledger.settle(hold, amount(10));
        ledger.close(child);
        let hold = ledger.authorise(root, amount(90), Amount::default()).unwrap();
        ledger.settle(hold, amount(90));
        assert!(ledger.authorise(root, amount(1), Amount::default()).is_err());
    }
}
