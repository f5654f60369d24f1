# Completion of posse for bash.
_posse() {
    local IFS=$'\n'
    COMPREPLY=($(posse __complete bash "$COMP_CWORD" -- "${COMP_WORDS[@]}" 2>/dev/null))
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/:] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o bashdefault -o default -F _posse posse
