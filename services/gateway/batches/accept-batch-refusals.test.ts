import {
  ACCOUNT,
  accountOf,
  accountsOf,
  ENTERPRISE_APP,
  linesOf,
  NDJSON,
  RULES,
  sendSlowly,
} from '../../../test/support/fakes/batch-bodies.ts';
import { anAdmission, type FakeGateway, NOW_MS } from '../../../test/support/fakes/fake-gateway.ts';
import { fakeGateways, problemOf } from '../../../test/support/fakes/fake-gateways.ts';

const start = fakeGateways();

/** Valid rules of so many bytes as JSON, made long by a member. */
function rulesOfBytes(bytes: number, member: 'roleId' | 'description') {
  const ruleOf = (filling: string) => ({ ...RULES[0], [member]: `x${filling}` });
  const each = JSON.stringify(ruleOf('')).length + 1;
  const fillingMax = 3 * 125;
  const count = Math.ceil((bytes - 1) / (each + fillingMax));
  let left = bytes - 1 - count * each;
  return Array.from({ length: count }, () => {
    const own = Math.min(left, fillingMax);
    left -= own;
    return ruleOf('€'.repeat(Math.floor(own / 3)) + 'x'.repeat(own % 3));
  });
}
const faultsOf = async (response: Response) =>
  (await problemOf(response))['errors'] as { pointer: string; code: string; detail: string }[];

describe('a batch', () => {
  it('costs rate before its body is read, so a refused one is not read', async () => {
    const gateway = await start({
      admit: async (request) => anAdmission(request, { outcome: 'rate-limited' }),
    });
    const { status, body } = await sendSlowly(gateway, ['{'], { isEnded: false });
    expect([status, body['code']]).toEqual([429, 'rate-limited']);
  });

  it('is refused unread while its account or app has used its share, and read with a key: it may be a replay', async () => {
    const gateway = await start({
      admit: async (request) => anAdmission(request, request.check ? { outcome: 'lane-full' } : {}),
    });
    const { status, body } = await sendSlowly(gateway, ['{'], { isEnded: false });
    expect([status, body['code']]).toEqual([503, 'overloaded']);
    await gateway.postBatch({ entries: accountsOf(3), rules: RULES }, { 'idempotency-key': 'k' });
    const costs = gateway.admitted.map(({ check }) => check && [check.isTrial, check.cost]);
    expect(costs).toEqual([[true, 1], undefined, [undefined, 3]]);
  });

  it('is refused whole without quota, and nothing is published', async () => {
    const gateway = await start({
      admit: async (request) => anAdmission(request, request.check ? { outcome: 'quota-exceeded' } : {}),
    });
    const response = await gateway.postBatch({ entries: [ACCOUNT], rules: RULES });
    expect([response.status, (await problemOf(response))['code']]).toEqual([429, 'monthly-quota-exceeded']);
    expect(gateway.parts).toEqual([]);
  });

  it('is refused with 409 while too many batches of the app are unfinished, and its charge is refunded', async () => {
    const gateway = await start({ unfinished: 2 });
    const response = await gateway.postBatch(
      { entries: accountsOf(3), rules: RULES },
      { 'idempotency-key': 'k' },
    );
    expect([response.status, (await problemOf(response))['code']]).toEqual([409, 'limit-reached']);
    expect(gateway.released).toEqual([{ clientId: 'app_1', month: '2026-11', count: 3 }]);
    expect(gateway.parts).toEqual([]);
  });

  it('is refused unread with 409 while too many batches of the app are unfinished', async () => {
    const gateway = await start({ unfinished: 2 });
    const { status, body } = await sendSlowly(gateway, ['{'], { isEnded: false });
    expect([status, body['code']]).toEqual([409, 'limit-reached']);
  });

  it('is refused while its lane has too much lag', async () => {
    const gateway = await start({ isOverloaded: (lane) => lane === 'batch' });
    const response = await gateway.postBatch({ entries: [ACCOUNT], rules: RULES });
    expect([response.status, (await problemOf(response))['code']]).toEqual([503, 'overloaded']);
    expect(response.headers.get('retry-after')).toBe('5');
  });

  it('is replayed if it was accepted while its lane has too much lag, and another one with a key is refused', async () => {
    let outcome: 'published' | 'counted' = 'published';
    const gateway: FakeGateway = await start({
      isOverloaded: () => true,
      admit: async (request) => {
        const claim = { atMs: NOW_MS, seed: gateway.ids.makeSeed(), requestId: 'req_1', month: '2026-11' };
        return anAdmission(request, request.check ? { outcome, claim } : {});
      },
    });
    const send = () => gateway.postBatch({ entries: [ACCOUNT], rules: RULES }, { 'idempotency-key': 'k' });
    const replay = await send();
    expect([replay.status, await replay.json()]).toEqual([202, { requestId: 'req_1', entries: 1 }]);
    outcome = 'counted';
    const other = await send();
    expect([other.status, (await problemOf(other))['code']]).toEqual([503, 'overloaded']);
    expect([gateway.parts, gateway.released]).toEqual([[], []]);
  });
});

