import type { Environment } from '#shared/config.ts';
import type { ClientApp } from '#shared/contracts/apps/client-app.ts';
import type { EndpointReport } from '#shared/contracts/chain-report.ts';
import { parseKeyRing } from '#shared/secret-box.ts';
import { aWatch } from '../../../test/support/builders/a-watch.ts';
import { accountIdOf } from '../features/apps/credentials.ts';
import { makeReadWatchEvents } from '../features/watches/read-watch-events.ts';
import type { OpenSystem } from './open-system.ts';
import { makeProgram } from './program.ts';

let limitsSet: unknown;
let keyCreated: unknown;
let pagesAsked: unknown[] = [];
/** More than the view keeps: it removes the oldest at every 64th. */
const LISTED_IDS = Array.from({ length: 10_063 }, (_, index) => `request_${index}`);
const account = { accountId: 'acc_1', email: 'dev@example.com', tier: 'free' };
const stores = {
  accounts: { findByEmail: async () => account, read: async () => undefined },
  accountWork: {
    verify: async () => account,
    setTier: async (_actor: string, _id: string, tier: string, limits: unknown) => {
      limitsSet = limits;
      return { ...account, tier };
    },
  },
  apps: {
    createKey: async (_actor: string, _id: string, _key: unknown, facts: unknown) => {
      keyCreated = facts;
    },
    read: async () => ({ domains: ['shop.example'] }),
    setDomains: async (_actor: string, _id: string, domains: readonly string[]) => ({ domains }),
  },
  clientApps: {
    countOwned: async () => 1,
    read: async (id: string) => (id === 'app_1' ? ({} as ClientApp) : undefined),
  },
  deliveries: {
    page: async (_: string, { before, countMax }: { before?: string; countMax: number }) => {
      const from = before === undefined ? 0 : LISTED_IDS.indexOf(before) + 1;
      const ids = LISTED_IDS.slice(from, from + countMax);
      const deliveries = ids.map((requestId) => ({ requestId, state: 'delivered', attempts: [] }));
      return { deliveries, next: ids.length < countMax ? undefined : ids.at(-1) };
    },
    read: async () => undefined,
  },
  batches: {
    readStatus: async (id: string) =>
      id === 'batch_1' ? { requestId: id, status: 'pending', done: 500 } : undefined,
    readProgress: async () => ({ clientId: 'app_1', partCount: 3, storedPartCount: 1 }),
  },
  auditTrail: {
    page: async (options: { before?: string; countMax: number }) => {
      pagesAsked.push(options);
      const entry = { accountId: 'acc_1', actor: 'alice', action: 'a', subject: 's', kind: 'write', at: '' };
      return options.before === undefined ? { entries: [entry], next: '7-1' } : { entries: [entry] };
    },
  },
  watches: { read: async (_app: string, id: string) => (id === 'club' ? aWatch() : undefined) },
  watchMembers: { readMany: async () => [] },
  results: { readMany: async () => [] },
  now: () => 0,
  resends: { resendFailed: async () => ({ count: 0 }) },
} as unknown as OpenSystem;
const opened: OpenSystem = { ...stores, readWatchEvents: makeReadWatchEvents(stores) };

/** Runs a command line and returns the value that it prints. */
async function run(line: string, environment: Environment = {}): Promise<unknown> {
  let printed: unknown;
  const print = (value: unknown) => {
    printed = value;
  };
  const program = makeProgram(async (work) => print(await work(opened)), print, environment, true);
  await program.parseAsync(line.split(' '), { from: 'user' });
  return printed;
}

test('only enterprise accounts have their own limits, and each limit is at least 1', async () => {
  expect(await run('tier set dev@example.com enterprise --rps 1')).toMatchObject({ tier: 'enterprise' });
  expect(await run('tier set dev@example.com paid')).toMatchObject({ tier: 'paid' });
  await expect(run('tier set dev@example.com paid --rps 5')).rejects.toMatchObject({ code: 'usage-invalid' });
  await expect(run('tier set dev@example.com enterprise --month 0')).rejects.toThrow('from 1 to');
  await run('tier set dev@example.com enterprise --watches 30 --members 2000000 --writes 5');
  expect(limitsSet).toMatchObject({ watches: 30, watchMembers: 2_000_000, writesPerDay: 5, ruleSets: 1_000 });
  await expect(run('tier set dev@example.com enterprise --watches 10001')).rejects.toThrow('10000');
});

