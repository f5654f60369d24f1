//! One budget ledger for a tree of tasks, shared by all of its runs.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use posse_core::budget::{
    AccountId, Amount, BudgetCaps, BudgetLedger, BudgetShortfall, CallNeed, FittedCall, LedgerHold,
};
use posse_core::usage::{ByModel, Price, Usage};
use posse_core::{Error, ErrorCode};
use posse_messages::localized;
use tokio::time::Instant;

use crate::ports::CallAllowance;

/// A task's account in the shared ledger. Dropping it releases its reservations.
pub struct TaskAccount {
    ledger: Arc<Mutex<BudgetLedger>>,
    id: AccountId,
}

impl TaskAccount {
    /// Creates the account of a whole tree.
    pub fn root(caps: BudgetCaps) -> Self {
        let (ledger, id) = BudgetLedger::new(caps);
        Self { ledger: Arc::new(Mutex::new(ledger)), id }
    }

    /// Opens a child account with its own caps, reserved from this one.
    pub fn child(&self, caps: BudgetCaps) -> Result<Self, BudgetShortfall> {
        let id = self.lock().open(self.id, caps)?;
        Ok(Self { ledger: self.ledger.clone(), id })
    }

    /// Returns the spending charged to this account so far.
    pub fn spent(&self) -> Amount {
        self.lock().spent(self.id)
    }

    /// Returns the rest of each capped resource.
    pub fn left(&self) -> BudgetCaps {
        self.lock().left(self.id)
    }

    fn authorise(&self, amount: Amount, keep: Amount) -> Result<LedgerHold, BudgetShortfall> {
        self.lock().authorise(self.id, amount, keep)
    }

    /// Clamps a call's output to the remaining budget and reserves its cost.
    fn hold(
        &self,
        tariff: &ModelTariff,
        need: &CallNeed,
    ) -> Result<(LedgerHold, FittedCall), BudgetShortfall> {
        let mut ledger = self.lock();
        let call = need.fit(&ledger.left(self.id), tariff.dearest().as_ref())?;
        let (wanted, keep) = (tariff.at_most(&call.wanted), tariff.at_most(&call.keep));
        Ok((ledger.authorise(self.id, wanted, keep)?, call))
    }

    /// Settles a hold, if there is one, with the actual spending.
    fn pay(&self, hold: Option<LedgerHold>, spent: Amount) {
        match hold {
            Some(hold) => self.lock().settle(hold, spent),
            None => self.charge(spent),
        }
    }

    pub(crate) fn charge(&self, spent: Amount) {
        self.lock().charge(self.id, spent);
    }

    fn lock(&self) -> MutexGuard<'_, BudgetLedger> {
        // Ledger operations do not panic half-way, so a poisoned lock still guards a consistent ledger.
        self.ledger.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for TaskAccount {
    fn drop(&mut self) {
        self.lock().close(self.id);
    }
}

/// Prices of the models that may answer a call, by the names they answer with. A model without a price counts in tokens
/// only.
#[derive(Debug, Clone, Default)]
pub struct ModelTariff {
    models: Vec<ModelPrice>,
    /// The model that takes over when none of the others exists. Nothing is reserved at its price before that.
    default: Option<ModelPrice>,
}

type ModelPrice = (String, Option<Price>);

impl ModelTariff {
    /// Creates a tariff from model names and prices.
    pub fn new(models: impl IntoIterator<Item = (String, Option<Price>)>) -> Self {
        Self { models: models.into_iter().collect(), default: None }
    }

    pub fn with_default(mut self, model: String, price: Option<Price>) -> Self {
        self.default = Some((model, price));
        self
    }

    /// Returns the tariff of a run after these models answered: the default model's alone once it took over.
    pub(crate) fn after(&self, answered_by: &ByModel) -> Cow<'_, Self> {
        match &self.default {
            Some(default) if takes_over(&default.0, answered_by) => Cow::Owned(Self::new([default.clone()])),
            _ => Cow::Borrowed(self),
        }
    }

    /// Finds a model without a known price, which makes a cost limit impossible; `asked` if the tariff is empty.
    pub fn unpriced<'a>(&'a self, asked: &'a str) -> Option<&'a str> {
        if self.models.is_empty() {
            return Some(asked);
        }
        self.models.iter().find(|(_, price)| price.is_none()).map(|(model, _)| model.as_str())
    }

