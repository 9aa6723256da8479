import type { CommandCall } from '../../command.ts';

/** Prints a shell script that completes `thv` commands. */
export async function run({ arguments: [shell = ''], out }: CommandCall): Promise<void> {
  const script = scripts[shell as Shell].trim(); // its choices were checked
  out.result(script, script);
}

type Shell = keyof typeof scripts;

/** Each script calls `thv`, which prints a kind, and then one line per word with its description after a tab. */
const scripts = {
  bash: String.raw`
_thv() {
  local words kind lines line current prefix
  read -ra words <<<"${'$'}{COMP_LINE:0:COMP_POINT}"
  [[ ${'$'}{COMP_LINE:COMP_POINT-1:1} == ' ' ]] && words+=('')
  mapfile -t lines < <("${'$'}{words[0]}" __complete -- "${'$'}{words[@]:1}" 2>/dev/null)
  kind=${'$'}{lines[0]-}
  COMPREPLY=()
  case $kind in
    file) compopt -o default; return ;;
    folder) compopt -o dirnames; return ;;
  esac
  # Bash takes what stands before : and = for words of their own.
  current=${'$'}{words[-1]}
  prefix=${'$'}{current%"${'$'}{current##*[=:]}"}
  for line in "${'$'}{lines[@]:1}"; do
    line=${'$'}{line%%$'\t'*}
    COMPREPLY+=("${'$'}{line#"$prefix"}")
  done
}
complete -F _thv thv
`,
  zsh: String.raw`
#compdef thv
_thv() {
  local -a lines offered
  local line
  lines=("${'$'}{(@f)$("${'$'}{words[1]}" __complete -- "${'$'}{(@)words[2,CURRENT]}" 2>/dev/null)}")
  case ${'$'}{lines[1]-} in
    file) _files; return ;;
    folder) _files -/; return ;;
  esac
  for line in "${'$'}{(@)lines[2,-1]}"; do
    offered+=("${'$'}{${'$'}{line%%$'\t'*}//:/\\:}:${'$'}{line#*$'\t'}")
  done
  (( ${'$'}#offered )) && _describe 'thv' offered
}
compdef _thv thv
`,
  fish: String.raw`
function __thv_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines ($words[1] __complete -- $words[2..] 2>/dev/null)
    switch "$lines[1]"
        case file
            __fish_complete_path (commandline -ct)
        case folder
            __fish_complete_directories (commandline -ct) ''
        case '*'
            printf '%s\n' $lines[2..]
    end
end
complete -c thv -f -a '(__thv_complete)'
`,
} as const;
