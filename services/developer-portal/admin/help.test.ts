import { makeProgram } from './program.ts';

test('the help of a command marks the options that are required', () => {
  const program = makeProgram(
    async () => undefined,
    () => undefined,
    {},
  );
  const app = program.commands.find((command) => command.name() === 'app');
  const create = app?.commands.find((command) => command.name() === 'create');
  const help = create?.helpInformation().replaceAll(/\s+/g, ' ');
  expect(help).toContain('--email <address> e-mail address of the account; created if missing (required)');
  expect(help).not.toMatch(/--approve[^-]*\(required\)/);
});
