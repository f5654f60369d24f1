# Completion of posse for fish.
function __posse_complete
    set --local words (commandline --tokenize --cut-at-cursor --current-process)
    posse __complete fish (count $words) -- $words (commandline --current-token --cut-at-cursor) 2>/dev/null
end
complete --command posse --no-files --arguments '(__posse_complete)'
