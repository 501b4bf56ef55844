import { aWatch } from '../../../test/support/builders/a-watch.ts';
import { ACCOUNT, openBatchRequest } from '../../../test/support/fakes/batch-bodies.ts';
import { anAdmission, type FakeGateway, type FakeOptions } from '../../../test/support/fakes/fake-gateway.ts';
import { fakeGateways, problemOf } from '../../../test/support/fakes/fake-gateways.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';

const start = fakeGateways();
const MEMBERS = '/access-control/watches/w/members';
const COUNTS = { added: 1, replaced: 0, removed: 0, members: 1 };

const startWithWatch = (options: FakeOptions = {}, applied: unknown[] = []) =>
  start({
    ...options,
    watches: {
      watches: { read: async () => aWatch(), list: async () => ({ watches: [], next: undefined }) },
      changeMembers: async (_, changes) => {
        applied.push(changes);
        return COUNTS;
      },
    },
  });
const addMember = (gateway: FakeGateway) => gateway.send('POST', MEMBERS, { add: [ACCOUNT] });

/** Begins a batch of the same client app whose body does not end. */
async function beginSlowBatch(gateway: FakeGateway) {
  const outgoing = openBatchRequest(gateway).on('error', () => undefined);
  outgoing.write('{');
  await waitUntil('the slow body to be opened', () => gateway.admitted.length === 1);
  return outgoing;
}
const requestsArrived = (gateway: FakeGateway, count: number) =>
  waitUntil('the requests to be admitted', () => gateway.admitted.length === count);

describe('a change of members', () => {
  it('waits until the body of its client app that is being read ends, as the others do', async () => {
    const applied: unknown[] = [];
    const gateway = await startWithWatch({ bodyBounds: { waitMsMax: 600_000 } }, applied);
    const slow = await beginSlowBatch(gateway);
    const waiting = Promise.all(Array.from({ length: 8 }, () => addMember(gateway)));
    await requestsArrived(gateway, 9);
    slow.destroy();
    expect((await waiting).map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(applied).toHaveLength(8);
  });

  it('is refused with 503 when the body before it does not end in time', async () => {
    const gateway = await startWithWatch({ bodyBounds: { waitMsMax: 50 } });
    const slow = await beginSlowBatch(gateway);
    const refused = await addMember(gateway);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await problemOf(refused)).toMatchObject({
      code: 'overloaded',
      detail:
        'Another batch or member change of this client app is being received. Retry after the seconds in Retry-After.',
    });
    slow.destroy();
  });

  it('is refused with 503 at once when too many others wait', async () => {
    const gateway = await startWithWatch({ bodyBounds: { waitingMax: 1, waitMsMax: 600_000 } });
    const slow = await beginSlowBatch(gateway);
    const waiting = addMember(gateway);
    await requestsArrived(gateway, 2);
    const refused = await addMember(gateway);
    expect([refused.status, (await problemOf(refused))['detail']]).toEqual([
      503,
      'Too many member changes of this client app are waiting.',
    ]);
    slow.destroy();
    expect((await waiting).status).toBe(200);
  });

  it('is refused with 503 if it waits when the gateway stops', async () => {
    const stopping = new AbortController();
    const gateway = await startWithWatch({ stopping: stopping.signal });
    const slow = await beginSlowBatch(gateway);
    const waiting = addMember(gateway);
    await requestsArrived(gateway, 2);
    stopping.abort();
    expect((await waiting).status).toBe(503);
    slow.destroy();
  });
});

describe('a watch', () => {
  const putWatch = async (ruleSet: unknown) => {
    const gateway = await startWithWatch();
    const body = { ruleSet, callbackUrl: 'https://hooks.example.com/' };
    return problemOf(await gateway.send('PUT', '/access-control/watches/w', body));
  };

  it.each(['not an id', '', 'x'.repeat(65)])(
    'that names the unknown set %j is 422 rule-set-unknown',
    async (ruleSet) => {
      expect(await putWatch(ruleSet)).toMatchObject({
        status: 422,
        code: 'rule-set-unknown',
        errors: [{ pointer: '/ruleSet', code: 'rule-set-unknown' }],
      });
    },
  );

  it.each(['pause', 'resume', 'check', 'release'])(
    'is not found by %s if its id is malformed, as by a read',
    async (action) => {
      const gateway = await startWithWatch();
      for (const [method, path] of [
        ['GET', ''],
        ['POST', `/${action}`],
      ] as const) {
        const answer = await gateway.send(method, `/access-control/watches/Bad!${path}`);
        expect(await problemOf(answer)).toMatchObject({ status: 404, code: 'watch-not-found' });
      }
    },
  );

  it('answers 422 validation-failed if its rule set is not a string', async () => {
    expect(await putWatch(7)).toMatchObject({
      code: 'validation-failed',
      errors: [{ pointer: '/ruleSet', code: 'wrong-type' }],
    });
  });
});

describe('lists of members', () => {
  it('are read two at a time of one account, however many it asks for', async () => {
    const sentCount = 20;
    const all = Promise.withResolvers<void>();
    let [admittedCount, readingCount, readingMax] = [0, 0, 0];
    const gateway = await start({
      admit: async (request) => {
        admittedCount += 1;
        // Those that do not wait for their turn begin to read before this resolves.
        if (admittedCount === sentCount) setImmediate(() => setImmediate(all.resolve));
        return anAdmission(request);
      },
      watches: {
        watches: { read: async () => aWatch(), list: async () => ({ watches: [], next: undefined }) },
        watchMembers: {
          readMany: async () => [],
          count: async () => 0,
          async page() {
            readingCount += 1;
            readingMax = Math.max(readingMax, readingCount);
            await all.promise;
            readingCount -= 1;
            return { members: [], next: undefined };
          },
        },
      },
    });
    const answers = await Promise.all(Array.from({ length: sentCount }, () => gateway.get(MEMBERS)));
    expect(answers.map(({ status }) => status)).toEqual(Array(sentCount).fill(200));
    expect(readingMax).toBe(2);
  });
});
