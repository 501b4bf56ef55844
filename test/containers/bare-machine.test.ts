// A newcomer's machine: Node and nothing else. The README's two commands must install their
// prerequisites, and work. BARE_MACHINE_TESTS narrows the second command, which runs all tests:
// `test/e2e/system/health test/integration/…`.
import { type BareMachine, startBareMachine, whyMissing } from './bare-machine.ts';

const DEBIAN_12 = 'node:24-bookworm-slim';
/** Newer Node releases, with other packages; the first available one is used. */
const NEWER = ['node:24-trixie-slim', 'node:24-trixie'];
const START_TIMEOUT_MS = 30 * 60_000;
const TEST_TIMEOUT_MS = 120 * 60_000;
const OUTPUT_CHARS = 6_000;

const narrowed = (process.env['BARE_MACHINE_TESTS'] ?? '').split(' ').filter(Boolean);
const reasons = new Map(NEWER.map((image) => [image, whyMissing(image)]));
const newer = NEWER.find((image) => reasons.get(image) === undefined);

/** Printed between the names of the tests. */
const say = (line: string) => process.stderr.write(`bare machine: ${line}\n`);

function describeMachine(image: string): void {
  describe(image, () => {
    let machine: BareMachine;
    beforeAll(async () => {
      machine = await startBareMachine(image);
    });
    afterAll(async () => machine?.[Symbol.asyncDispose]());

    const expectSuccess = async (...command: string[]): Promise<string> => {
      const { exitCode, seconds, stdout, stderr } = await machine.run(...command);
      say(`${image}: ${command.join(' ')} ended with ${exitCode} after ${seconds} s`);
      if (exitCode !== 0) throw new Error(`${stderr.slice(-OUTPUT_CHARS)}\n${stdout.slice(-OUTPUT_CHARS)}`);
      return stdout + stderr;
    };

    test(
      '`npm start -- --once` installs missing prerequisites, and the demo answers in every mode',
      async () => {
        const output = await expectSuccess('npm', 'start', '--', '--once');
        expect(output).toContain('installing packages (npm ci)');
        for (const mode of ['sync', 'poll', 'webhook'])
          expect(output).toMatch(new RegExp(`demo, ${mode}: whale granted`));
      },
      START_TIMEOUT_MS,
    );

    test(
      '`npm test` installs a browser and Prometheus too, and passes',
      async () => {
        const output = await expectSuccess(
          'npm',
          'test',
          ...(narrowed.length > 0 ? ['--', ...narrowed] : []),
        );
        expect(output).toMatch(/Test Suites: +(\d+ skipped, )?\d+ passed/);
      },
      TEST_TIMEOUT_MS,
    );
  });
}

describeMachine(DEBIAN_12);
if (newer !== undefined) describeMachine(newer);
else
  describe('a newer release', () => {
    const why = NEWER.map((image) => `${image}: ${reasons.get(image)}`).join('; ');
    test.skip(`is not available: ${why}`, () => undefined);
  });
