//! What a task may do. A grant is only made for the root or by narrowing another one.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Canonical names.
    tools: BTreeSet<String>,
    /// How many more levels of delegation are allowed below this task.
    depth: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Allow,
    /// Why, in words that help the model to do something else.
    Deny(String),
}

impl Grant {
    /// What the operator gives to a session. The only grant that is not a narrowing.
    pub fn root(tools: impl IntoIterator<Item = String>, depth: u32) -> Self {
        Self { tools: tools.into_iter().collect(), depth }
    }

    /// A child's grant: what it asks for, as far as this grant has it; one level less of delegation.
    /// `None` asks for everything.
    pub fn narrow(&self, requested: Option<&[String]>) -> Grant {
        let tools = match requested {
            None => self.tools.clone(),
            Some(names) => names.iter().filter(|name| self.tools.contains(*name)).cloned().collect(),
        };
        let mut child = Grant { tools, depth: self.depth.saturating_sub(1) };
        // At depth 0 the tool is not offered at all: a model that never sees it cannot waste turns being refused.
        if child.depth == 0 {
            child.tools.remove("subagent");
        }
        child
    }

    /// The same task with fewer tools.
    pub fn keep(&self, names: &[String]) -> Grant {
        let tools = names.iter().filter(|name| self.tools.contains(*name)).cloned().collect();
        Grant { tools, depth: self.depth }
    }

    /// What this grant has and the other one lacks.
    pub fn beyond(&self, other: &Grant) -> Vec<String> {
        self.tools.difference(&other.tools).cloned().collect()
    }

    /// The same task without these tools.
    pub fn without(&self, names: &[String]) -> Grant {
        let tools = self.tools.iter().filter(|name| !names.contains(name)).cloned().collect();
        Grant { tools, depth: self.depth }
    }

    pub fn decide(&self, tool: &str) -> Decision {
        if self.tools.contains(tool) {
            return Decision::Allow;
        }
        let allowed: Vec<&str> = self.tools.iter().map(String::as_str).collect();
        let allowed = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
        Decision::Deny(format!("the tool `{tool}` is not granted to this task; granted: {allowed}"))
    }

    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(String::as_str)
    }

    pub fn depth(&self) -> u32 {
        self.depth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names() -> impl Strategy<Value = Vec<String>> {
        proptest::collection::vec("[a-e]", 0..6)
    }

    proptest! {
        #[test]
        fn a_child_never_has_more_than_its_parent(
            root in names(), depth in 0u32..4, requests in proptest::collection::vec(proptest::option::of(names()), 0..6)
        ) {
            let mut parent = Grant::root(root, depth);
            for request in requests {
                let child = parent.narrow(request.as_deref());
                prop_assert!(child.tools.is_subset(&parent.tools));
                prop_assert!(child.depth <= parent.depth);
                for tool in ["a", "b", "c", "d", "e"] {
                    if child.decide(tool) == Decision::Allow {
                        prop_assert_eq!(parent.decide(tool), Decision::Allow);
                    }
                }
                parent = child;
            }
        }
    }
}
