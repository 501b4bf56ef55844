import { exampleOf, makeProgram, subcommandsOf } from './program.ts';

const RING = { ROLECALL_PROOF_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}` };
const program = makeProgram(
  async () => undefined,
  () => undefined,
  RING,
  true,
  async () => [],
);
const subcommands = subcommandsOf(program);

/** As a shell splits a line without expansions. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');

test.each(subcommands)('the help of %s has an example that the command accepts', async (words, command) => {
  const example = exampleOf(words, command);
  expect(example).not.toContain('undefined');
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  expect(help).toContain(`admin ${example}`);
  await program.parseAsync(wordsOf(example), { from: 'user' });
});

test('the help marks the options that are required', () => {
  const [, create] = subcommands.find(([words]) => words === 'app create') ?? [];
  const help = create?.helpInformation().replaceAll(/\s+/g, ' ');
  expect(help).toContain('--email <address> e-mail address of the account; created if missing (required)');
  expect(help).not.toMatch(/--approve[^-]*\(required\)/);
});
