import { PerReceiver } from './per-receiver.ts';

const make = () =>
  new PerReceiver({ make: (_clientId: string, origin: string) => ({ origin }), isIdle: () => true });

test('a receiver has one value for as long as it is remembered', () => {
  const perReceiver = make();
  const value = perReceiver.of('app_1', 'https://a.example');
  expect(perReceiver.of('app_1', 'https://a.example')).toBe(value);
  expect(perReceiver.of('app_2', 'https://a.example')).not.toBe(value);
});

test('a client app with ever new origins makes none but its own be forgotten', () => {
  const perReceiver = make();
  const mine = perReceiver.of('app_1', 'https://a.example');
  const first = perReceiver.of('app_2', 'https://0.example');
  for (let i = 1; i < 20_000; i += 1) perReceiver.of('app_2', `https://${i}.example`);
  expect(perReceiver.of('app_1', 'https://a.example')).toBe(mine);
  expect(perReceiver.of('app_2', 'https://0.example')).not.toBe(first);
  expect(perReceiver.count).toBeLessThanOrEqual(1_002);
});

test('where too many are remembered, the app with the most forgets', () => {
  const perReceiver = make();
  const few = Array.from({ length: 10 }, (_, i) => perReceiver.of('few', `https://${i}.example`));
  for (let app = 0; app < 100; app += 1)
    for (let i = 0; i < 900; i += 1) perReceiver.of(`app_${app}`, `https://${i}.example`);
  expect(perReceiver.count).toBeLessThanOrEqual(10_000);
  for (const [i, value] of few.entries()) expect(perReceiver.of('few', `https://${i}.example`)).toBe(value);
});

test('a value in use is not forgotten', () => {
  const used = new Set(['https://0.example']);
  const perReceiver = new PerReceiver({
    make: (_clientId: string, origin: string) => ({ origin }),
    isIdle: ({ origin }) => !used.has(origin),
  });
  const value = perReceiver.of('app_1', 'https://0.example');
  for (let i = 1; i < 5_000; i += 1) perReceiver.of('app_1', `https://${i}.example`);
  expect(perReceiver.of('app_1', 'https://0.example')).toBe(value);
});
