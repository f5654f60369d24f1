//! Parked calls and their approvals, in memory.

use crate::ports::{ApprovalQuery, ApprovalStore, BoxFuture, unknown_approval};
use posse_core::Result;
use posse_core::approval::{ApprovalAnswer, ApprovalRequest, ParkedCall, closed_with_task};
use posse_core::id::TaskId;

use super::{MemoryState, MemoryStore};

impl MemoryState {
    pub fn park(&mut self, request: &ApprovalRequest) -> Result<ParkedCall> {
        let call = |parked: &&mut ParkedCall| {
            parked.request.task == request.task && parked.request.key == request.key
        };
        if let Some(held) = self.approvals.iter_mut().find(call) {
            *held = held.park_again(request.clone())?;
            return Ok(held.clone());
        }
        let parked = ParkedCall::new(format!("a{}", self.approvals.len() + 1), request.clone());
        self.approvals.push(parked.clone());
        Ok(parked)
    }

    pub fn answer(&mut self, id: &str, hash: &str, answer: &ApprovalAnswer) -> Result<ParkedCall> {
        let at = self.approvals.iter().position(|parked| parked.id == id);
        let at = at.ok_or_else(|| unknown_approval(id))?;
        let held = &self.approvals[at];
        if held.is_open() && !self.is_running(&held.request.task) {
            return Err(closed_with_task(id));
        }
        self.approvals[at] = held.answer(hash, answer.clone())?;
        Ok(self.approvals[at].clone())
    }

    pub fn close(&mut self, task: &TaskId, why: &str) {
        for held in self.approvals.iter_mut().filter(|parked| parked.request.task == *task) {
            *held = held.close(why);
        }
    }

    fn is_running(&self, task: &TaskId) -> bool {
        self.number(task).is_ok_and(|number| self.tasks[number].row.state.is_running())
    }

    fn fitting(&self, query: &ApprovalQuery) -> Vec<ParkedCall> {
        let fits = |parked: &&ParkedCall| match query {
            ApprovalQuery::Newest(_) => true,
            ApprovalQuery::Open => parked.is_open() && self.is_running(&parked.request.task),
            ApprovalQuery::Standing(session) => {
                parked.is_standing() && parked.request.task.session() == session
            }
            ApprovalQuery::Call(task, key) => parked.request.task == *task && parked.request.key == *key,
        };
        let mut found: Vec<ParkedCall> = self.approvals.iter().filter(fits).cloned().collect();
        if let ApprovalQuery::Newest(limit) = query {
            found.drain(..found.len().saturating_sub(*limit as usize));
        }
        found
    }
}

impl ApprovalStore for MemoryStore {
    fn park(&self, request: ApprovalRequest) -> BoxFuture<'_, Result<ParkedCall>> {
        self.write(move |state, _| state.park(&request))
    }

    fn answer<'a>(
        &'a self,
        id: &'a str,
        hash: &'a str,
        answer: ApprovalAnswer,
    ) -> BoxFuture<'a, Result<ParkedCall>> {
        let (id, hash) = (id.to_owned(), hash.to_owned());
        self.write(move |state, _| state.answer(&id, &hash, &answer))
    }

    fn close_approvals<'a>(&'a self, task: &'a TaskId, why: &'a str) -> BoxFuture<'a, Result<()>> {
        let is_open = |parked: &ParkedCall| parked.request.task == *task && parked.is_open();
        if !self.lock().approvals.iter().any(is_open) {
            return Box::pin(async { Ok(()) });
        }
        let (task, why) = (task.clone(), why.to_owned());
        self.write(move |state, _| {
            state.close(&task, &why);
            Ok(())
        })
    }

    fn approval<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<ParkedCall>> {
        let found = self.lock().approvals.iter().find(|parked| parked.id == id).cloned();
        Box::pin(async move { found.ok_or_else(|| unknown_approval(id)) })
    }

    fn approvals(&self, query: ApprovalQuery) -> BoxFuture<'_, Result<Vec<ParkedCall>>> {
        let found = self.lock().fitting(&query);
        Box::pin(async { Ok(found) })
    }
}
