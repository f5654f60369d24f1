# Messages of `posse-store`.

## fault.rs

store-no-task = the store has no task `{ $task }`
store-odd-answer = the store `{ $shown }` answered in an unexpected form
store-io = the store `{ $shown }` cannot be read or written
store-io-hint = look for disk errors in the system log; the store keeps everything it acknowledged
store-refused = the store `{ $shown }` refused a statement
store-corrupt = the store `{ $shown }` is damaged or is not a SQLite database
store-corrupt-hint = nothing was changed; keep a copy, try `sqlite3 { $shown } .recover`, then move the file and its `-wal` away to start with an empty store
store-unavailable = the store `{ $path }` cannot be opened for writing
store-unavailable-hint = check that its directory exists and is writable by this user, or choose another state directory
store-disk-full = there is no space left to write to the store `{ $path }`
store-disk-full-hint = free some space and try again, a task with `posse tasks resume`; what was acknowledged before is kept and readable
store-busy = another process holds the store `{ $path }`
store-busy-hint = look for a stopped or hanging process that uses the same state directory, and try again

## journal.rs

store-task-exists = the store already has a task `{ $task }`
store-task-exists-hint = choose another id, or resume the task that has it
owner-lost = task `{ $task }` is driven by `{ $owner }` at epoch { $current }; this driver had epoch { $epoch }
owner-lost-hint = stop this run; the other driver goes on with the task

## open.rs

store-is-link = the store `{ $path }` is a symbolic link
store-not-regular = the store `{ $path }` is not a regular file
store-odd-file-hint = put a regular file there, or choose another state directory

## reader.rs

store-query-endless = a query of the store did not end
store-record-unreadable = a record of task `{ $task }` up to number { $last } cannot be read
store-record-unreadable-hint = a newer program may have written it to `{ $path }`; use that program to resume

## schema.rs

store-foreign = `{ $path }` is a database of another program
store-foreign-hint = choose another state directory; the file was not changed
store-newer = the store `{ $path }` has schema { $version }; this program knows up to { $known }
store-newer-hint = use the newer program that wrote it, or another state directory; the file was not changed

## writer.rs

store-queue-full = { $queue_max } writes are waiting for the store
store-queue-full-hint = the disk does not keep up; run fewer tasks at once
store-writer-ended = the store's writer thread ended
store-writer-ended-hint = restart the program; what was acknowledged is kept
