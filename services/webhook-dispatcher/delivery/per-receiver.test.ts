import { PerReceiver } from './per-receiver.ts';

const appOf = (clientId: string, accountId = `acc_of_${clientId}`) => ({ accountId, clientId });

const make = () =>
  new PerReceiver({ make: (_app: unknown, origin: string) => ({ origin }), isIdle: () => true });

test('returns the same value for a receiver until it is evicted', () => {
  const perReceiver = make();
  const value = perReceiver.of(appOf('app_1'), 'https://a.example');
  expect(perReceiver.of(appOf('app_1'), 'https://a.example')).toBe(value);
  expect(perReceiver.of(appOf('app_2'), 'https://a.example')).not.toBe(value);
});

test('evicts only the values of the account that adds ever new origins', () => {
  const perReceiver = make();
  const mine = perReceiver.of(appOf('app_1'), 'https://a.example');
  const first = perReceiver.of(appOf('app_2'), 'https://0.example');
  for (let i = 1; i < 20_000; i += 1) perReceiver.of(appOf('app_2'), `https://${i}.example`);
  expect(perReceiver.of(appOf('app_1'), 'https://a.example')).toBe(mine);
  expect(perReceiver.of(appOf('app_2'), 'https://0.example')).not.toBe(first);
  expect(perReceiver.count).toBeLessThanOrEqual(2_502);
});

test('evicts values of the account with the most when all together have too many', () => {
  const perReceiver = make();
  const few = Array.from({ length: 10 }, (_, i) => perReceiver.of(appOf('few'), `https://${i}.example`));
  for (let app = 0; app < 100; app += 1)
    for (let i = 0; i < 900; i += 1) perReceiver.of(appOf(`app_${app}`), `https://${i}.example`);
  expect(perReceiver.count).toBeLessThanOrEqual(10_000);
  for (const [i, value] of few.entries())
    expect(perReceiver.of(appOf('few'), `https://${i}.example`)).toBe(value);
});

test('an account with 500 apps evicts only its own values', () => {
  const perReceiver = make();
  const other = Array.from({ length: 30 }, (_, i) => perReceiver.of(appOf('other'), `https://${i}.example`));
  for (let app = 0; app < 500; app += 1)
    for (let i = 0; i < 25; i += 1) perReceiver.of(appOf(`app_${app}`, 'acc_big'), `https://${i}.example`);
  for (const [i, value] of other.entries())
    expect(perReceiver.of(appOf('other'), `https://${i}.example`)).toBe(value);
});

test('does not evict a value in use', () => {
  const used = new Set(['https://0.example']);
  const perReceiver = new PerReceiver({
    make: (_app: unknown, origin: string) => ({ origin }),
    isIdle: ({ origin }) => !used.has(origin),
  });
  const value = perReceiver.of(appOf('app_1'), 'https://0.example');
  for (let i = 1; i < 5_000; i += 1) perReceiver.of(appOf('app_1'), `https://${i}.example`);
  expect(perReceiver.of(appOf('app_1'), 'https://0.example')).toBe(value);
});
