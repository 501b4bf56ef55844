import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import type { Topic } from '#shared/contracts/topic.ts';
import { type Watch, type WatchMember, watchUid } from '#shared/contracts/watches/watch.ts';
import { aClientApp } from '../../../../test/support/builders/a-client-app.ts';
import { aMember, aWatch } from '../../../../test/support/builders/a-watch.ts';
import { partially } from '../../../../test/support/builders/partially.ts';
import type { OpenSystem } from '../open-system.ts';
import { type KIND_NAMES, kindOf } from './documents.ts';
import { exportSystem } from './export-system.ts';
import { importSystem, verifyExport } from './import-system.ts';

type Versioned = { readonly version: number };
type Kafka = Map<string, { key: string; value: Buffer | null }[]>;

const NOW = Date.parse('2026-11-21T10:00:00.000Z');
const directory = mkdtempSync(join(tmpdir(), 'transfer-'));
afterAll(() => rmSync(directory, { recursive: true }));
const fileOf = (lines: readonly string[]): string => {
  const file = join(directory, 'export.ndjson');
  writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
  return file;
};

/** A system whose topics keep every record, and whose views are what is projected. */
function startSystem() {
  const topics: Kafka = new Map();
  const view = new Map<string, Versioned>();
  const keyOf = (topic: string, key: string) => `${topic} ${key}`;
  const project = (topic: Topic<never>) => async (document: Versioned) => {
    const key = keyOf(topic.name, topic.keyOf(document as never));
    if ((view.get(key)?.version ?? 0) >= document.version) return false;
    view.set(key, document);
    return true;
  };
  const viewOf = (name: (typeof KIND_NAMES)[number]) => {
    const { topic } = kindOf(name);
    const read = async (key: string) => view.get(keyOf(topic.name, key));
    const documents = { project: project(topic as never), read };
    return { ...documents, documents };
  };
  let recorded = 0;
  const system = partially<OpenSystem>({
    kafka: partially<OpenSystem['kafka']>({
      readTopic: async ({ topic, apply }) => {
        await apply((topics.get(topic) ?? []) as never, 0);
        return new Map();
      },
    }),
    publish: async (topic, message) => {
      const records = topics.get(topic.name) ?? [];
      records.push({ key: topic.keyOf(message), value: Buffer.from(JSON.stringify(message)) });
      topics.set(topic.name, records);
    },
    accounts: viewOf('accounts') as never,
    clientApps: viewOf('clientApps') as never,
    ruleSets: viewOf('ruleSets') as never,
    watches: viewOf('watches') as never,
    watchMembers: {
      project: project(kindOf('watchMembers').topic as never),
      async readNewer(member: WatchMember) {
        const { topic } = kindOf('watchMembers');
        const known = view.get(keyOf(topic.name, topic.keyOf(member)));
        return known && known.version > member.version ? known : undefined;
      },
    } as never,
    writes: partially<OpenSystem['writes']>({ record: async () => void recorded++ }),
    actor: 'alice',
    hasSecretKeys: false,
    now: () => NOW,
  });
  return {
    system,
    topics,
    view,
    publishedCount: () => [...topics.values()].reduce((sum, records) => sum + records.length, 0),
    recordedCount: () => recorded,
    publish: (name: (typeof KIND_NAMES)[number], document: Versioned) =>
      system.publish(kindOf(name).topic, document),
    export: async (accountId?: string) => {
      const lines: string[] = [];
      await exportSystem(system, { accountId })(async (line) => void lines.push(line));
      return lines;
    },
  };
}

const createdAt = new Date(NOW).toISOString();
const anAccount = (accountId: string, changes: Partial<Account> = {}): Account => ({
  accountId,
  version: 1,
  email: `${accountId}@example.com`,
  tier: 'free',
  verified: true,
  createdAt,
  ...changes,
});
const WATCH: Watch = aWatch({ clientId: 'app_1', watchId: 'vip', accountId: 'acc_1' });
const member = (memberId: string, changes: Partial<WatchMember> = {}): WatchMember =>
  aMember({ watchUid: watchUid(WATCH), memberId, ...changes });

