import { type Command, exitCodes, type Run, usageError } from './command.ts';
import { commonOptions, optionsOf } from './help.ts';

type Commands = readonly Command[];

type Candidates = {
  words: string;
  next: readonly string[];
  /** Whether the words so far form a complete command, so that arguments can follow. */
  isCommand: boolean;
};

/**
 * Returns the completions after a command: the values of a fixed argument, such as `bash|zsh|fish`, and the options.
 */
const argumentsOf = (command: Command): string[] => [
  ...(/^\w+(\|\w+)+$/.test(command.args ?? '') ? (command.args ?? '').split('|') : []),
  ...Object.keys({ ...optionsOf(command), ...commonOptions }).map((name) => `--${name}`),
];

/**
 * Returns the completions for each prefix of command words. They are the next words or, if the command is complete, its
 * arguments and options.
 */
function candidates(commands: Commands): Candidates[] {
  const next = new Map<string, Set<string>>();
  for (const { name } of commands) {
    const words = name.split(' ');
    for (const [index, word] of words.entries()) {
      const before = words.slice(0, index).join(' ');
      next.set(before, (next.get(before) ?? new Set()).add(word));
    }
  }
  return [
    ...[...next].map(([words, following]) => ({ words, next: [...following], isCommand: false })),
    ...commands.map((command) => ({ words: command.name, next: argumentsOf(command), isCommand: true })),
  ];
}

const cases = (commands: Commands): string =>
  candidates(commands)
    .map(({ words, next, isCommand }) => {
      const pattern = isCommand ? `"${words}" | "${words} "*` : `"${words}"`;
      return `    ${pattern}) next="${next.join(' ')}" ;;`;
    })
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
    .map(({ words, next, isCommand }) => {
      const begin = ['perkwire', words].filter((part) => part !== '').join(' ');
      const typed = isCommand ? `^${begin} ` : `^${begin} [^ ]*\\$`;
      const files = isCommand ? '' : ' -f';
      const condition = `string match -rq -- "${typed}" (commandline -cp)`;
      return `complete -c perkwire${files} -n '${condition}' -a '${next.join(' ')}'`;
    })
    .join('\n');

const scripts: Readonly<Record<string, (commands: Commands) => string>> = { bash, zsh, fish };

/** Prints the completion script for a shell. */
export const printCompletion: Run = async ({ args: [shell = ''], commands, out }) => {
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
  if (script === undefined) throw usageError(`Expected a shell: ${Object.keys(scripts).join(', ')}.`);
  const text = script(commands);
  out.data({ shell, script: text });
  out.line(text);
  return exitCodes.ok;
};
