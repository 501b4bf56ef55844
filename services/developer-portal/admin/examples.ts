import type { Command } from 'commander';

/** Arguments of each subcommand, as an operator would write them. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  'app create': ['--email dev@example.com --name "My app" --tier paid --approve'],
  'app list': ['', '--json'],
  'app suspend': ['app_405b54b6c5551d904994e2e5'],
  'app resume': ['app_405b54b6c5551d904994e2e5'],
  'app delete': ['app_405b54b6c5551d904994e2e5'],
  'key create': ['app_405b54b6c5551d904994e2e5 --name ci'],
  'key list': ['app_405b54b6c5551d904994e2e5'],
  'key revoke': ['app_405b54b6c5551d904994e2e5 key_3f9c'],
  'secret reseal': [''],
  'secret rotate': ['app_405b54b6c5551d904994e2e5 --overlap 48h'],
  'scope list': [''],
  'scope approve': ['app_405b54b6c5551d904994e2e5'],
  'scope reject': ['app_405b54b6c5551d904994e2e5 --reason "Please say what you are building."'],
  'tier set': ['dev@example.com paid', 'dev@example.com enterprise --rps 1000 --month 50000000'],
  'account list': ['--query example.com'],
  'account operator': ['ops@example.com', 'ops@example.com --withdraw'],
  'account reset-password': ['dev@example.com'],
  'account reset-link': ['dev@example.com'],
  'account reset-two-factor': ['dev@example.com'],
  'account delete': ['dev@example.com'],
  'audit list': [
    '--account dev@example.com',
    '--app app_405b54b6c5551d904994e2e5 --action key-revoked --since 2026-11-21T10:00:00Z',
  ],
  status: ['', '--json'],
  'topics apply': [''],
  'store rebuild': [''],
  'dead-letter list': ['check.requested.bulk.v1'],
  'dead-letter inspect': ['check.requested.bulk.v1 3 17'],
  'dead-letter redrive': ['check.requested.bulk.v1 --since 2026-11-21T10:00:00Z'],
  'dead-letter discard': ['check.requested.bulk.v1 3 17'],
  'check show': ['AQEBogU_baM9-XeEYv8xEeXwcNnRNi1prSzoDTlD'],
  'batch show': ['AQMBogU_baM9-XeEYv8xEeXwcNnRNi1prSzoDTlD'],
  'webhook show': ['AQIBogU_biSj3vnmdgqBGnarNCCy_-tGe6MG7kOb'],
  'webhook list': ['app_405b54b6c5551d904994e2e5 --state exhausted'],
  'webhook resend': ['AQIBogU_biSj3vnmdgqBGnarNCCy_-tGe6MG7kOb'],
  'webhook resend-failed': ['app_405b54b6c5551d904994e2e5 --since 2026-11-21T10:00:00Z'],
  'rule-set list': ['app_405b54b6c5551d904994e2e5'],
  'rule-set show': ['app_405b54b6c5551d904994e2e5 holders'],
  'rule-set put': ['app_405b54b6c5551d904994e2e5 holders holders.json'],
  'rule-set delete': ['app_405b54b6c5551d904994e2e5 holders'],
  'watch list': ['app_405b54b6c5551d904994e2e5'],
  'watch show': ['app_405b54b6c5551d904994e2e5 members'],
  'watch pause': ['app_405b54b6c5551d904994e2e5 members'],
  'watch resume': ['app_405b54b6c5551d904994e2e5 members'],
  'watch release': ['app_405b54b6c5551d904994e2e5 members'],
  'proof-key create': ['--number 2', '--env'],
  'proof-key public': [''],
  'completion bash': [''],
  'completion zsh': [''],
};

/** The subcommands that do something, each by its words, such as `app create`. */
export function subcommandsOf(command: Command, words = ''): readonly (readonly [string, Command])[] {
  if (command.commands.length === 0) return [[words, command]];
  return command.commands.flatMap((one) =>
    subcommandsOf(one, words === '' ? one.name() : `${words} ${one.name()}`),
  );
}

/** The command lines of a subcommand's examples, without the program's name. */
export const examplesOf = (words: string): readonly string[] =>
  (EXAMPLES[words] ?? []).map((rest) => `${words} ${rest}`.trim());

/** Adds examples to the help of every subcommand. */
export function addExamples(program: Command): void {
  for (const [words, command] of subcommandsOf(program)) {
    const lines = examplesOf(words).map((line) => `  ${program.name()} ${line}`);
    command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
  }
}
