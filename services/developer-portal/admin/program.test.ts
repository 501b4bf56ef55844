import type { Environment } from '#shared/config.ts';
import type { ClientApp } from '#shared/contracts/client-app.ts';
import { parseKeyRing } from '#shared/secret-box.ts';
import type { OpenSystem } from './open-system.ts';
import { makeProgram } from './program.ts';

const account = { accountId: 'acc_1', email: 'dev@example.com', tier: 'free' };
const opened = {
  accounts: { findByEmail: async () => account },
  accountWork: {
    verify: async () => account,
    setTier: async (_actor: string, _id: string, tier: string) => ({ ...account, tier }),
  },
  clientApps: { read: async (id: string) => (id === 'app_1' ? ({} as ClientApp) : undefined) },
  deliveries: { list: async () => [], read: async () => undefined },
  batches: {
    readStatus: async (id: string) =>
      id === 'batch_1' ? { requestId: id, status: 'pending', done: 500 } : undefined,
    readProgress: async () => ({ clientId: 'app_1', partCount: 3, storedPartCount: 1 }),
  },
  resends: { resendFailed: async () => ({ count: 0 }) },
} as unknown as OpenSystem;

/** Runs a command line and returns the value that it prints. */
async function run(line: string, environment: Environment = {}): Promise<unknown> {
  let printed: unknown;
  const print = (value: unknown) => {
    printed = value;
  };
  const program = makeProgram(async (work) => print(await work(opened, undefined)), print, environment, true);
  await program.parseAsync(line.split(' '), { from: 'user' });
  return printed;
}

test('only enterprise accounts have their own limits, and each limit is at least 1', async () => {
  expect(await run('tier set dev@example.com enterprise --rps 1')).toMatchObject({ tier: 'enterprise' });
  expect(await run('tier set dev@example.com paid')).toMatchObject({ tier: 'paid' });
  await expect(run('tier set dev@example.com paid --rps 5')).rejects.toMatchObject({ code: 'usage-invalid' });
  await expect(run('tier set dev@example.com enterprise --month 0')).rejects.toThrow('at least 1');
});

test.each(['webhook list', 'webhook resend-failed --since 2026-11-21T00:00:00Z'])(
  '%s refuses an app that does not exist',
  async (command) => {
    await expect(run(`${command} app_2`)).rejects.toMatchObject({ code: 'not-found' });
    expect(await run(`${command} app_1`)).toBeDefined();
  },
);

test('batch show prints the status of a batch with its parts, and refuses an id of no batch', async () => {
  expect(await run('batch show batch_1')).toEqual({
    requestId: 'batch_1',
    status: 'pending',
    done: 500,
    clientId: 'app_1',
    parts: { stored: 1, all: 3 },
  });
  await expect(run('batch show batch_2')).rejects.toMatchObject({ code: 'not-found' });
});

test('proof-key create prints entries that both rings take, and proof-key public derives one from the other', async () => {
  const created = (await run('proof-key create --number 7')) as Record<string, string>;
  expect(parseKeyRing(created['ROLECALL_PROOF_KEYS'] ?? '').current.number).toBe(7);
  expect(await run('proof-key public', created)).toEqual({
    ROLECALL_PROOF_PUBLIC_KEYS: created['ROLECALL_PROOF_PUBLIC_KEYS'],
  });
  expect(await run('proof-key create --env')).toMatch(
    /^ROLECALL_PROOF_KEYS=1:\S{44}\nROLECALL_PROOF_PUBLIC_KEYS=1:\S{44}$/,
  );
  await expect(run('proof-key create --number 256')).rejects.toThrow('at most 255');
  await expect(run('proof-key public')).rejects.toMatchObject({ code: 'config-invalid' });
});
