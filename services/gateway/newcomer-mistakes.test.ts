// Mistakes of newcomers. The answer alone must say how to correct them: its detail has the text
// below.
import { A_CHECK, API_KEY } from '../../test/support/fakes/fake-gateway.ts';
import { fakeGateways, problemOf } from '../../test/support/fakes/fake-gateways.ts';

const start = fakeGateways();
type Change = Readonly<Record<string, unknown>>;

const ADDRESS = A_CHECK.account;
const ERC20 = { type: 'ERC20', chainId: 1, contractAddress: ADDRESS, roleId: 'holder' };
const VIEW = {
  type: 'CONTRACT',
  chainId: 1,
  contractAddress: ADDRESS,
  roleId: 'holder',
  function: 'function balanceOf(address) view returns (uint256)',
  args: ['$account'],
  operator: 'gte',
  value: '1',
};

async function detailOf(body: unknown, headers: Record<string, string> = {}): Promise<string> {
  const gateway = await start();
  const problem = await problemOf(await gateway.post(body, headers));
  const errors = (problem['errors'] ?? []) as readonly { readonly detail: string }[];
  return [problem['detail'], ...errors.map(({ detail }) => detail)].join('\n');
}

test.each<[string, Record<string, string>, string]>([
  ['no key', { 'x-api-key': '' }, 'in the x-api-key header'],
  [
    'the key as a bearer token',
    { 'x-api-key': '', authorization: `Bearer ${API_KEY}` },
    'in the x-api-key header, not in authorization',
  ],
  ['half of a key', { 'x-api-key': API_KEY.slice(0, 20) }, 'begins with rck_live_ and has 45 characters'],
  ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 'content-type: application/json'],
  ['a compressed body', { 'content-encoding': 'gzip' }, 'without a content-encoding'],
  ['an idempotency key with spaces', { 'idempotency-key': 'a b' }, 'visible ASCII characters'],
])('the answer to %s names the right header', async (_, headers, words) => {
  expect(await detailOf(A_CHECK, headers)).toContain(words);
});

test('a check and a rule set that a tool of Windows wrote are taken', async () => {
  const gateway = await start();
  const written = (value: unknown) =>
    `\ufeff${JSON.stringify(value, undefined, 2).replaceAll('\n', '\r\n')}\r\n`;
  expect((await gateway.post(written({ ...A_CHECK, async: true }))).status).toBe(202);
  const body = written({ rules: [ERC20] });
  expect((await gateway.send('PUT', '/access-control/rule-sets/holders', body)).status).toBe(201);
});

test.each([
  ['an empty body', '', 'send a JSON object'],
  ['a blank body', '\ufeff\r\n', 'send a JSON object'],
  ['a body in UTF-16', Buffer.from('\ufeff{}', 'utf16le'), 'not UTF-8'],
  ['single quotes', "{'account':1}", 'position 1'],
  ['a trailing comma', '{"rules":[],}', 'position 12'],
  ['a comment', '{ // x\n}', 'position 2'],
  ['a body that was cut', '{"account":', 'ends too early'],
  ['two documents', '{"a":1}\n{"b":2}', 'position 8'],
  ['JSON inside of JSON', JSON.stringify(JSON.stringify(A_CHECK)), 'must be an object'],
])('the answer to %s says where the JSON breaks', async (_, body, words) => {
  expect(await detailOf(body)).toContain(words);
});

