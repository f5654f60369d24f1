# What `posse-definitions` says. A message is said with `say!`, or with `fixed!` if it is part of a record.
