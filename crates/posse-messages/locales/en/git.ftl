# Messages of `posse-git`.

## git.rs

git-path-not-text = git answered with a path that is not text
git-unreadable = it cannot be read
git-missing = git is not installed, or not on the PATH
git-missing-hint = install git 2.31 or newer
git-not-started = it cannot be started
git-too-slow = it took more than { $seconds } s
git-failed = `git { $what }` failed: { $why }

## worktree.rs

git-change-unknown = git described a change in a way that is not known
worktree-no-repository = `{ $workspace }` is in no git work tree, so no worktree of it can be made
worktree-no-repository-hint = run `git init` there, or work without `isolation: worktree`
no-git-above = there is no `.git` above it
worktree-failed =
    { $what ->
        [copy] cannot copy `{ $path }`: { $cause }
        [describe] cannot describe `{ $path }`: { $cause }
        [find] cannot find `{ $path }`: { $cause }
        [make] cannot make `{ $path }`: { $cause }
        [read] cannot read `{ $path }`: { $cause }
        [remove] cannot remove `{ $path }`: { $cause }
       *[write] cannot write `{ $path }`: { $cause }
    }

## worktree/apply.rs

apply-conflicts = nothing was applied, because of conflicts in { $conflicts }
apply-conflicts-more = nothing was applied, because of conflicts in { $conflicts } and { $more } more
apply-conflicts-hint = the changes are in { $place }: make both sides agree there or in your files, then apply again
conflict-gone = the task changed it, and it is not there any more
conflict-deleted = the task deleted it, and it was changed
conflict-kind = both sides changed what it is
conflict-places =
    { $places ->
        [one] { $places } place was changed on both sides
       *[other] { $places } places were changed on both sides
    }
conflict-binary = both sides changed it, and it is not text
apply-broke-off =
    { $done ->
        [one] { $why }; { $done } file was applied before it
       *[other] { $why }; { $done } files were applied before it
    }
apply-broke-off-hint = apply again: what is done is left as it is, the rest follows
git-no-object = git has no object { $name }
conflict-repository = it is a repository of its own, which a patch does not contain
apply-protected = nothing was applied: the task changed files that configure programs or hold secrets: { $paths }
apply-protected-hint = look at them with `posse tasks diff`; `--protected` applies them as well

## worktree/copy.rs

worktree-too-many-files = a worktree of this repository would have { $count } files
worktree-too-large = a worktree of this repository would have more than { $gib } GiB
worktree-too-much-hint = ignore what is not part of the project, or work without a worktree

## view.rs

review-no-repository = { $place } is not in a git repository
review-no-repository-hint = `posse review` looks at the changes of a git work tree: start it in one
git-no-temporary = there is no place for a temporary directory
review-base-unknown = `{ $base }` is no commit of this repository
review-commit-unknown-hint = name a commit, such as `--commit HEAD~1`
review-path-unknown = `{ $path }` is not there, and git knows nothing of that name
review-path-unknown-hint = paths count from the current directory
review-base-unknown-hint = name a branch, a tag or a commit, such as `--base main`
review-no-commit = there is no commit yet to compare with
review-no-commit-hint = leave out `--base`
review-no-common-commit = `{ $base }` and HEAD have no commit in common
review-no-common-commit-hint = in a shallow clone, fetch more of the history first

## provider.rs

worktree-not-worked-on = a worktree could not be worked on
worktree-gone = the worktree of `{ $task }` is gone
