import type { Command } from 'commander';

/** A word that the shell completes, and the words that may follow it. */
type Words = ReadonlyMap<string, readonly string[]>;

/** By the words before: the subcommands, or the options of a subcommand. */
function wordsOf(command: Command, before = '', found = new Map<string, readonly string[]>()): Words {
  const options = [...command.options, ...globalOptionsOf(command)].map(({ long }) => long ?? '');
  const subcommands = command.commands.map((one) => one.name());
  found.set(before, subcommands.length > 0 ? subcommands : [...options, '--help']);
  for (const one of command.commands) wordsOf(one, `${before} ${one.name()}`.trim(), found);
  return found;
}

const globalOptionsOf = (command: Command) => {
  let root = command;
  while (root.parent) root = root.parent;
  return root === command ? [] : root.options;
};

/**
 * A script for bash, or for zsh, that defines the command and completes its subcommands and options.
 *
 * @param run how the shell starts the program, each argument on its own
 * @example
 * makeCompletion(program, 'bash', ['node', 'main.ts']); // for: eval "$(… completion bash)"
 */
export function makeCompletion(program: Command, shell: 'bash' | 'zsh', run: readonly string[]): string {
  const name = `rolecall-${program.name()}`;
  const cases = [...wordsOf(program)].map(
    ([before, words]) => `    '${before}') words='${words.join(' ')}' ;;`,
  );
  return [
    ...(shell === 'zsh'
      ? ['autoload -U +X compinit && compinit', 'autoload -U +X bashcompinit && bashcompinit']
      : []),
    `${name}() { ${run.map(quote).join(' ')} "$@"; }`,
    `_${name}() {`,
    '  local before="" word words=""',
    `  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do`,
    `    case "$word" in -*) ;; *) before="\${before:+$before }$word" ;; esac`,
    '  done',
    // The subcommand's arguments follow, which may be anything.
    `  while :; do case "$before" in`,
    ...cases,
    `    *' '*) before="\${before% *}"; continue ;;`,
    '  esac; break; done',
    `  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))`,
    '}',
    `complete -F _${name} ${name}`,
  ].join('\n');
}

const quote = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** The subcommands of `admin completion`. */
export function addCompletion(program: Command, print: (text: string) => void, run: readonly string[]): void {
  const completion = program
    .command('completion')
    .description('shell functions that complete subcommands and options; needs no running system')
    .addHelpText(
      'after',
      `
Write this into the file that your shell reads when it starts; the command then is rolecall-${program.name()}:
  eval "$(npm run --silent ${program.name()} -- completion bash)"`,
    );
  for (const shell of ['bash', 'zsh'] as const)
    completion
      .command(shell)
      .description(`print the functions for ${shell}`)
      .action(() => print(makeCompletion(program, shell, run)));
}
