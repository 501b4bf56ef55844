import { makeRequestIds } from './request-ids.ts';

const key = (fill: number) => new Uint8Array(32).fill(fill);
const one = makeRequestIds({ current: { number: 1 }, byNumber: new Map([[1, key(1)]]) });
const both = makeRequestIds({
  current: { number: 2 },
  byNumber: new Map([
    [1, key(1)],
    [2, key(2)],
  ]),
});

describe('a request id', () => {
  it('is at most 64 URL-safe characters and contains its time and lane', () => {
    for (const lane of ['interactive', 'bulk', 'batch'] as const) {
      const id = one.makeId(one.makeSeed(), 1_795_228_683_520, lane, 'app_1');
      expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(one.readId(id, 'app_1')).toEqual({ issuedAtMs: 1_795_228_683_520, lane });
    }
  });

  it('is the same for the same seed and time, and another for every seed', () => {
    const seed = one.makeSeed();
    expect(one.makeId(seed, 5, 'bulk', 'app_1')).toBe(one.makeId(seed, 5, 'bulk', 'app_1'));
    const seeds = new Set(Array.from({ length: 2_000 }, () => one.makeSeed()));
    expect(seeds.size).toBe(2_000);
  });

  it('is invalid for another client, and with any single character changed', () => {
    const id = one.makeId(one.makeSeed(), 5, 'bulk', 'app_1');
    expect(one.readId(id, 'app_2')).toBeUndefined();
    for (let at = 0; at < id.length; at += 1) {
      const other = id[at] === 'A' ? 'B' : 'A';
      expect(one.readId(id.slice(0, at) + other + id.slice(at + 1), 'app_1')).toBeUndefined();
    }
  });

  it.each(['', 'x', '\0', 'é', 'A'.repeat(39), 'A'.repeat(41), 'A'.repeat(40), `${'A'.repeat(39)}=`])(
    'is not %j',
    (text) => expect(one.readId(text, 'app_1')).toBeUndefined(),
  );

  it('is still read if an older key made it, and a replay of its seed keeps that key', () => {
    const seed = one.makeSeed();
    const id = one.makeId(seed, 5, 'bulk', 'app_1');
    expect(both.readId(id, 'app_1')).toEqual({ issuedAtMs: 5, lane: 'bulk' });
    expect(both.makeId(seed, 5, 'bulk', 'app_1')).toBe(id);
    expect(one.readId(both.makeId(both.makeSeed(), 5, 'bulk', 'app_1'), 'app_1')).toBeUndefined();
  });
});
