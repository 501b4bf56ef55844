import { type FailureKind, RpcFailure } from '../rpc/rpc-failure.ts';
import { askEndpoints, type Question } from './ask-endpoints.ts';
import type { Endpoint } from './endpoint.ts';

const POOL: Question<string>['pool'] = {
  capabilitiesOf: async () => ({ method: 'reader', pin: 'hash', source: 'evm', fromBlock: 0 }),
  hedgeAfterMs: () => undefined,
  readyInMs: () => undefined,
  spendHedge: () => undefined,
  whyNoCandidate: () => 'breaker-open',
};

/** An endpoint by its name alone: each question decides on the answer. */
const named = (...names: string[]) => names.map((name) => ({ name }) as unknown as Endpoint);

type Answer = string | FailureKind | Promise<string>;

type Over = Partial<Omit<Question<string>, 'pool'>> & { readonly pool?: Partial<Question<string>['pool']> };

/** Asks endpoints with these answers, one list per endpoint, one answer per call. `!kind` is a
 * failure; the last answer is repeated. */
async function ask(answersOf: Record<string, Answer[]>, { pool = {}, ...over }: Over = {}) {
  const endpoints = named(...Object.keys(answersOf));
  const asked: string[] = [];
  const { answers, failure } = await askEndpoints<string>({
    pool: { ...POOL, ...pool },
    candidates: () => endpoints,
    quorum: 1,
    signal: new AbortController().signal,
    ask: async ({ name }) => {
      asked.push(name);
      const next = answersOf[name]?.length === 1 ? answersOf[name][0] : answersOf[name]?.shift();
      const answer = await next;
      if (answer?.startsWith('!')) throw new RpcFailure(answer.slice(1) as FailureKind);
      return answer ?? '';
    },
    ...over,
  });
  return { answers, failure: failure?.kind, asked };
}

test('only the best endpoint is asked if it answers', async () => {
  expect(await ask({ a: ['1'], b: ['2'] })).toMatchObject({ answers: ['1'], asked: ['a'] });
});

test('the next endpoint is asked if the best one fails', async () => {
  expect(await ask({ a: ['!unreachable'], b: ['2'] })).toMatchObject({ answers: ['2'], asked: ['a', 'b'] });
});

test('an answered quorum causes no failure and abandons no call', async () => {
  const signals: AbortSignal[] = [];
  const answer = async ({ name }: Endpoint, signal: AbortSignal) => {
    signals.push(signal);
    return name;
  };
  const question = { quorum: 2, ask: answer };
  expect(await ask({ a: [], b: [] }, question)).toMatchObject({ answers: ['a', 'b'], failure: undefined });
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
});

test('a call that is no longer needed is abandoned', async () => {
  const signals: AbortSignal[] = [];
  const answer = ({ name }: Endpoint, signal: AbortSignal) => {
    signals.push(signal);
    return name === 'a' ? new Promise<string>(() => undefined) : Promise.resolve(name);
  };
  expect(await ask({ a: [], b: [] }, { ask: answer, pool: { hedgeAfterMs: () => 1 } })).toMatchObject({
    answers: ['b'],
  });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
});

test('a transient failure is retried a bounded number of times', async () => {
  expect(await ask({ a: ['!unreachable', '1'] })).toMatchObject({ answers: ['1'], asked: ['a', 'a'] });
  expect(await ask({ a: ['!timeout'] })).toMatchObject({
    answers: [],
    failure: 'timeout',
    asked: ['a', 'a', 'a'],
  });
});

test('as many endpoints as the quorum requires are asked at once, and no more if their answers suffice', async () => {
  expect(await ask({ a: ['1'], b: ['1'], c: ['1'] }, { quorum: 2 })).toMatchObject({ asked: ['a', 'b'] });
});

test('each insufficient answer leads to one more endpoint, and none is asked twice', async () => {
  const isSettled = (answers: readonly string[]) => new Set(answers).size < answers.length;
  const question = { quorum: 2, isSettled };
  expect(await ask({ a: ['1'], b: ['2'], c: ['2'] }, question)).toMatchObject({ answers: ['1', '2', '2'] });
  expect(await ask({ a: ['1'], b: ['2'] }, question)).toMatchObject({
    answers: ['1', '2'],
    asked: ['a', 'b'],
  });
});

test('a slow call is hedged with another endpoint, and the first answer counts', async () => {
  let hedgeCount = 0;
  const never = new Promise<string>(() => undefined);
  const question = { pool: { hedgeAfterMs: () => 1, spendHedge: () => void hedgeCount++ } };
  expect(await ask({ a: [never], b: ['2'] }, question)).toMatchObject({ answers: ['2'], asked: ['a', 'b'] });
  expect(hedgeCount).toBe(1);
});

test('the request fails at once if no endpoint can be asked', async () => {
  expect(await ask({}, { candidates: () => [] })).toEqual({
    answers: [],
    failure: 'breaker-open',
    asked: [],
  });
});

