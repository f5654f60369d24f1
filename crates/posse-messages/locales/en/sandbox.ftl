# Messages of `posse-sandbox`.

## supervisor.rs

supervisor-silent = it did not answer in time
supervisor-without-report = it ended without a report
supervisor-lost = the supervisor of the command was lost: { $how }. What was left of the command was ended (processes: { $ended }). The command may have done all, some or none of its work, and it was not repeated
supervisor-lost-hint = check its effect before you decide whether to make the call again. A command must not kill or stop its parent process
supervisor-not-started = cannot start the supervisor `{ $program }`: { $error }
supervisor-not-started-hint = check that the working directory exists and that processes and file descriptors are left

## workspace.rs

workspace-failed =
    { $what ->
        [open] cannot open the workspace `{ $root }`: { $cause }
       *[resolve] cannot resolve the workspace `{ $root }`: { $cause }
    }
workspace-failed-hint = the workspace must be an existing directory that you may enter
openat2-missing = this system cannot open files safely beneath a directory (openat2: { $cause })
openat2-missing-hint = file tools need Linux 5.6 or newer and a sandbox that permits openat2
sandbox-write-opens = `sandbox.write`: `{ $path }` would open `{ $secret }` to commands
sandbox-write-opens-hint = name what lies beside it instead
sandbox-unprotected-unknown = `sandbox.unprotected`: `{ $name }` is not a protected name
sandbox-unprotected-unknown-hint = docs/protected.md lists the protected names; write one exactly as it is there