/** Two accounts, each with an app; the first has a watch with two members. */
async function aSystem() {
  const source = startSystem();
  await source.publish('accounts', anAccount('acc_1'));
  await source.publish('accounts', anAccount('acc_2'));
  await source.publish('clientApps', aClientApp('app_1', { accountId: 'acc_1' }));
  await source.publish(
    'clientApps',
    aClientApp('app_1', { accountId: 'acc_1', version: 2, name: 'renamed' }),
  );
  await source.publish('clientApps', aClientApp('app_2', { accountId: 'acc_2' }));
  await source.publish('watches', WATCH);
  await source.publish('watchMembers', member('a', { sequence: 7 }));
  await source.publish('watchMembers', member('b'));
  return source;
}

test('an export has the newest document of each key, and none that is deleted or belongs to one that is', async () => {
  const source = await aSystem();
  await source.publish('accounts', anAccount('acc_2', { version: 2, deletedAt: createdAt }));
  await source.publish('watchMembers', member('b', { version: 9, removedAt: createdAt }));
  source.topics.get('client-app.v1')?.push({ key: 'app_3', value: Buffer.from('{"clientId":"app_3"}') });
  source.topics.get('client-app.v1')?.pop();
  source.topics.get('client-app.v1')?.push({ key: 'app_4', value: null });
  const lines = (await source.export()).map((line) => JSON.parse(line));
  expect(lines.map(({ kind, document }) => [kind, document?.name ?? document?.memberId])).toEqual([
    ['accounts', undefined],
    ['clientApps', 'renamed'],
    ['watches', undefined],
    ['watchMembers', 'a'],
    ['end', undefined],
  ]);
  expect(lines.at(-1)).toEqual({
    kind: 'end',
    format: 1,
    at: createdAt,
    counts: { accounts: 1, clientApps: 1, ruleSets: 0, watches: 1, watchMembers: 1 },
  });
  expect(lines[3].document).toEqual(JSON.parse(JSON.stringify(member('a', { sequence: 7 }))));
});

test('an older document behind a newer one in the topic is not exported', async () => {
  const source = await aSystem();
  await source.publish('clientApps', aClientApp('app_1', { accountId: 'acc_1', name: 'late' }));
  const apps = (await source.export()).filter((line) => line.includes('"app_1"') && line.includes('"keys"'));
  expect(apps.map((line) => JSON.parse(line).document.name)).toEqual(['renamed']);
});

test('an export of one account has nothing of another', async () => {
  const lines = await (await aSystem()).export('acc_2');
  expect(lines.map((line) => JSON.parse(line).kind)).toEqual(['accounts', 'clientApps', 'end']);
  expect(lines.join('')).not.toMatch(/acc_1|app_1/);
});

test('an export fails where a record cannot be read, and so has no last line', async () => {
  const source = await aSystem();
  source.topics.get('watch.v1')?.push({ key: 'x', value: Buffer.from('{}'), offset: '7' } as never);
  const lines: string[] = [];
  await expect(exportSystem(source.system)(async (line) => void lines.push(line))).rejects.toMatchObject({
    code: 'message-unreadable',
    message: expect.stringMatching(/^watch\.v1 has records .*: 0\/7 \(x\); --without-unreadable/),
  });
  await expect(verifyExport(fileOf(lines))).rejects.toThrow('no last line');
});

test('an export without unreadable records is whole, and its last line counts them', async () => {
  const source = await aSystem();
  const before = await source.export();
  source.topics.get('watch.v1')?.push({ key: 'x', value: Buffer.from('{}') });
  const lines: string[] = [];
  await exportSystem(source.system, { withoutUnreadable: true })(async (line) => void lines.push(line));
  expect(lines.slice(0, -1)).toEqual(before.slice(0, -1));
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ kind: 'end', unreadable: 1 });
  await expect(verifyExport(fileOf(lines))).resolves.toBe(before.length - 1);
});

test('a record that cannot be read is no fault of an export once its key has a later record', async () => {
  const source = await aSystem();
  const before = await source.export();
  source.topics.get('watch.v1')?.push({ key: 'x', value: Buffer.from('{}') }, { key: 'x', value: null });
  expect(await source.export()).toEqual(before);
});

