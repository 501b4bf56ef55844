import { Interface } from 'ethers';
import fc from 'fast-check';
import { decodeAggregate3, encodeAggregate3 } from './multicall3-codec.ts';

const MULTICALL3 = new Interface([
  'function aggregate3((address target, bool allowFailure, bytes callData)[] calls) returns ((bool success, bytes returnData)[])',
]);
const hexBytes = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map((bytes) => Buffer.from(bytes).toString('hex'));
const anAddress = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`);

test('calldata equals that of the codec of ethers', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ target: anAddress, calldata: hexBytes(100) }), { maxLength: 10 }),
      (calls) => {
        const tuples = calls.map(({ target, calldata }) => [target, true, `0x${calldata}`]);
        expect(encodeAggregate3(calls.map((call) => [call, 1]))).toBe(
          MULTICALL3.encodeFunctionData('aggregate3', [tuples]),
        );
      },
    ),
  );
});

const anAnswer = fc.record({ success: fc.boolean(), data: hexBytes(100) });
const encodeAnswers = (answers: readonly { success: boolean; data: string }[]) =>
  MULTICALL3.encodeFunctionResult('aggregate3', [answers.map(({ success, data }) => [success, `0x${data}`])]);

test('a call that is made several times is written once, and decodes to as many calls', () => {
  const once = { target: `0x${'a1'.repeat(20)}`, calldata: '0102' };
  const last = { target: `0x${'b2'.repeat(20)}`, calldata: '', isRequired: true };
  const encoded = encodeAggregate3([
    [once, 3],
    [last, 1],
  ]);
  const [calls] = MULTICALL3.decodeFunctionData('aggregate3', encoded);
  const asText = calls.map(([target, allowFailure, data]: [string, boolean, string]) =>
    [target.toLowerCase(), allowFailure, data].join(' '),
  );
  expect(asText).toEqual([...Array(3).fill(`${once.target} true 0x0102`), `${last.target} false 0x`]);
});

test('an answer is read as the codec of ethers wrote it', () => {
  fc.assert(
    fc.property(fc.array(anAnswer, { maxLength: 10 }), (answers) => {
      expect(decodeAggregate3(encodeAnswers(answers), answers.length)).toEqual(answers);
    }),
  );
});

test('an answer that was cut or changed is refused or read within its bounds, and never throws', () => {
  const aChange = fc.record({ at: fc.nat(2_000), digit: fc.constantFrom(...'0123456789abcdef') });
  fc.assert(
    fc.property(
      fc.array(anAnswer, { maxLength: 5 }),
      fc.array(aChange, { maxLength: 4 }),
      (answers, changes) => {
        let text = encodeAnswers(answers);
        for (const { at, digit } of changes) {
          const place = 2 + (at % Math.max(1, text.length - 2));
          text = text.slice(0, place) + digit + text.slice(place + 1);
        }
        const decoded = decodeAggregate3(text, answers.length);
        for (const { data } of decoded ?? []) expect(data.length).toBeLessThanOrEqual(text.length);
        expect(decodeAggregate3(text.slice(0, -64), answers.length + 1)).toBeUndefined();
      },
    ),
  );
});
