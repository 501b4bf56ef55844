import { AbiCoder, getAddress, Interface } from 'ethers';
import fc from 'fast-check';
import {
  isValueOf,
  judgeArgument,
  nameOfType,
  parseAbiType,
  textOfWord,
  wordOf,
} from '#shared/contracts/rules/abi-type.ts';
import {
  encodeCall,
  outputOf,
  parseViewFunction,
  type ViewFunction,
} from '#shared/contracts/rules/view-function.ts';

const ACCOUNT = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266';

function parsed(text: string): ViewFunction {
  const result = parseViewFunction(text);
  if (!result.ok) throw new Error(result.detail);
  return result.fn;
}

function typeOf(name: string) {
  const type = parseAbiType(name);
  if (type === undefined) throw new Error(`no type ${name}`);
  return type;
}

const aHex = (byteCount: number) =>
  fc
    .uint8Array({ minLength: byteCount, maxLength: byteCount })
    .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`);

/** A type by its name, and the text of one of its values. */
const aStaticValue = fc.oneof(
  fc
    .integer({ min: 1, max: 32 })
    .chain((size) =>
      fc.tuple(
        fc.constant(`uint${size * 8}`),
        fc.bigInt({ min: 0n, max: (1n << BigInt(size * 8)) - 1n }).map(String),
      ),
    ),
  fc.integer({ min: 1, max: 32 }).chain((size) => {
    const half = 1n << BigInt(size * 8 - 1);
    return fc.tuple(fc.constant(`int${size * 8}`), fc.bigInt({ min: -half, max: half - 1n }).map(String));
  }),
  fc.tuple(fc.constant('bool'), fc.constantFrom('true', 'false')),
  fc.tuple(fc.constant('address'), fc.oneof(aHex(20), aHex(20).map(getAddress), fc.constant('$account'))),
  fc.integer({ min: 1, max: 32 }).chain((size) => fc.tuple(fc.constant(`bytes${size}`), aHex(size))),
);
const aDynamicValue = fc.oneof(
  fc.tuple(fc.constant('string'), fc.string({ unit: 'grapheme', maxLength: 12 })),
  fc.tuple(fc.constant('bytes'), fc.integer({ min: 0, max: 70 }).chain(aHex)),
);

test('selector and calldata of random calls equal those of ethers', () => {
  const aCall = fc.record({
    name: fc.stringMatching(/^[a-z_$][A-Za-z0-9_$]{0,10}z$/),
    inputs: fc.array(fc.oneof(aStaticValue, aDynamicValue), { maxLength: 8 }),
    outputs: fc.array(aStaticValue, { minLength: 1, maxLength: 16 }),
  });
  fc.assert(
    fc.property(aCall, ({ name, inputs, outputs }) => {
      const types = inputs.map(([type]) => type);
      const text = `function ${name}(${types.join(', ')}) external view returns (${outputs.map(([type]) => type)})`;
      fc.pre(text.length <= 512);
      const fn = parsed(text);
      const ofEthers = new Interface([text]);
      expect(fn.outputs.map(({ type }) => nameOfType(type))).toEqual(outputs.map(([type]) => type));
      const args = inputs.map(([, value]) => value);
      const values = inputs.map(([type, value]) =>
        type === 'bool' ? value === 'true' : value === '$account' ? ACCOUNT : value,
      );
      const call = encodeCall(fn, args, ACCOUNT);
      expect(call.ok && `0x${call.calldata}`).toBe(ofEthers.encodeFunctionData(name, values));
    }),
    { numRuns: 1_000 },
  );
});

test('a value is encoded to the same word as by ethers, and the word decodes to the same text', () => {
  fc.assert(
    fc.property(aStaticValue, ([name, text]) => {
      const type = typeOf(name);
      expect(judgeArgument(type, text)).toBeUndefined();
      const word = wordOf(type, text, ACCOUNT);
      const value = name === 'bool' ? text === 'true' : text === '$account' ? ACCOUNT : text;
      expect(word).toBe(BigInt(AbiCoder.defaultAbiCoder().encode([name], [value])));
      expect(isValueOf(type, word)).toBe(true);
      const again = textOfWord(type, word);
      expect(judgeArgument(type, again)).toBeUndefined();
      expect(wordOf(type, again, ACCOUNT)).toBe(word);
    }),
    { numRuns: 1_000 },
  );
});

test('a word is a value of a type exactly where ethers decodes and re-encodes it to the same word', () => {
  const aWord = fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
    fc.bigInt({ min: 0n, max: 300n }),
    fc.bigInt({ min: 1n, max: 300n }).map((value) => 2n ** 256n - value),
    fc.integer({ min: 0, max: 255 }).map((bit) => 1n << BigInt(bit)),
  );
  fc.assert(
    fc.property(aStaticValue, aWord, ([name], word) => {
      const coder = AbiCoder.defaultAbiCoder();
      const hex = `0x${word.toString(16).padStart(64, '0')}`;
      // ethers masks bits beyond the type, so an invalid value re-encodes to another word.
      let encoded: string | undefined;
      try {
        encoded = coder.encode([name], coder.decode([name], hex));
      } catch {
        encoded = undefined;
      }
      expect(isValueOf(typeOf(name), word)).toBe(encoded === hex);
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  'function getVotes(address account) view returns (uint256)',
  'function  getVotes ( address  account )view  returns(uint256 votes)',
  'function getVotes(address) external view returns (uint)',
  'function getVotes(address) public pure returns (uint256)',
  'function getVotes(address) view external returns (uint256)',
])('accepts %s', (text) => {
  expect(parsed(text)).toMatchObject({ name: 'getVotes', selector: '9ab24eb0' });
});

test('accepts the data location of a string or bytes', () => {
  const fn = parsed('function f(string memory a, bytes calldata b, string c) view returns (bool)');
  expect(fn.inputs.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
});

test.each([
  ['', '"function"'],
  ['getVotes(address) view returns (uint256)', '"function"'],
  ['function f(address) returns (uint256)', '"view" or "pure"'],
  ['function f(address) view pure returns (uint256)', '"view" or "pure"'],
  ['function f(address) payable returns (uint256)', '"payable"'],
  ['function f(address) internal view returns (uint256)', '"internal"'],
  ['function f(address) view', 'returns'],
  ['function f(address) view returns ()', '1 to 16 outputs'],
  [`function f() view returns (${Array(17).fill('bool').join()})`, '1 to 16 outputs'],
  [`function f(${Array(9).fill('bool').join()}) view returns (bool)`, '8 inputs'],
  ['function f(uint256[] ids) view returns (bool)', 'array'],
  ['function f((uint256,bool) x) view returns (bool)', 'tuple'],
  ['function f(tuple x) view returns (bool)', 'tuple'],
  ['function f() view returns (string)', '"string" is not supported'],
  ['function f() view returns (bytes)', '"bytes" is not supported'],
  ['function f() view returns (uint256[2])', 'array'],
  ['function f(IERC20 token) view returns (bool)', '"IERC20" is not supported'],
  ['function f(uint7 x) view returns (bool)', '"uint7" is not supported'],
  ['function f(uint264 x) view returns (bool)', '"uint264" is not supported'],
  ['function f(uint08 x) view returns (bool)', '"uint08" is not supported'],
  ['function f(bytes33 x) view returns (bool)', '"bytes33" is not supported'],
  ['function f(bytes0 x) view returns (bool)', '"bytes0" is not supported'],
  ['function f(fixed x) view returns (bool)', '"fixed" is not supported'],
  ['function f(address memory x) view returns (bool)', 'name of an input'],
  ['function 1f() view returns (bool)', 'name of a function'],
  ['function () view returns (bool)', 'name of a function'],
  ['function f(bool,) view returns (bool)', 'types'],
  ['function f(bool a b) view returns (bool)', '")" after the inputs'],
  ['function f(bool', '")" after the inputs'],
  ['function f() view returns (bool', '")" after the outputs'],
  ['function f() view returns (bool) returns (bool)', 'must end'],
  ['function f() view returns (bool a, bool a)', 'two outputs alike'],
  ['function f() view returns (bool);', 'without a semicolon'],
  ['function f()\nview returns (bool)', 'must hold only'],
  ['function ƒ() view returns (bool)', 'must hold only'],
  [`function f(${'('.repeat(499)}`, 'tuple'],
  [`function ${'f'.repeat(512)}() view returns (bool)`, '512 characters'],
])('refuses %j and says why', (text, reason) => {
  expect(parseViewFunction(text)).toEqual({ ok: false, detail: expect.stringContaining(reason) });
});

test.each<[string, string, string]>([
  ['uint8', '256', 'from 0 to 255'],
  ['uint8', '-1', 'from 0 to 255'],
  ['uint256', '+1', 'plus sign'],
  ['uint256', '01', 'leading zeros'],
  ['uint256', '', 'integer'],
  ['uint256', '1.0', 'integer'],
  ['uint256', '0x1', 'integer'],
  ['uint256', String(2n ** 256n), 'uint256'],
  ['int8', '-129', 'from -128 to 127'],
  ['int8', '128', 'from -128 to 127'],
  ['int8', '-0', 'integer'],
  ['bool', 'True', '"true" or "false"'],
  ['bool', '1', '"true" or "false"'],
  ['address', '0x12', '40 hexadecimal digits'],
  ['address', '0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92267', 'checksum'],
  ['address', '$Account', '"$account"'],
  ['uint256', '$account', 'integer'],
  ['bytes4', '0x12345', '8 hexadecimal digits'],
  ['bytes4', '0x1234567890', '8 hexadecimal digits'],
  ['bytes4', '12345678', '8 hexadecimal digits'],
  ['bytes', '0x123', 'even'],
  ['bytes', `0x${'00'.repeat(257)}`, '256 bytes'],
  ['string', 'ä'.repeat(129), '256 bytes'],
  ['string', '\ud800', 'surrogate'],
])('refuses the %s %j and names the allowed values', (name, text, reason) => {
  expect(judgeArgument(typeOf(name), text)).toContain(reason);
});

test('names the wrong argument, and refuses a wrong number of arguments and too much calldata', () => {
  const fn = parsed('function f(bool a, uint8 b) view returns (bool)');
  expect(encodeCall(fn, ['true', '300'], ACCOUNT)).toMatchObject({ ok: false, index: 1 });
  expect(encodeCall(fn, ['true'], ACCOUNT)).toEqual({
    ok: false,
    detail: expect.stringContaining('2 texts'),
  });
  const long = parsed('function f(bytes,bytes,bytes,bytes) view returns (bool)');
  const most = Array(4).fill(`0x${'00'.repeat(256)}`);
  expect(encodeCall(long, most, ACCOUNT)).toEqual({
    ok: false,
    detail: expect.stringContaining('1024 bytes'),
  });
});

test.each<[string | undefined, number | undefined]>([
  [undefined, 0],
  ['0', 0],
  ['1', 1],
  ['active', 1],
  ['2', undefined],
  ['01', undefined],
  ['Active', undefined],
  ['', undefined],
])('the output %p has the index %p', (returns, index) => {
  const fn = parsed('function tierOf(address) view returns (uint8 tier, bool active)');
  expect(outputOf(fn, returns)?.index).toBe(index);
});