    /// Returns the cost of a task in millionths of a dollar; `None` if a part has no price.
    pub fn cost(&self, usage: &Usage, answered_by: &ByModel) -> Option<u64> {
        let (mut micros, mut lost) = (0u64, *usage);
        for (model, part) in answered_by.iter() {
            micros = micros.saturating_add(self.price(model)?.micros(part));
            lost = lost.without(part);
        }
        if lost.total() == 0 && !answered_by.is_empty() {
            return Some(micros);
        }
        Some(micros.saturating_add(self.dearest()?.micros(&lost)))
    }

    /// Converts a task's usage into an amount for the ledger: at the journaled cost, because another model may have answered
    /// before, else at today's prices.
    pub(crate) fn used(&self, usage: &Usage, answered_by: &ByModel) -> Amount {
        let micros = usage.cost_micros.or_else(|| self.cost(usage, answered_by));
        in_tokens(usage, micros.unwrap_or(0))
    }

    pub(crate) fn of_reply(&self, model: &str, usage: &Usage) -> Amount {
        in_tokens(usage, self.price(model).map_or(0, |price| price.micros(usage)))
    }

    /// Converts attempts without an answer. Which model made them is unknown, so the highest price counts.
    pub(crate) fn of_lost(&self, usage: &Usage) -> Amount {
        in_tokens(usage, self.dearest().map_or(0, |price| price.micros(usage)))
    }

    /// Adds the cost to the usage of a reply.
    pub(crate) fn priced(&self, model: &str, usage: Usage) -> Usage {
        usage.costing(self.price(model).map(|price| price.micros(&usage)))
    }

    /// Adds the cost to the usage of attempts without an answer, unless there was none.
    pub(crate) fn priced_lost(&self, usage: Usage) -> Usage {
        match usage.is_nothing() {
            true => usage,
            false => usage.costing(self.dearest().map(|price| price.micros(&usage))),
        }
    }

    /// Returns the maximum cost of a call with this usage, for its reservation.
    pub(crate) fn at_most(&self, usage: &Usage) -> Amount {
        in_tokens(usage, self.dearest().map_or(0, |price| price.micros_at_most(usage)))
    }

    /// Returns the price of a model; the highest one for an unlisted name, which is an alias of a listed model.
    fn price(&self, model: &str) -> Option<Price> {
        match self.models.iter().chain(&self.default).find(|(name, _)| name == model) {
            Some((_, price)) => *price,
            None => self.dearest(),
        }
    }

    /// Combines the highest price of each kind of token.
    fn dearest(&self) -> Option<Price> {
        let prices = self.models.iter().filter_map(|(_, price)| *price);
        prices.reduce(|a, b| Price {
            input: a.input.max(b.input),
            output: a.output.max(b.output),
            cache_read: Some(a.cache_read.unwrap_or(a.input).max(b.cache_read.unwrap_or(b.input))),
            cache_write: Some(a.cache_write.unwrap_or(a.input).max(b.cache_write.unwrap_or(b.input))),
        })
    }
}

/// Tells whether the default model has taken over a run. Then the models before it are not asked again.
pub fn takes_over(default: &str, answered_by: &ByModel) -> bool {
    answered_by.contains(default)
}

fn in_tokens(usage: &Usage, cost_micros: u64) -> Amount {
    Amount { input_tokens: usage.input, output_tokens: usage.output, cost_micros }
}

/// A budget reservation for a call that is about to be made. Dropping it releases the reservation.
pub(crate) struct BudgetHold {
    account: Arc<TaskAccount>,
    hold: Option<LedgerHold>,
    call: FittedCall,
}

impl BudgetHold {
    /// Reserves the maximum cost of a call; fails if the budget does not cover it.
    pub fn open(
        account: &Arc<TaskAccount>,
        tariff: &ModelTariff,
        need: &CallNeed,
    ) -> Result<Self, BudgetShortfall> {
        let (hold, call) = account.hold(tariff, need)?;
        Ok(Self { account: account.clone(), hold: Some(hold), call })
    }
}

