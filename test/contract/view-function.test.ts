import { AbiCoder, getAddress, Interface } from 'ethers';
import fc from 'fast-check';
import {
  isValueOf,
  judgeArgument,
  judgeValue,
  nameOfType,
  parseAbiType,
  textOfWord,
  wordOf,
} from '#shared/contracts/rules/abi-type.ts';
import { offsetFromBlockTime } from '#shared/contracts/rules/block-time.ts';
import {
  encodeCall,
  findOutput,
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

/** The type of a compared output; the refusal's code if it cannot be compared. */
function nameAt(fn: ViewFunction, returns: string): string {
  const output = findOutput(fn, returns);
  return output.ok ? nameOfType(output.type) : output.code;
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
      expect(outputs.map((_, index) => nameAt(fn, String(index)))).toEqual(outputs.map(([type]) => type));
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

/** A type of an output as it is written, a value for ethers, and all that may be compared in it: its
 * path behind that of the type, with the word of its value; none below a dynamic type. */
type Sample = {
  readonly text: string;
  readonly value: unknown;
  readonly isDynamic: boolean;
  readonly places: readonly (readonly [path: string, word: string | undefined])[];
};

const coder = AbiCoder.defaultAbiCoder();
const aScalar = aStaticValue
  .filter(([, text]) => text !== '$account')
  .map(([text, value]): Sample => {
    const given = text === 'bool' ? value === 'true' : value;
    return { text, value: given, isDynamic: false, places: [['', coder.encode([text], [given])]] };
  });
const aText = aDynamicValue.map(
  ([text, value]): Sample => ({ text, value, isDynamic: true, places: [['', undefined]] }),
);
const under = (step: string | number, { places }: Sample, isDynamic: boolean) =>
  places.map(([path, word]) => [`.${step}${path}`, isDynamic ? undefined : word] as const);
const aSample: fc.Memo<Sample> = fc.memo((depth) => {
  if (depth <= 1) return fc.oneof({ weight: 4, arbitrary: aScalar }, aText);
  const aTuple = fc
    .tuple(fc.constantFrom('tuple', ''), fc.array(aSample(depth - 1), { minLength: 1, maxLength: 3 }))
    .map(([word, members]): Sample => {
      const isDynamic = members.some((member) => member.isDynamic);
      return {
        text: `${word}(${members.map(({ text }, at) => (at % 2 === 0 ? `${text} m${at}` : text)).join(', ')})`,
        value: members.map(({ value }) => value),
        isDynamic,
        places: [
          ['', undefined],
          ...members.flatMap((member, at) => [
            ...under(at, member, isDynamic),
            ...(at % 2 === 0 ? under(`m${at}`, member, isDynamic) : []),
          ]),
        ],
      };
    });
  const anArray = fc
    .tuple(aSample(depth - 1), fc.integer({ min: 1, max: 3 }), fc.boolean())
    .map(([entry, length, isOpen]): Sample => {
      const isDynamic = isOpen || entry.isDynamic;
      return {
        text: `${entry.text}[${isOpen ? '' : length}]`,
        value: Array(length).fill(entry.value),
        isDynamic,
        places: [['', undefined], ...Array.from({ length }, (_, at) => under(at, entry, isDynamic)).flat()],
      };
    });
  return fc.oneof({ weight: 2, arbitrary: aScalar }, aTuple, anArray, aText);
});

test('the word of each output inside of tuples and arrays is where ethers encodes it', () => {
  let compared = 0;
  fc.assert(
    fc.property(fc.array(aSample(3), { minLength: 1, maxLength: 4 }), (outputs) => {
      const text = `function f() view returns (${outputs.map((output) => output.text).join(', ')})`;
      fc.pre(text.length <= 512);
      const result = parseViewFunction(text);
      fc.pre(result.ok);
      if (!result.ok) return;
      const encoded = coder.encode(
        outputs.map((output) => output.text),
        outputs.map(({ value }) => value),
      );
      const { wordCount } = result.fn;
      if (outputs.some(({ isDynamic }) => isDynamic))
        expect(encoded.length).toBeGreaterThan(2 + 64 * wordCount);
      else expect(encoded).toHaveLength(2 + 64 * wordCount);
      for (const [index, output] of outputs.entries())
        for (const [path, word] of output.places) {
          const found = findOutput(result.fn, `${index}${path}`);
          expect(found.ok).toBe(word !== undefined);
          if (!found.ok) continue;
          compared += 1;
          const at = 2 + 64 * found.word;
          expect(`0x${encoded.slice(at, at + 64)}`).toBe(word);
        }
    }),
    { numRuns: 2_000 },
  );
  expect(compared).toBeGreaterThan(1_000);
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
  ['function f(address) view returns ()', '1 to 16 words'],
  [`function f() view returns (${Array(17).fill('bool').join()})`, '1 to 16 words'],
  ['function f() view returns (uint256[17])', '1 to 16 words'],
  ['function f() view returns (uint256[4][4] a, bool)', '1 to 16 words'],
  [`function f() view returns (uint256[${'9'.repeat(400)}])`, '1 to 16 words'],
  ['function f() view returns ((uint256[9] a, (uint8[4] b, bool c)[2] d) e)', '1 to 16 words'],
  [`function f(${Array(9).fill('bool').join()}) view returns (bool)`, '8 inputs'],
  ['function f(uint256[] ids) view returns (bool)', 'array'],
  ['function f((uint256,bool) x) view returns (bool)', 'tuple'],
  ['function f(tuple x) view returns (bool)', 'tuple'],
  ['function f((uint256,bool)[] x) view returns (bool)', 'tuple'],
  ['function f() view returns (())', 'empty tuple'],
  ['function f() view returns (tuple t)', '"(" after "tuple"'],
  ['function f() view returns (uint256[0])', 'length of an array'],
  ['function f() view returns (uint256[02])', 'length of an array'],
  ['function f() view returns (uint256[n])', 'length of an array'],
  ['function f() view returns (uint256[2)', '"]" after the length'],
  ['function f() view returns ((uint256 a, (bool b, bool b) c))', 'two outputs alike'],
  ['function f() view returns ((IERC20 token, bool b))', '"IERC20" is not supported'],
  ['function f() view returns (uint256 memory x)', 'name of an output'],
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

const POSITION =
  'function positionOf(address) view returns (tuple(uint128 liquidity, int24[2] ticks, (bool locked, bytes4 kind) state) position, string memory note, uint256[] memory fees, uint40 since)';

test.each<[string | undefined, string, string | number]>([
  [undefined, 'function tierOf(address) view returns (uint8 tier, bool active)', 0],
  ['0', 'function tierOf(address) view returns (uint8 tier, bool active)', 0],
  ['1', 'function tierOf(address) view returns (uint8 tier, bool active)', 1],
  ['active', 'function tierOf(address) view returns (uint8 tier, bool active)', 1],
  ['2', 'function tierOf(address) view returns (uint8 tier, bool active)', 'unknown-output'],
  ['01', 'function tierOf(address) view returns (uint8 tier, bool active)', 'unknown-output'],
  ['Active', 'function tierOf(address) view returns (uint8 tier, bool active)', 'unknown-output'],
  ['', 'function tierOf(address) view returns (uint8 tier, bool active)', 'unknown-output'],
  ['tier.', 'function tierOf(address) view returns (uint8 tier, bool active)', 'unknown-output'],
  ['.tier', 'function tierOf(address) view returns (uint8 tier, bool active)', 'unknown-output'],
  ['tier.0', 'function tierOf(address) view returns (uint8 tier, bool active)', 'unknown-output'],
  ['position.liquidity', POSITION, 0],
  ['0.0', POSITION, 0],
  ['0.ticks.1', POSITION, 2],
  ['position.1.0', POSITION, 1],
  ['position.ticks.2', POSITION, 'unknown-output'],
  ['position.ticks.first', POSITION, 'unknown-output'],
  ['position.state.locked', POSITION, 3],
  ['0.2.kind', POSITION, 4],
  ['since', POSITION, 7],
  ['3', POSITION, 7],
  [undefined, POSITION, 'function-unsupported'],
  ['position', POSITION, 'function-unsupported'],
  ['position.ticks', POSITION, 'function-unsupported'],
  ['position.state', POSITION, 'function-unsupported'],
  ['note', POSITION, 'function-unsupported'],
  ['fees', POSITION, 'function-unsupported'],
  ['fees.0', POSITION, 'function-unsupported'],
  ['0.0', 'function f() view returns ((uint256 a, string b) t)', 'function-unsupported'],
  ['0.0', 'function f() view returns (string[2] names)', 'function-unsupported'],
  [undefined, 'function f() view returns (string)', 'function-unsupported'],
  [undefined, 'function f() view returns (bytes)', 'function-unsupported'],
])('the output %p of %s is the word, or is refused as, %p', (returns, text, expected) => {
  const found = findOutput(parsed(text), returns);
  expect(found.ok ? found.word : found.code).toBe(expected);
});

test('a refused path names the outputs that can be compared', () => {
  expect(findOutput(parsed(POSITION), 'position')).toMatchObject({
    detail:
      'must lead to one value, not to a tuple: 0.0 (position.liquidity), 0.1.0 (position.ticks.0), ' +
      '0.1.1 (position.ticks.1), 0.2.0 (position.state.locked), 0.2.1 (position.state.kind), 3 (since)',
  });
  expect(findOutput(parsed('function f() view returns (string)'), '1')).toMatchObject({
    detail: 'must name an output: none can be compared',
  });
});

test.each<[string, bigint | undefined]>([
  ['$timestamp', 0n],
  ['$timestamp+60', 60n],
  ['$timestamp-86400', -86_400n],
  ['$timestamp+9999999999', 9_999_999_999n],
  ['$timestamp+10000000000', undefined],
  ['$timestamp+060', undefined],
  ['$timestamp+', undefined],
  ['$timestamp +60', undefined],
  ['$timestamp60', undefined],
  ['$Timestamp', undefined],
  ['60+$timestamp', undefined],
])('%j is that many seconds after the block: %p', (text, seconds) => {
  expect(offsetFromBlockTime(text)).toBe(seconds);
  for (const name of ['uint8', 'int24', 'uint256'])
    expect(judgeValue(typeOf(name), text) === undefined).toBe(seconds !== undefined);
  for (const name of ['bool', 'address', 'bytes32']) expect(judgeValue(typeOf(name), text)).toBeDefined();
  expect(judgeArgument(typeOf('uint256'), text)).toBeDefined();
});