describe('the faults of a batch', () => {
  it('are listed by pointer, the first hundred, and refuse it whole', async () => {
    const gateway = await start();
    const bad = {
      entries: [
        ACCOUNT,
        'vitalik.eth',
        { account: 'x' },
        { accounts: [ACCOUNT, ACCOUNT.toUpperCase().replace('X', 'x')] },
        { ref: 'a' },
        7,
        { account: ACCOUNT, extra: 1 },
        { account: ACCOUNT, accounts: [ACCOUNT] },
        { account: ACCOUNT, ref: 'x'.repeat(129) },
      ],
      rules: [{ ...RULES[0], chainId: 5 }],
      async: true,
    };
    for (const response of [
      await gateway.postBatch(bad),
      await gateway.postBatch(linesOf({ rules: bad.rules, async: true }, bad.entries), NDJSON),
    ]) {
      expect(response.status).toBe(422);
      expect((await faultsOf(response)).map(({ pointer, code }) => `${pointer} ${code}`)).toEqual([
        '/async unknown-member',
        '/rules/0/chainId chain-unsupported',
        '/entries/1 account-format-unsupported',
        '/entries/2/account malformed',
        '/entries/3/accounts/1 repeated',
        '/entries/4/account required',
        '/entries/5 wrong-type',
        '/entries/6/extra unknown-member',
        '/entries/7/accounts not-allowed',
        '/entries/8/ref too-long',
      ]);
    }
    const many = await gateway.postBatch({ entries: Array(500).fill('x'), rules: RULES });
    expect(await faultsOf(many)).toHaveLength(100);
    expect(gateway.parts).toEqual([]);
    expect(gateway.admitted.every(({ check }) => check?.isTrial)).toBe(true);
  });

  it.each([
    ['no entries', { entries: [], rules: RULES }, '/entries too-short'],
    ['entries that are missing', { rules: RULES }, '/entries required'],
    ['entries that are not a list', { entries: {}, rules: RULES }, '/entries wrong-type'],
    ['rules that are missing', { entries: [ACCOUNT] }, '/rules required'],
    [
      'more entries than its tier allows',
      { entries: accountsOf(1_001), rules: RULES },
      '/entries too-many-entries',
    ],
    [
      'an entry that needs too many reads',
      {
        entries: [{ accounts: accountsOf(16) }],
        rules: Array.from({ length: 13 }, (_, i) => ({
          type: 'ERC20',
          chainId: 1,
          contractAddress: accountOf(i),
          roleId: 'r',
        })),
      },
      '/entries/0 too-many-reads',
    ],
  ])('include %s', async (_, body, expected) => {
    const gateway = await start();
    const response = await gateway.postBatch(body);
    const problem = await problemOf(response);
    const [fault] = problem['errors'] as { pointer: string; code: string }[];
    expect([response.status, `${fault?.pointer} ${fault?.code}`]).toEqual([422, expected]);
  });

  const COSTLY_RULES = Array.from({ length: 13 }, (_, i) => ({
    type: 'ERC20',
    chainId: 1,
    contractAddress: accountOf(i),
    roleId: 'r',
  }));
  const COSTLY = { accounts: accountsOf(16) };

  it.each([{}, { 'idempotency-key': 'k' }])(
    'name each entry that needs too many reads %j',
    async (headers) => {
      const gateway = await start();
      const entries = [COSTLY, ACCOUNT, 'vitalik.eth', COSTLY, { account: ACCOUNT, ref: 7 }, COSTLY];
      for (const response of [
        await gateway.postBatch({ entries, rules: COSTLY_RULES }, headers),
        await gateway.postBatch(linesOf({ rules: COSTLY_RULES }, entries), { ...NDJSON, ...headers }),
      ]) {
        const problem = await problemOf(response);
        expect([response.status, problem['code']]).toEqual([422, 'validation-failed']);
        const faults = problem['errors'] as { pointer: string; code: string }[];
        expect(faults.map(({ pointer, code }) => `${pointer} ${code}`)).toEqual([
          '/entries/0 too-many-reads',
          '/entries/2 account-format-unsupported',
          '/entries/3 too-many-reads',
          '/entries/4/ref wrong-type',
          '/entries/5 too-many-reads',
        ]);
      }
      const many = await gateway.postBatch(
        { entries: Array(500).fill(COSTLY), rules: COSTLY_RULES },
        headers,
      );
      expect(await faultsOf(many)).toHaveLength(100);
    },
  );

  it('include entries times rules once, beside the entries that need too many reads', async () => {
    const gateway = await start({ app: ENTERPRISE_APP });
    const rules = Array.from({ length: 150 }, (_, i) => ({ ...COSTLY_RULES[i % 13], roleId: `r${i}` }));
    const entries = [...accountsOf(6_667), COSTLY, accountOf(0)];
    const response = await gateway.postBatch(linesOf({ rules }, entries), NDJSON);
    expect((await faultsOf(response)).map(({ pointer, code }) => `${pointer} ${code}`)).toEqual([
      '/entries/6667 too-many-reads',
      '/entries batch-too-large',
    ]);
  });

  it('include more than a million entries times rules', async () => {
    const gateway = await start({ app: ENTERPRISE_APP });
    const rules = Array.from({ length: 150 }, (_, index) => ({ ...RULES[0], roleId: `r${index}` }));
    const response = await gateway.postBatch(linesOf({ rules }, accountsOf(6_667)), NDJSON);
    expect([response.status, (await problemOf(response))['code']]).toEqual([422, 'batch-too-large']);
  });

  it.each([
    ['exactly as large as allowed', 262_144, 'roleId', '', 202],
    ['a byte larger', 262_145, 'description', '', 422],
    ['larger, in more than half a MiB', 420_000, 'description', ' '.repeat(200_000), 422],
    ['small beside their blanks', 10_000, 'roleId', ' '.repeat(600_000), 202],
  ] as const)('measure rules that are %s as they were sent', async (_, bytes, member, blanks, status) => {
    const gateway = await start({ app: ENTERPRISE_APP });
    const rules = rulesOfBytes(bytes, member);
    expect(Buffer.byteLength(JSON.stringify(rules))).toBe(bytes);
    const head = `{${blanks}"rules":${JSON.stringify(rules)}`;
    const answers = [
      await gateway.postBatch(`${head},"entries":["${ACCOUNT}"]}`),
      await gateway.postBatch(`${head}}\n"${ACCOUNT}"\n`, NDJSON),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(status);
      if (status === 422) expect((await problemOf(answer))['code']).toBe('batch-too-large');
    }
  });

  it('have batch-too-large as the only fault of larger rules', async () => {
    const gateway = await start();
    const response = await gateway.postBatch({ rules: Array(150_000).fill(1), entries: [ACCOUNT] });
    expect((await faultsOf(response)).map(({ pointer, code }) => `${pointer} ${code}`)).toEqual([
      '/rules batch-too-large',
    ]);
  });

  it.each([
    ['lists', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
    ['composed rules', `[${'{"type":"ALL","roleId":"r","rules":['.repeat(20_000)}${']}'.repeat(20_000)}]`],
  ])('are found where %s nest deeper than a call stack', async (_, rules) => {
    const gateway = await start();
    for (const headers of [{}, { 'idempotency-key': 'k' }]) {
      const response = await gateway.postBatch(`{"entries":["${ACCOUNT}"],"rules":${rules}}`, headers);
      expect(response.status).toBe(422);
    }
    const lines = await gateway.postBatch(`{"rules":${rules}}\n{"account":"${ACCOUNT}"}`, NDJSON);
    expect(lines.status).toBe(422);
  });

  it('list the first hundred of a body full of unknown members, and none of far too many', async () => {
    const gateway = await start();
    const faultsOfSo = async (length: number) => {
      const unknown = Object.fromEntries(Array.from({ length }, (_, i) => [`m${i}`, 0]));
      return faultsOf(await gateway.postBatch({ ...unknown, rules: RULES, entries: [ACCOUNT] }));
    };
    const faults = await faultsOfSo(4_000);
    expect([faults.length, faults[0]?.pointer, faults[99]?.pointer]).toEqual([100, '/m0', '/m99']);
    const [fault] = await faultsOfSo(150_000);
    expect([fault?.pointer, fault?.code]).toEqual(['', 'too-many']);
  });

  it('count the rules inside of composed ones for that', async () => {
    const gateway = await start({ app: ENTERPRISE_APP });
    const inside = Array.from({ length: 99 }, () => ({ type: 'NATIVE', chainId: 1 }));
    const rules = [{ type: 'ALL', roleId: 'holder', rules: inside }];
    const accepted = await gateway.postBatch(linesOf({ rules }, accountsOf(10_000)), NDJSON);
    const refused = await gateway.postBatch(linesOf({ rules }, accountsOf(10_001)), NDJSON);
    expect([accepted.status, refused.status]).toEqual([202, 422]);
    expect((await problemOf(refused))['code']).toBe('batch-too-large');
  });

  it('include a malformed idempotency key', async () => {
    const gateway = await start();
    const response = await gateway.postBatch(
      { entries: [ACCOUNT], rules: RULES },
      { 'idempotency-key': 'ä'.repeat(2) },
    );
    expect(response.status).toBe(422);
  });
});