impl Drop for BudgetHold {
    fn drop(&mut self) {
        if let Some(hold) = self.hold.take() {
            self.account.pay(Some(hold), Amount::default());
        }
    }
}

/// Payment for one model call: a hold for the current attempt, and the usage of failed ones.
pub(crate) struct CallPayment<'a> {
    account: &'a TaskAccount,
    tariff: &'a ModelTariff,
    need: CallNeed,
    began: Instant,
    time_left: Duration,
    queue: Mutex<QueuedTime>,
    state: Mutex<AttemptPayments>,
}

/// Time that the call waited for the rate limit.
#[derive(Default)]
struct QueuedTime {
    before: Duration,
    since: Option<Instant>,
}

struct AttemptPayments {
    /// `None` after a further attempt was refused.
    hold: Option<LedgerHold>,
    call: FittedCall,
    /// Usage charged for failed attempts.
    charged: Usage,
    /// The default model's tariff, once that model is asked.
    tariff: Option<ModelTariff>,
    /// The last attempt has failed and the next one has not begun.
    between_attempts: bool,
}

impl<'a> CallPayment<'a> {
    /// Reserves the cost of the first attempt, unless `held` already does.
    pub fn open(
        account: &'a TaskAccount,
        tariff: &'a ModelTariff,
        need: &CallNeed,
        time_left: Duration,
        held: Option<BudgetHold>,
    ) -> Result<Self, BudgetShortfall> {
        let held = held.and_then(|mut held| Some((held.hold.take()?, held.call)));
        let (hold, call) = match held {
            Some(held) => held,
            None => account.hold(tariff, need)?,
        };
        let charged = Usage::default();
        let payments =
            AttemptPayments { hold: Some(hold), call, charged, tariff: None, between_attempts: false };
        let (began, queue, state) = (Instant::now(), Mutex::default(), Mutex::new(payments));
        Ok(Self { account, tariff, need: *need, began, time_left, queue, state })
    }

    /// Returns the output tokens that the call may take.
    pub fn output_tokens(&self) -> u32 {
        self.payments().output_tokens()
    }

    /// Returns the time the call waited in the rate governor's queue. It does not count as the run's time.
    pub fn queued(&self) -> Duration {
        let queue = self.queue();
        queue.before + queue.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Tells whether the call is in the rate governor's queue now.
    pub fn is_queued(&self) -> bool {
        self.queue().since.is_some()
    }

    /// Tells whether no attempt is under way: the call waits in the queue, or between two attempts.
    pub fn is_idle(&self) -> bool {
        self.is_queued() || self.payments().between_attempts
    }

    /// Resolves when the run has no time left.
    pub async fn out_of_time(&self) {
        // While the call is queued no time passes for the run, so a slow poll is enough.
        const QUEUED_LOOK: Duration = Duration::from_millis(50);
        loop {
            match self.time_left() {
                Duration::ZERO => return,
                left if self.is_queued() => tokio::time::sleep(left.max(QUEUED_LOOK)).await,
                left => tokio::time::sleep(left).await,
            }
        }
    }

    /// Settles the hold with the actual usage: of the reply, if there is one, and of attempts without an answer.
    pub fn settle(&self, reply: Option<(&str, &Usage)>, lost: &Usage) {
        let mut payments = self.payments();
        let lost = payments.tariff(self.tariff).of_lost(&lost.without(&payments.charged));
        let reply = reply.map_or(Amount::default(), |(model, usage)| self.tariff.of_reply(model, usage));
        self.account.pay(payments.hold.take(), reply);
        self.account.charge(lost);
    }

    /// Warns if the call was billed above its hold and a limit is exceeded. No further call is authorized then.
    pub fn overrun(&self, usage: &Usage) -> Option<String> {
        let Usage { input, output, .. } = self.payments().call.wanted;
        let was_bounded = usage.input <= input && usage.output <= output;
        let overrun = self.account.lock().overrun(self.account.id).filter(|_| !was_bounded)?;
        Some(format!(
            "the budget is exceeded ({overrun}): the provider counted {} input and {} output tokens \
             for a call that should take at most {input} and {output}",
            usage.input, usage.output
        ))
    }

    /// Adds the cost to the usage of attempts without an answer.
    pub fn priced_lost(&self, usage: Usage) -> Usage {
        self.payments().tariff(self.tariff).priced_lost(usage)
    }

    /// Returns the usage of failed attempts so far.
    pub fn charged(&self) -> Usage {
        self.payments().charged
    }

    fn queue(&self) -> MutexGuard<'_, QueuedTime> {
        self.queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn payments(&self) -> MutexGuard<'_, AttemptPayments> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl AttemptPayments {
    fn output_tokens(&self) -> u32 {
        u32::try_from(self.call.wanted.output).unwrap_or(u32::MAX)
    }

    fn tariff<'a>(&'a self, usual: &'a ModelTariff) -> &'a ModelTariff {
        self.tariff.as_ref().unwrap_or(usual)
    }

    /// Settles the hold with the usage of failed attempts since the last time.
    fn pay_lost(&mut self, account: &TaskAccount, usual: &ModelTariff, lost: &Usage) {
        let fresh = lost.without(&self.charged);
        let amount = self.tariff(usual).of_lost(&fresh);
        account.pay(self.hold.take(), amount);
        self.charged.add(&fresh);
    }
}

impl CallAllowance for CallPayment<'_> {
    fn time_left(&self) -> Duration {
        let used = self.began.elapsed().saturating_sub(self.queued());
        self.time_left.saturating_sub(used)
    }

