import { execFileSync } from 'node:child_process';
import { makeCompletion } from './completion.ts';
import { examplesOf, subcommandsOf } from './examples.ts';
import { makeProgram } from './program.ts';

const RING = { ROLECALL_PROOF_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}` };
const program = makeProgram(
  async () => undefined,
  () => undefined,
  RING,
  true,
);
const subcommands = subcommandsOf(program);

/** As a shell splits a line without expansions. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');

test.each(subcommands.map(([words]) => words))(
  'the help of %s has examples that the command accepts',
  async (words) => {
    const lines = examplesOf(words);
    expect(lines).not.toEqual([]);
    for (const line of lines) {
      const asked = makeProgram(
        async () => undefined,
        () => undefined,
        RING,
        true,
      );
      const globalsFirst = [...wordsOf(line)].sort((a, b) => Number(b === '--json') - Number(a === '--json'));
      await asked.parseAsync(globalsFirst, { from: 'user' });
    }
  },
);

test('the help marks the options that are required', () => {
  const [, create] = subcommands.find(([words]) => words === 'app create') ?? [];
  const help = create?.helpInformation().replaceAll(/\s+/g, ' ');
  expect(help).toContain('--email <address> e-mail address of the account; created if missing (required)');
  expect(help).not.toMatch(/--approve[^-]*\(required\)/);
});

test.each([
  ['', ['app', 'watch', 'completion']],
  ['tier', ['set']],
  ['app create', ['--email', '--tier', '--json', '--data']],
  ['webhook list app_1', ['--state']],
])('bash completes "%s" by the words that may follow', (before, expected) => {
  const words = ['rolecall-admin', ...before.split(' ').filter(Boolean), ''];
  const script = `${makeCompletion(program, 'bash', ['true'])}
COMP_WORDS=(${words.map((word) => `"${word}"`).join(' ')}); COMP_CWORD=${words.length - 1}
_rolecall-admin; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const completed = execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\n');
  expect(completed).toEqual(expect.arrayContaining(expected));
});
