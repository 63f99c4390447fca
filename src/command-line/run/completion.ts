import { type Command, exitCodes, type Run, usageError } from '../command.ts';
import { commonOptions, optionsOf } from '../help.ts';

type Commands = readonly Command[];

const optionNames = (command: Command): string =>
  Object.keys({ ...optionsOf(command), ...commonOptions })
    .map((name) => `--${name}`)
    .join(' ');

/** What may follow a beginning of command words: the next words, or the options of the whole command. */
function candidates(commands: Commands): [words: string, next: string][] {
  const next = new Map<string, Set<string>>();
  for (const { name } of commands) {
    const words = name.split(' ');
    for (const [index, word] of words.entries()) {
      const before = words.slice(0, index).join(' ');
      next.set(before, (next.get(before) ?? new Set()).add(word));
    }
  }
  return [
    ...[...next].map(([before, words]): [string, string] => [before, [...words].join(' ')]),
    ...commands.map((command): [string, string] => [command.name, optionNames(command)]),
  ];
}

const cases = (commands: Commands): string =>
  candidates(commands)
    .map(([words, next]) => `    "${words}") next="${next}" ;;`)
    .join('\n');

const bash = (commands: Commands): string => `_perkwire() {
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD-1}") typed="\${COMP_WORDS[COMP_CWORD]}" next="" begin=""
  for word in "\${words[@]}"; do [[ $word == -* ]] && break; begin="\${begin:+$begin }$word"; done
  case "$begin" in
${cases(commands)}
  esac
  COMPREPLY=($(compgen -W "$next" -- "$typed"))
}
complete -o default -F _perkwire perkwire`;

const zsh = (commands: Commands): string => `autoload -U +X bashcompinit && bashcompinit\n${bash(commands)}`;

const fish = (commands: Commands): string =>
  candidates(commands)
    .map(([words, next]) => {
      const seen = words === '' ? '__fish_use_subcommand' : `string match -q -- "perkwire ${words}*" (commandline -cp)`;
      return `complete -c perkwire -f -n '${seen}' -a '${next}'`;
    })
    .join('\n');

const scripts: Readonly<Record<string, (commands: Commands) => string>> = { bash, zsh, fish };

/** Prints a completion script for a shell. */
export const completion: Run = async ({ args: [shell = ''], commands, out }) => {
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
  if (script === undefined) throw usageError(`Name a shell: ${Object.keys(scripts).join(', ')}.`);
  out.line(script(commands));
  return exitCodes.ok;
};
