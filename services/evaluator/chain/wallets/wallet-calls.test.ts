import { WalletCalls } from './wallet-calls.ts';

const owner = (clientId: string, accountId = clientId) => ({ accountId, clientId });
const SIGNAL = new AbortController().signal;

/** Questions that end when they are told to. */
function start(poolSize = 1) {
  const calls = new WalletCalls(() => poolSize);
  const running: { readonly name: string; readonly end: () => void }[] = [];
  const ask = (of: ReturnType<typeof owner>, signal = SIGNAL) =>
    calls.run(of, signal, () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      running.push({ name: of.clientId, end: resolve });
      return promise;
    });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { ask, running, settle };
}

test('asks at most four wallets at once for a client app, and the next one when one has answered', async () => {
  const { ask, running, settle } = start();
  const asked = Array.from({ length: 6 }, () => ask(owner('app')));
  await settle();
  expect(running).toHaveLength(4);
  running[0]?.end();
  await asked[0];
  await settle();
  expect(running).toHaveLength(5);
  for (const { end } of running) end();
  await settle();
  running.at(-1)?.end();
  await Promise.all(asked);
  expect(running).toHaveLength(6);
});

test.each([
  [2, 2],
  [3, 1],
  [8, 1],
])('of %i evaluators each asks %i at once for an app', async (poolSize, count) => {
  const { ask, running, settle } = start(poolSize);
  for (let i = 0; i < 4; i++) void ask(owner('app'));
  await settle();
  expect(running).toHaveLength(count);
});

test('an account with many apps leaves places to others', async () => {
  const { ask, running, settle } = start();
  for (let i = 0; i < 100; i++) void ask(owner(`app_${i}`, 'account'));
  await settle();
  const ofAccount = running.length;
  expect(ofAccount).toBeLessThan(16);
  void ask(owner('other'));
  await settle();
  expect(running.slice(ofAccount).map(({ name }) => name)).toEqual(['other']);
});

test('a question whose check has ended does not wait any longer, and is not asked', async () => {
  const { ask, running, settle } = start();
  for (let i = 0; i < 4; i++) void ask(owner('app'));
  const ended = new AbortController();
  const waiting = ask(owner('app'), ended.signal);
  ended.abort();
  await expect(waiting).rejects.toMatchObject({ kind: 'abandoned' });
  for (const { end } of [...running]) end();
  await settle();
  expect(running).toHaveLength(4);
});

test('beyond the bound on waiting questions the longest queue loses its newest one', async () => {
  const { ask, settle } = start();
  const asked = Array.from({ length: 4 + 1_025 }, () => ask(owner('app')));
  await expect(asked.at(-1)).rejects.toMatchObject({ kind: 'over-rate' });
  for (const question of asked) question.catch(() => undefined);
  await settle();
});
