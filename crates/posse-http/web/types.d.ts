// Wire types of the API, as far as the dashboard reads them. `docs/http.md` explains them.

type Scope = "read" | "approve" | "steer" | "write";
type Principal = { name: string; scopes: Scope[]; expires_at: string | null; version: string; workspace: string; language: string };
type Problem = { title: string; status: number; detail: string; code: string; hint?: string; retry_after_ms?: number };
type Page<T> = { items: T[]; next_cursor: string | null };

type TaskStatus = "queued" | "running" | "interrupted" | "completed" | "partial" | "failed" | "cancelled";
type GroupName = "needs_input" | "working" | "completed";
type Activity = { kind: string; since: string; tool: string | null; summary: string | null; until: string | null };
type Spending = { tasks: number; turns: number; input_tokens: number; output_tokens: number; cost_usd: number | null };
type Question = { task_id: string; id: number; question: string; options: string[] };
type Task = {
  task_id: string; session_id: string; parent: string | null; agent: string; title: string; workspace: string;
  status: TaskStatus; group: GroupName; activity: Activity | null; approval: string | null; question: Question | null;
  model: string | null; turns: number; turns_max: number | null;
  context: { used_tokens: number; window_tokens: number | null } | null;
  spending: Spending; tree: Spending; cancel_requested: boolean;
  driver: { process: string; epoch: number; seen_at: string } | null;
  created_at: string; updated_at: string; ended_at: string | null;
  headline?: string | null; verified?: { passed: number; total: number } | null; in_doubt?: number;
};
type Bounds = { input_tokens: number | null; output_tokens: number | null; cost_usd: number | null };
type Amounts = { input_tokens: number; output_tokens: number; cost_usd: number };
type Spec = {
  task: string; model: string; mode: string; tools: string[]; sandbox: string; directory: string; worktree: boolean;
  write_paths: string[]; depends_on: string[]; verify: string[]; detached: boolean; turns_max: number;
  tool_calls_max: number; wall_ms_max: number; caps: Bounds; notes: string[];
};
type FailedCall = { call: string; tool: string; why: string | null; refused: boolean };
type Usage = { input_tokens: number; output_tokens: number; cache_read_tokens: number; cache_write_tokens: number; reasoning_tokens: number; estimated: boolean; cost_usd: number | null };
type Evidence = { command: string; passed: boolean; ending: string; duration_ms: number; output: string };
type Outcome = {
  status: TaskStatus; reason: string; detail: string | null; text: string; text_chars: number; data: unknown;
  schema_errors: string[]; evidence: Evidence[]; turns: number; tool_calls: number; usage: Usage;
  changed_files: string[]; in_doubt: { call: string; tool: string; about: string }[]; refused_tools: string[]; warnings: string[];
};
type Detail = { task: Task; request: Spec; descendants: Record<string, number>; failed_calls: FailedCall[]; outcome: Outcome | null };
type Approval = {
  approval: string; status: "open" | "approved" | "denied" | "closed"; task_id: string; session_id: string; path: string[];
  agent: string; call: string; tool: string; arguments: string; hash: string; why: string; covers: string[]; shown: any;
  asked_at: string; deadline_at: string; default: "approve" | "deny"; closed: string | null;
  answer: { scope: string; reason: string | null; by: string; answered_at: string; expires_at: string | null } | null;
};
type AnswerScope = "once" | "task" | "subtree" | "session";
type Lease = { task_id: string; agent: string; state: "held" | "expired" | "dead"; workspace: string; paths: string[]; acquired_at: string; expires_at: string; process: string; epoch: number; token: number };
type ChangedFile = { path: string; change: string; added: number | null; removed: number | null; tasks: string[]; gap: string | null; diff: string | null };
type Changes = { task_id: string; worktree: boolean; applied: boolean; files: ChangedFile[]; notes: string[]; patch: string };
type BudgetNode = { task_id: string; parent: string | null; agent: string; status: TaskStatus; caps: Bounds; spent: Amounts; reserved: Amounts; left: Bounds };
type UsageLine = { name: string; spending: Spending; cached_tokens: number };
type UsageReport = { by: string; items: UsageLine[]; total: UsageLine };
type Session = { session_id: string; title: string; workspace: string; archived: boolean; tasks: number; keys: number; total_size_tokens: number; limit_tokens: number; created_at: string; archived_at: string | null };
type ContextValue = { key: string; version: number; size_tokens: number; written_by: string; written_at: string; previous_version: number | null; expires_at: string | null; readable_by: string[] | null; writable_by: string[] | null; value: string | null; action?: string };
type ContextListing = { session_id: string; keys: ContextValue[]; total_size_tokens: number; limit_tokens: number; snapshots: { label: string; taken_by: string; taken_at: string; keys: number; total_size_tokens: number }[] };
type Agent = { name: string; description: string; state: string; model: string | null; max_turns: number | null; tools: string[]; source: string; remarks: { severity: string; line: number | null; text: string; hint: string | null }[] };
type CallRecord = { task_id: string; call: string; tool: string; arguments: any; result: string | null; full_result: string | null; is_error: boolean; in_doubt: boolean; duration_ms: number | null; changed_files: string[] };
type EventLine = { v: number; seq?: number; task_id: string; at: string; type: string; [field: string]: any };
type TranscriptLine = { type: string; role?: string; task_id: string; [field: string]: any };
type Receipt = { id: number; sign: string; text: string; far: string; action?: { label: string; run: () => void } };
