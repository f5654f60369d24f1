#compdef posse
# Completion of posse for zsh.
_posse() {
    local -a found
    found=("${(@f)$(posse __complete zsh $((CURRENT - 1)) -- "${words[@]}" 2>/dev/null)}")
    [[ -n "${found[1]}" ]] && _describe 'posse' found || _files
}
if [[ "${funcstack[1]}" == "_posse" ]]; then
    _posse "$@"
else
    compdef _posse posse
fi