test('the request waits for a rate-limited endpoint', async () => {
  let isBusy = true;
  const [endpoint] = named('a');
  const question = {
    candidates: () => (isBusy || endpoint === undefined ? [] : [endpoint]),
    pool: {
      readyInMs: () => {
        isBusy = false;
        return 1;
      },
    },
  };
  expect(await ask({ a: ['1'] }, question)).toMatchObject({ answers: ['1'] });
});

test('the request waits on as often as other questions make the endpoint rate-limited again', async () => {
  const [endpoint] = named('a');
  let busyCount = 8;
  const question = {
    candidates: () => (busyCount > 0 || endpoint === undefined ? [] : [endpoint]),
    pool: { readyInMs: () => (busyCount-- > 0 ? 1 : undefined) },
  };
  expect(await ask({ a: ['1'] }, question)).toMatchObject({ answers: ['1'] });
});

test('an endpoint that becomes free while the request decides whether to wait is asked', async () => {
  const [endpoint] = named('a');
  let isBusy = true;
  const question = {
    candidates: () => (isBusy || endpoint === undefined ? [] : [endpoint]),
    pool: {
      readyInMs: () => {
        isBusy = false;
        return undefined;
      },
    },
  };
  expect(await ask({ a: ['1'] }, question)).toMatchObject({ answers: ['1'] });
});

test('a question that the only endpoint refuses for its rate is asked again when the endpoint allows it', async () => {
  const refused = () => new RpcFailure('rate-limited', { retryAfterMs: 1 });
  let count = 0;
  const refuseFirst = (times: number) => async () => {
    if (count++ < times) throw refused();
    return '1';
  };
  expect(await ask({ a: [] }, { ask: refuseFirst(3) })).toMatchObject({ answers: ['1'] });
  count = 0;
  expect(await ask({ a: [] }, { ask: refuseFirst(100) })).toMatchObject({ failure: 'rate-limited' });
  expect(count).toBeLessThan(10);
});

test('the request waits for a rate-limited endpoint if the answers of the others do not suffice', async () => {
  const endpoints = named('a', 'b', 'c');
  const isSettled = (answers: readonly string[]) => new Set(answers).size < answers.length;
  let isBusy = true;
  const question = {
    quorum: 2,
    isSettled,
    candidates: () => endpoints.filter(({ name }) => name !== 'c' || !isBusy),
    pool: {
      readyInMs: (answered: ReadonlySet<Endpoint>) => {
        isBusy = false;
        return endpoints.every((endpoint) => answered.has(endpoint)) ? undefined : 1;
      },
    },
    ask: async ({ name }: Endpoint) => (name === 'a' ? 'a lie' : 'the truth'),
  };
  expect(await ask({}, question)).toMatchObject({ answers: ['a lie', 'the truth', 'the truth'] });
});

test('the request waits for a rate-limited endpoint if another one keeps failing', async () => {
  const endpoints = named('a', 'b');
  let isBusy = true;
  const question = {
    candidates: () => endpoints.filter(({ name }) => name !== 'b' || !isBusy),
    pool: {
      readyInMs: () => {
        isBusy = false;
        return 1;
      },
    },
  };
  expect(await ask({ a: ['!block-unavailable'], b: ['2'] }, question)).toMatchObject({ answers: ['2'] });
});

test('the request ends with the answers it has when it is abandoned', async () => {
  const end = new AbortController();
  const never = new Promise<string>(() => undefined);
  const asking = ask({ a: ['1'], b: [never] }, { quorum: 2, signal: end.signal, ask: makeAbortable(never) });
  end.abort();
  expect(await asking).toMatchObject({ failure: 'abandoned' });
});

/** Like a call of an endpoint: it fails as abandoned when its signal says so. */
const makeAbortable = (answer: Promise<string>) => (_: Endpoint, signal: AbortSignal) =>
  new Promise<string>((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new RpcFailure('abandoned')));
    if (signal.aborted) reject(new RpcFailure('abandoned'));
    void answer.then(resolve);
  });

test.each(['!block-unavailable', '!block-mismatch'])(
  '%s is asked again as long as the block may still come',
  async (failure) => {
    const left = [1_000, 500, 0, 0].values();
    const patienceMs = async () => left.next().value ?? 0;
    const { asked, answers } = await ask({ a: [failure, failure, failure, 'here'] }, { patienceMs });
    expect([asked.length, answers]).toEqual([3, []]);
    const later = await ask({ a: [failure, failure, failure, 'here'] }, { patienceMs: async () => 1_000 });
    expect([later.asked.length, later.answers]).toEqual([4, ['here']]);
  },
);

test('a block that the caller waits for is asked for once', async () => {
  expect(await ask({ a: ['!block-unavailable'], b: ['!block-unavailable'] })).toMatchObject({
    failure: 'block-unavailable',
    asked: ['a', 'b'],
  });
});