test.each<[string, Change, string]>([
  ['no account', { account: undefined }, '/account is required unless accounts is sent'],
  ['address instead of account', { address: ADDRESS }, '/address is not a known member; known: account,'],
  ['an address without 0x', { account: ADDRESS.slice(2) }, '0x and 40 hexadecimal digits'],
  ['a private key', { account: `0x${'a'.repeat(64)}` }, '0x and 40 hexadecimal digits'],
  ['a name', { account: 'vitalik.eth' }, 'ENS names and CAIP-10 ids are not resolved'],
  ['a wrong capital letter', { account: ADDRESS.replace('E7', 'e7') }, 'lower case if you have no checksum'],
  ['the zero address', { account: `0x${'0'.repeat(40)}` }, 'must not be the zero address'],
  ['one rule without a list', { rules: A_CHECK.rules[0] }, '/rules must be a list of rules'],
  ['no rules', { rules: undefined }, '/rules'],
  ['text for a boolean', { async: 'true' }, '/async must be true or false'],
  ['a path as callback', { callbackUrl: '/hook' }, 'Write it like https://example.com/hooks'],
  ['a callback on this machine', { callbackUrl: 'https://localhost/' }, 'reachable from the public internet'],
  ['another block tag', { consistency: { blockTag: 'pending' } }, 'must be one of latest, safe, finalized'],
])('the answer to %s describes the right body', async (_, change, words) => {
  expect(await detailOf({ ...A_CHECK, ...change })).toContain(words);
});

test.each<[string, Change, string]>([
  ['a number as amount', { ...ERC20, minToken: 1 }, 'a decimal string such as "1500.5"'],
  ['an amount in hex', { ...ERC20, minToken: '0x1' }, 'a decimal string such as "1500.5"'],
  ['an amount with an exponent', { ...ERC20, minToken: '1e18' }, 'a decimal string such as "1500.5"'],
  ['a decimal comma', { ...ERC20, minToken: '1,5' }, 'a decimal string such as "1500.5"'],
  [
    'another name of the amount',
    { ...ERC20, amount: '1' },
    'known: type, chainId, contractAddress, minToken,',
  ],
  ['role instead of roleId', { ...ERC20, roleId: undefined, role: 'x' }, '/rules/0/roleId is required'],
  ['a chain as text', { ...ERC20, chainId: '1' }, 'must be an integer such as 1'],
  ['an unknown chain', { ...ERC20, chainId: 99 }, 'configured: 1'],
  ['a type in lower case', { ...ERC20, type: 'erc20' }, 'must be one of ERC20, ERC721'],
  ['no contract', { ...ERC20, contractAddress: undefined }, 'is required for ERC20'],
  ['a contract of the native coin', { ...ERC20, type: 'NATIVE' }, 'a native balance has no contract'],
  ['a reversed range', { ...ERC20, type: 'ERC721', tokenId: '9-2' }, 'write the smaller id first'],
  ['spaces between ids', { ...ERC20, type: 'ERC721', tokenId: '1, 2' }, 'without spaces'],
  ['a token id as number', { ...ERC20, type: 'ERC721', tokenId: 1 }, 'a string such as "1,2,42-69"'],
  ['no token id of ERC1155', { ...ERC20, type: 'ERC1155' }, 'is required for ERC1155'],
  ['a fraction of an NFT', { ...ERC20, type: 'ERC721', minToken: '0.5' }, 'must be a whole number'],
  ['a maximum below the minimum', { ...ERC20, maxToken: '0.5' }, 'must not be below minToken'],
  [
    'a signature without its keyword',
    { ...VIEW, function: 'balanceOf(address)' },
    'such as "function balanceOf',
  ],
  ['a sign as operator', { ...VIEW, operator: '>=' }, 'must be one of eq, ne, gt, gte, lt, lte'],
  ['an invented placeholder', { ...VIEW, args: ['$user'] }, 'or "$account"'],
  [
    'a role inside of a composed rule',
    { type: 'ALL', roleId: 'x', rules: [ERC20] },
    'outermost rule names the role',
  ],
  [
    'conditions of a composed rule under another name',
    { type: 'ANY', roleId: 'x', conditions: [ERC20] },
    'known: type, rules',
  ],
])('the answer to %s describes the right rule', async (_, rule, words) => {
  expect(await detailOf({ ...A_CHECK, rules: [rule] })).toContain(words);
});

test.each([
  ['/access-control/check-roles/', 'POST /access-control/check-roles'],
  ['/check-roles', 'POST /access-control/check-roles'],
])('the answer to the wrong path %s says the right one', async (path, words) => {
  const gateway = await start();
  const response = await fetch(gateway.url + path, { method: 'POST', headers: { 'x-api-key': API_KEY } });
  expect((await problemOf(response))['detail']).toContain(words);
});
