import { type Answers, type Step, startAnswers } from '../../test/support/client/answer-by-steps.ts';
import { Rolecall } from './rolecall.ts';

let answers: Answers;
afterEach(() => answers?.[Symbol.asyncDispose]());
async function start(...steps: readonly Step[]): Promise<Rolecall> {
  answers = await startAnswers(...steps);
  return new Rolecall({ baseUrl: answers.url, apiKey: 'rck_live_secret' });
}
const json = (body: object, status = 200): Step => ({
  do: 'answer',
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const problem = (status: number, code: string): Step => ({
  do: 'problem',
  status,
  code,
  headers: { 'retry-after': '0' },
});
const seen = () =>
  answers.requests.map(({ method, url }) => `${method} ${url.replace('/access-control', '')}`);
const BODY = { rules: [{ type: 'NATIVE', chainId: 1, roleId: 'holder' }] } as const;

test('a rule set is put, read, listed over pages and deleted', async () => {
  const rolecall = await start(
    json({ ruleSetId: 'vip', version: 1 }, 201),
    json({ ruleSetId: 'vip', version: 1 }),
    json({ ruleSets: [{ ruleSetId: 'a' }, { ruleSetId: 'b' }], next: 'b' }),
    json({ ruleSets: [{ ruleSetId: 'vip' }] }),
    { do: 'answer', status: 204 },
  );
  expect(await rolecall.ruleSets.put('vip', BODY, { ifMatch: 3 })).toMatchObject({ version: 1 });
  expect(await rolecall.ruleSets.get('vip')).toMatchObject({ ruleSetId: 'vip' });
  const listed: string[] = [];
  for await (const { ruleSetId } of rolecall.ruleSets.list()) listed.push(ruleSetId);
  expect(listed).toEqual(['a', 'b', 'vip']);
  await rolecall.ruleSets.delete('vip');
  expect(seen()).toEqual([
    'PUT /rule-sets/vip',
    'GET /rule-sets/vip',
    'GET /rule-sets?limit=200',
    'GET /rule-sets?limit=200&after=b',
    'DELETE /rule-sets/vip',
  ]);
  expect(answers.requests[0]?.headers['if-match']).toBe('"3"');
  expect(JSON.parse(answers.requests[0]?.body ?? '')).toEqual(BODY);
});

test('a write under a condition is not repeated when its outcome is unknown, and any other is', async () => {
  const rolecall = await start({ do: 'reset' }, { do: 'reset' }, json({ version: 2 }));
  await expect(rolecall.ruleSets.put('vip', BODY, { ifNoneMatch: '*' })).rejects.toMatchObject({
    code: 'network-unavailable',
  });
  expect(await rolecall.ruleSets.put('vip', BODY)).toMatchObject({ version: 2 });
});

test('a write under a condition waits for its turn, and a conflict is thrown', async () => {
  const rolecall = await start(problem(429, 'rate-limited'), problem(412, 'version-conflict'));
  await expect(rolecall.ruleSets.put('vip', BODY, { ifMatch: 1 })).rejects.toMatchObject({
    code: 'version-conflict',
    status: 412,
  });
  expect(answers.requests).toHaveLength(2);
});

test('an id is one segment of the path, and never empty', async () => {
  const rolecall = await start(json({}));
  await rolecall.ruleSets.get('a/../b');
  expect(seen()).toEqual(['GET /rule-sets/a%2F..%2Fb']);
  await expect(rolecall.ruleSets.delete('')).rejects.toMatchObject({ code: 'config-invalid' });
  await expect(rolecall.watches.pause('..')).rejects.toMatchObject({ code: 'config-invalid' });
});

test('a watch is paused and released, and its members are added in parts, removed and listed', async () => {
  const changes = { added: 2, replaced: 1, removed: 0, members: 9 };
  const rolecall = await start(
    json({ state: 'paused' }),
    json({ state: 'active' }),
    json(changes),
    json(changes),
    json({ ...changes, added: 0, removed: 3 }),
    json({ members: [{ ref: 'a' }] }),
  );
  expect(await rolecall.watches.pause('w')).toMatchObject({ state: 'paused' });
  expect(await rolecall.watches.release('w')).toMatchObject({ state: 'active' });
  const entries = Array.from({ length: 10_001 }, (_, index) => ({ account: '0xa', ref: `m${index}` }));
  expect(await rolecall.watches.addMembers('w', entries)).toEqual({
    added: 4,
    replaced: 2,
    removed: 0,
    members: 9,
  });
  expect(await rolecall.watches.removeMembers('w', ['m1'])).toMatchObject({ removed: 3 });
  for await (const { ref } of rolecall.watches.members('w')) expect(ref).toBe('a');
  expect(seen()).toEqual([
    'POST /watches/w/pause',
    'POST /watches/w/release',
    'POST /watches/w/members',
    'POST /watches/w/members',
    'POST /watches/w/members',
    'GET /watches/w/members?limit=200',
  ]);
  expect(JSON.parse(answers.requests[3]?.body ?? '')).toEqual({ add: [{ account: '0xa', ref: 'm10000' }] });
  expect(JSON.parse(answers.requests[4]?.body ?? '')).toEqual({ remove: ['m1'] });
});

test.each(['check', 'resume', 'release'] as const)(
  '%s of a watch is not repeated after a lost answer, because it might begin twice',
  async (command) => {
    const rolecall = await start({ do: 'reset' }, json({ state: 'active' }));
    await expect(rolecall.watches[command]('w')).rejects.toMatchObject({ code: 'network-unavailable' });
    expect(answers.requests).toHaveLength(1);
  },
);

test('members are sent as NDJSON where they are too large for JSON', async () => {
  const rolecall = await start(json({ added: 3_000, replaced: 0, removed: 0, members: 3_000 }));
  const accounts = Array.from({ length: 16 }, (_, index) => `0x${String(index).padStart(40, 'a')}`);
  const entries = Array.from({ length: 3_000 }, (_, index) => ({ accounts, ref: `m${index}` }));
  await rolecall.watches.addMembers('w', entries);
  const lines = answers.requests[0]?.body.split('\n') ?? [];
  expect(lines).toHaveLength(entries.length);
  expect(JSON.parse(lines[2_999] ?? '')).toEqual({ add: entries[2_999] });
});
