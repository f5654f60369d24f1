# Messages of `posse-tools`.

## own.rs

tool-env-withheld = { $manifest }: `env`: `{ $name }` holds a key that no tool is given
tool-env-withheld-hint = remove it from `env`
tool-env-not-passed = { $manifest }: `env`: `{ $name }` is not passed on to a tool of a project
tool-env-not-passed-hint = add `{ $name }` to `env` under `[bash]` in your own configuration if commands may have it, or remove it from `env`
tool-program-outside = { $manifest }: `command`: `{ $program }` is not in the project
tool-program-outside-hint = a tool of a project runs a program of the project, or one that is found in `PATH`
tools-too-many = { $directory } holds { $count } tools; only the first { $tools_max } are loaded
manifest-too-large = { $path }: { $size } bytes, at most { $manifest_bytes_max } are allowed
choose-another-name = choose another name
tool-description-missing = must say what the tool does: the model sees nothing else
tool-name-invalid = `{ $name }` is not 1 to { $name_max } characters of a-z, 0-9 and `_`
tool-is-built-in = `{ $name }` is a built-in tool
tool-stands-for-built-in = `{ $name }` is another name of the built-in `{ $meant }`
tool-stands-for = `{ $name }` is another name of `{ $meant }`
tool-schema-not-object = must be a JSON Schema object
tool-schema-type = must have `"type": "object"`: arguments are always an object
tool-properties-not-object = `properties` must be an object
tool-required-not-names = `required` must be a list of names
variable-invalid = `{ $name }` is not the name of a variable; list names, not values
between-1-and = must be between 1 and { $most }
program-missing = must name a program, for example ["./run.sh"]
contains-nul = contains a NUL character
program-not-executable = `{ $first }` is not an executable file; `chmod +x` makes it one
tool-defined-twice = { $manifest }: the tool `{ $name }` is defined by { $earlier } already
tool-defined-twice-hint = rename or remove one of the two

## skill.rs

skills-not-used = skills in `{ $root }` are not used: { $why }
skills-folder-large = `{ $folder }` has more than { $folder_entries_max } entries; not all were looked at
skill-not-used = skill in `{ $place }` is not used: { $why }
skill-name-unusable = skill in `{ $place }` has an unusable name; its folder's name is used
skill-without-description = skill `{ $skill_name }` in `{ $place }` has no description
skill-shadowed = skill `{ $skill_name }` in `{ $place }` is left out: `{ $kept }` has the same name and comes first
skills-too-many = skill `{ $skill_name }` is left out: there are already { $skills_max }

## edits.rs

gap-command = changed by a command; what it was before is not kept
gap-command-before = changed by a command first; the diff begins after that
gap-too-large = what it was before is not kept: it is larger than 1 MiB
gap-task-limit = what it was before is not kept: the task reached its limit of 16 MiB
gap-protected = what it was before is not kept: its name is protected
gap-secret = what it was before is not kept: it holds a key
gap-damaged = what it was before cannot be read
gap-in-doubt = in doubt: the process ended while it was changed
gap-after-unknown = the content that the task left is not there any more
undo-changed-since = changed since by somebody else
undo-command-since = a command changed it last; what the command left is not known
undo-protected = its name is protected
undo-refused = { $why }
undo-failed = the undo failed

## demo.rs

demo-no-metric = there is no metric `{ $other }`
demo-no-command = staging knows no command `{ $other }`
demo-not-number = the value is not a number
