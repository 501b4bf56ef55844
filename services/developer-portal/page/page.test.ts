import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { partsOf } from './features/frame/path-parts.ts';
import { describeDetail, numberOf, roleIdsOf } from './features/try/describe-detail.ts';
import {
  formatAmount,
  formatCount,
  formatDistance,
  formatMs,
  formatPlural,
  formatShare,
  formatSpan,
} from './lib/format.ts';

const index = readFileSync(join(__dirname, 'index.html'), 'utf8');
const modules = ['features', 'ui', 'lib'].flatMap((folder) =>
  readdirSync(join(__dirname, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /(?<!\.test)\.ts$/.test(name))
    .map((name) => `${folder}/${name}`),
);
const textOf = (path: string): string => readFileSync(join(__dirname, path), 'utf8');

test('the document has no inline script or style, and loads everything from the portal', () => {
  expect(index).not.toMatch(/<style|style="|<script(?![^>]*\bsrc=)|\son[a-z]+=/);
  expect([...index.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url?.[0])).not.toContain('h');
});

test('no module turns text into markup', () => {
  const offenders = modules.filter((path) =>
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|\beval\(|new Function/.test(
      textOf(path),
    ),
  );
  expect(modules.length).toBeGreaterThan(40);
  expect(offenders).toEqual([]);
});

test.each([
  ['/apps/app_1', { id: 'app_1' }],
  ['/apps/a%20b/keys', { id: 'a b', section: 'keys' }],
  ['/apps/a/rule-sets/holders', { id: 'a', section: 'rule-sets', item: 'holders' }],
  ['/operator', {}],
  ['/operator/apps/a', { section: 'apps', item: 'a' }],
  ['/apps/', undefined],
  ['/apps/a/keys/b/c', undefined],
  ['/apps/%E0%A4%A', undefined],
  ['/account', undefined],
])('the path %s names the parts of a page', (path, parts) => {
  expect(partsOf(path)).toEqual(parts);
});

test('the amounts that were compared read as a sentence', () => {
  const erc20 = { type: 'ERC20', chainId: 1 };
  const blocks = { '1': { number: 123 } };
  expect(
    describeDetail({ outcome: 'granted', observed: '1500.5', required: { min: '1500' } }, erc20, blocks),
  ).toBe('holds 1,500.5; 1,500 or more needed, at block 123');
  expect(
    describeDetail({ outcome: 'denied', observed: '1200', required: { min: '1500' } }, undefined, {
      '1': 21_000_000,
    }),
  ).toBe('holds 1,200 of 1,500 needed, at block 21,000,000');
  expect(
    describeDetail({ outcome: 'denied', observed: '12', required: { min: '0', max: '9' } }, erc20, {}),
  ).toBe('holds 12; at most 9 allowed');
  expect(describeDetail({ outcome: 'undetermined', required: { min: '2' } }, erc20, {})).toBe(
    'could not be read; 2 or more needed',
  );
  expect(
    describeDetail({ outcome: 'denied', observed: '3', required: { min: '5', max: '9' } }, erc20, {}),
  ).toBe('holds 3; 5 to 9 needed');
  const call = { type: 'CONTRACT', chainId: 1, function: 'function isOwner(address) view returns (bool)' };
  expect(
    describeDetail({ outcome: 'undetermined', required: { operator: 'eq', value: 'true' } }, call, {}),
  ).toBe('isOwner could not be read; exactly true needed');
  const lock = {
    type: 'CONTRACT',
    chainId: 1,
    function: 'function lockedUntil(address) view returns (uint64)',
  };
  const times = {
    outcome: 'denied',
    observed: '0',
    required: { operator: 'gt', value: '1700000000' },
  } as const;
  expect(describeDetail(times, { ...lock, value: '$timestamp' }, {})).toMatch(
    /^lockedUntil says 0; more than 1[45] Nov 2023, \d\d:\d\d needed$/,
  );
  expect(describeDetail(times, { ...lock, value: '1700000000' }, blocks)).toBe(
    'lockedUntil says 0; more than 1,700,000,000 needed, at block 123',
  );
  expect(describeDetail({ outcome: 'denied', required: {}, rules: [times] }, undefined, blocks)).toBe(
    'by these',
  );
  expect(
    describeDetail({ outcome: 'denied' }, { type: 'AT_LEAST', atLeast: 2, rules: [erc20, call] }, blocks),
  ).toBe('at least 2 of these');
  expect(
    describeDetail(
      { outcome: 'granted', observed: '1200', required: { min: '10' }, rules: [{ observed: '8' }] },
      { type: 'SUM' },
      { '1': { number: 1 }, '10': { number: 2 } },
    ),
  ).toBe('adds up to 1,200; 10 or more needed');
  expect(describeDetail({ observed: '8' }, { ...erc20, times: '1.5', per: call }, blocks)).toBe(
    'holds 8 × 1.5 ÷ isOwner, at block 123',
  );
  expect(describeDetail({}, erc20)).toBe('could not be read');
  expect(numberOf('/rules/0/rules/2')).toBe('1.3');
});

test('the roles of explained rules are those that the result names', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((id) => ({ id }));
  const unread = { ruleIndex: 1, roleId: 'b' };
  const details = [{}, {}, {}];
  expect(roleIdsOf({ roles: [a, b, c], errors: [], details } as never)).toEqual(['a', 'b', 'c']);
  expect(roleIdsOf({ roles: [a, c], errors: [unread], details } as never)).toEqual(['a', 'b', 'c']);
  expect(roleIdsOf({ roles: [a, b, c], errors: [unread], details } as never)).toEqual(['a', 'b', 'c']);
  expect(roleIdsOf({ roles: [], errors: [unread], details } as never)).toEqual([undefined, 'b', undefined]);
});

test('figures read well', () => {
  expect([null, 0.2, 7.4, 999, 1_200, 12_400].map(formatMs)).toEqual([
    '–',
    '< 1 ms',
    '7 ms',
    '999 ms',
    '1.2 s',
    '12 s',
  ]);
  expect([0, 0.0004, 0.042, 1].map(formatShare)).toEqual(['0%', '< 0.1%', '4.2%', '100%']);
  expect(formatCount(1_234_567)).toBe('1,234,567');
  expect(['1500.50', '123456789012345678901234567890', '-7', 'true', '0x1f'].map(formatAmount)).toEqual([
    ...['1,500.50', '123,456,789,012,345,678,901,234,567,890', '-7', 'true', '0x1f'],
  ]);
  expect([0, 1, 2].map((count) => formatPlural(count, 'key'))).toEqual(['0 keys', '1 key', '2 keys']);
  expect([60, 3_600, 5_400, 604_800, 61].map(formatSpan)).toEqual([
    ...['minute', 'hour', '90 minutes', '7 days', '61 seconds'],
  ]);
  const now = Date.parse('2026-11-21T12:00:00Z');
  expect(formatDistance('2026-11-21T11:59:40Z', now)).toBe('just now');
  expect(formatDistance('2026-11-21T09:00:00Z', now)).toBe('3 hours ago');
  expect(formatDistance('2026-11-23T12:00:00Z', now)).toBe('in 2 days');
});