    fn again(&self, lost: &Usage) -> Result<(), String> {
        let mut payments = self.payments();
        payments.pay_lost(self.account, self.tariff, lost);
        let (tariff, FittedCall { wanted, keep }) = (payments.tariff(self.tariff), payments.call);
        let [wanted, keep] = [wanted, keep].map(|usage| tariff.at_most(&usage));
        let hold = self.account.authorise(wanted, keep).map_err(|shortfall| shortfall.to_string())?;
        payments.hold = Some(hold);
        payments.between_attempts = true;
        Ok(())
    }

    fn attempt_begins(&self) {
        self.payments().between_attempts = false;
    }

    fn again_by_default(&self, lost: &Usage, output_tokens: u32) -> Result<u32, String> {
        let Some((model, price)) = self.tariff.default.clone() else {
            return self.again(lost).map(|()| output_tokens);
        };
        let mut payments = self.payments();
        payments.pay_lost(self.account, self.tariff, lost);
        if price.is_none() && self.account.left().cost_micros.is_some() {
            return Err(format!(
                "the price of `{model}` is not known, so the limit on the cost could not be kept"
            ));
        }
        let tariff = ModelTariff::new([(model, price)]);
        let (hold, call) = self.account.hold(&tariff, &self.need).map_err(|missing| missing.to_string())?;
        (payments.hold, payments.call, payments.tariff) = (Some(hold), call, Some(tariff));
        Ok(payments.output_tokens())
    }

    fn queues(&self) {
        self.queue().since.get_or_insert_with(Instant::now);
    }

    fn served(&self) {
        let mut queue = self.queue();
        if let Some(since) = queue.since.take() {
            queue.before += since.elapsed();
        }
    }
}

/// Creates the error for a model without a known price in a run with a cost limit.
pub fn unknown_price(model: &str) -> Error {
    Error::new(ErrorCode::InvalidRequest, localized!("model-price-unknown", model))
        .hint(localized!("model-price-unknown-hint", model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_for_a_call_is_held_once_and_given_back_if_it_is_not_made() {
        let caps = BudgetCaps { input_tokens: Some(10), ..BudgetCaps::default() };
        let (account, tariff) = (Arc::new(TaskAccount::root(caps)), ModelTariff::default());
        let (six, nothing) = (CallNeed::answer(6, 0), Usage::default());
        let hold = || BudgetHold::open(&account, &tariff, &six);
        let held = hold().unwrap();
        assert!(hold().is_err());
        drop(held);
        let held = hold().unwrap();
        let purse = CallPayment::open(&account, &tariff, &six, Duration::MAX, Some(held)).unwrap();
        assert!(hold().is_err());
        purse.settle(Some(("m", &Usage { input: 4, ..Usage::default() })), &nothing);
        assert_eq!(account.spent().input_tokens, 4);
        assert!(hold().is_ok());
    }
}