test.each(['webhook list', 'webhook resend-failed --since 2026-11-21T00:00:00Z'])(
  '%s refuses an app that does not exist',
  async (command) => {
    await expect(run(`${command} app_2`)).rejects.toMatchObject({ code: 'not-found' });
    expect(await run(`${command} app_1`)).toBeDefined();
  },
);

test('webhook list prints the newest 10 000 deliveries, as its help says', async () => {
  const listed = (await run('webhook list app_1')) as { requestId: string }[];
  expect(listed.map(({ requestId }) => requestId)).toEqual(LISTED_IDS.slice(0, 10_000));
  const program = makeProgram(
    async () => undefined,
    () => undefined,
    {},
  );
  const webhook = program.commands.find((command) => command.name() === 'webhook');
  expect(webhook?.commands.find((command) => command.name() === 'list')?.description()).toContain('10000');
});

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

test('key create takes a list of permissions, and refuses an unknown one, none, and more than check for a marketplace', async () => {
  await run('key create app_1 --permissions manage,check');
  expect(keyCreated).toMatchObject({ name: 'key', marketplace: false, permissions: ['check', 'manage'] });
  await run('key create app_1 --marketplace');
  expect(keyCreated).toMatchObject({ marketplace: true });
  for (const list of ['write', 'check,', 'check,,read'])
    await expect(run(`key create app_1 --permissions ${list}`)).rejects.toThrow('check, read and manage');
  await expect(run('key create app_1 --marketplace --permissions check,read')).rejects.toMatchObject({
    code: 'usage-invalid',
  });
});

test('app domains prints the domains of an app, and sets them on request', async () => {
  expect(await run('app domains app_1')).toEqual({ domains: ['shop.example'] });
  const set = ['a.example', 'b.example:8443'];
  expect(await run(`app domains app_1 --set ${set.join()}`)).toEqual({ domains: set });
});

test('watch events takes a member as an option, so that the audit trail has none, and names what is missing', async () => {
  await expect(run('watch events app_1 club --member discord:42')).rejects.toThrow('no such member');
  await expect(run('watch events app_1 pub')).rejects.toThrow('no watch pub');
  await expect(run('watch events app_1 club discord:42')).rejects.toThrow('too many arguments');
});

test('audit list takes an account by its address or its id, and all filters, and reads on behind a short page', async () => {
  const accountId = accountIdOf('dev@example.com');
  pagesAsked = [];
  const shown = { accountId: 'acc_1', actor: 'alice', action: 'a', subject: 's', at: '' };
  expect(await run('audit list --account DEV@example.com')).toEqual([shown, shown]);
  expect(pagesAsked).toMatchObject([
    { accountId, countMax: 50 },
    { accountId, before: '7-1', countMax: 49 },
  ]);
  pagesAsked = [];
  const filters = 'audit list --account acc_1 --app app_1 --action key-revoked --since 2026-11-21T10:00:00Z';
  await run(`${filters} --limit 1`);
  const sinceMs = Date.parse('2026-11-21T10:00:00Z');
  expect(pagesAsked).toMatchObject([
    { accountId: 'acc_1', clientId: 'app_1', action: 'key-revoked', sinceMs, countMax: 1 },
  ]);
  await expect(run('audit list --limit 501')).rejects.toThrow('from 1 to 500');
});

test('chains check prints every report, also where an endpoint is away or serves another chain', async () => {
  const good = { reachable: true, chainIdMatches: true, problems: ['/chains/0: …'] };
  const reports = [good, { ...good, reachable: false, chainIdMatches: null }];
  const printed: unknown[] = [];
  const program = makeProgram(
    async () => undefined,
    (value) => printed.push(value),
    {},
    true,
    async () => reports as EndpointReport[],
  );
  await program.parseAsync(['chains', 'check', 'f'], { from: 'user' });
  expect(printed).toEqual([reports]);
});

test('proof-key create prints entries that both rings take, and proof-key public derives one from the other', async () => {
  const created = (await run('proof-key create --number 7')) as Record<string, string>;
  expect(parseKeyRing(created['ROLECALL_PROOF_KEYS'] ?? '').current.number).toBe(7);
  expect(await run('proof-key public', created)).toEqual({
    ROLECALL_PROOF_PUBLIC_KEYS: created['ROLECALL_PROOF_PUBLIC_KEYS'],
  });
  expect(await run('proof-key create --env')).toMatch(
    /^ROLECALL_PROOF_KEYS=1:\S{44}\nROLECALL_PROOF_PUBLIC_KEYS=1:\S{128}$/,
  );
  await expect(run('proof-key create --number 256')).rejects.toThrow('from 0 to 255');
  await expect(run('proof-key public')).rejects.toMatchObject({ code: 'config-invalid' });
});