test('an import writes everything once, and the same import again writes nothing', async () => {
  const lines = await (await aSystem()).export();
  const target = startSystem();
  const all = { accounts: 2, clientApps: 2, ruleSets: 0, watches: 1, watchMembers: 2 };
  expect(await importSystem(target.system, fileOf(lines))).toEqual({
    written: all,
    unchanged: 0,
    unreadableSecrets: 0,
  });
  expect((await target.export()).slice(0, -1)).toEqual(lines.slice(0, -1));
  const published = target.publishedCount();
  const none = { accounts: 0, clientApps: 0, ruleSets: 0, watches: 0, watchMembers: 0 };
  expect(await importSystem(target.system, fileOf(lines))).toMatchObject({ written: none, unchanged: 7 });
  expect([target.publishedCount(), target.recordedCount()]).toEqual([published, 1]);
});

test('an import takes what is newer in the file, and leaves what is newer in the system', async () => {
  const source = await aSystem();
  const target = startSystem();
  await importSystem(target.system, fileOf(await source.export()));
  await source.publish('clientApps', aClientApp('app_2', { accountId: 'acc_2', version: 5, name: 'later' }));
  await target.publish('clientApps', aClientApp('app_1', { accountId: 'acc_1', version: 9, name: 'own' }));
  await target.system.clientApps.project(
    aClientApp('app_1', { accountId: 'acc_1', version: 9, name: 'own' }) as ClientApp,
  );
  await importSystem(target.system, fileOf(await source.export()));
  const names = (await target.export())
    .map((line) => JSON.parse(line))
    .filter(({ kind }) => kind === 'clientApps')
    .map(({ document }) => document.name);
  expect(names).toEqual(['own', 'later']);
});

test('an import gives no apps to somebody who has signed up with the same address', async () => {
  const lines = await (await aSystem()).export();
  const target = startSystem();
  const stranger = anAccount('acc_2', { createdAt: '2026-11-21T09:59:59.000Z', verified: false });
  await target.system.accounts.project(stranger);
  await expect(importSystem(target.system, fileOf(lines))).rejects.toThrow(
    /line 2: perhaps somebody else has signed up here with the same address \(acc_2/,
  );
  expect(target.publishedCount()).toBe(0);
  await target.system.accounts.project({ ...stranger, version: 2, verified: true });
  expect(await importSystem(target.system, fileOf(lines))).toMatchObject({ written: { clientApps: 2 } });
});

const END = (counts: object, format = 1) => JSON.stringify({ kind: 'end', format, at: createdAt, counts });
test.each([
  ['half a file', (lines: string[]) => lines.slice(0, 3), 'no last line'],
  [
    'a file without a line in the middle',
    (lines: string[]) => lines.toSpliced(2, 1),
    '2 clientApps are counted',
  ],
  [
    'a line that is cut',
    (lines: string[]) => [lines[0]?.slice(0, 40), ...lines.slice(1)],
    'line 1: it is not JSON',
  ],
  [
    'a line of another kind',
    (lines: string[]) => ['{"kind":"letters","document":{}}', ...lines],
    'line 1: it is no line',
  ],
  [
    'a document that is none',
    (lines: string[]) => ['{"kind":"accounts","document":{"accountId":5}}', ...lines],
    'line 1: the record does not match account.v1: /accountId',
  ],
  ['an export of a later version', (lines: string[]) => [...lines.slice(0, -1), END({}, 2)], 'later version'],
  ['two exports in one file', (lines: string[]) => [...lines, ...lines], 'behind the last one'],
  ['an empty file', () => [], 'no last line'],
])('%s is refused by its line, and nothing is imported', async (_name, spoil, message) => {
  const lines = await (await aSystem()).export();
  const target = startSystem();
  await expect(importSystem(target.system, fileOf(spoil(lines) as string[]))).rejects.toMatchObject({
    code: 'usage-invalid',
    message: expect.stringContaining(message),
  });
  expect([target.publishedCount(), target.view.size, target.recordedCount()]).toEqual([0, 0, 0]);
});

test.each(['nothing-there.ndjson', ''])('a file %j that cannot be read is named', async (name) => {
  const file = join(directory, name);
  await expect(importSystem(startSystem().system, file)).rejects.toThrow(`${file} cannot be read`);
});
