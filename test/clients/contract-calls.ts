import { type AbiFunction, encodeFunctionData, parseAbiItem } from 'viem';
import type { ContractCondition } from '#shared/contracts/rules/rule.ts';
import type { NodeOracle } from './node-oracle.ts';

// View functions as viem parses, encodes and decodes them; the evaluator has a parser and an
// encoder of its own.

type Call = Pick<ContractCondition, 'function' | 'args'>;

const abiOf = (signature: string) => parseAbiItem(signature) as AbiFunction;

/** The calldata of a call, as hex with `0x`; the wallet replaces `$account`. */
export function callOf({ function: signature, args = [] }: Call, account: string): string {
  const abi = abiOf(signature);
  const values = abi.inputs.map(({ type }, index) => {
    const text = args[index] ?? '';
    if (/^u?int/.test(type)) return BigInt(text);
    if (type === 'bool') return text === 'true';
    return type === 'address' ? (text === '$account' ? account : text).toLowerCase() : text;
  });
  return encodeFunctionData({ abi: [abi], args: values });
}

/** The word that a rule compares, as a number of its type; `undefined` if it is not a value of that
 * type. */
export async function outputOf(
  oracle: NodeOracle,
  rule: Omit<ContractCondition, 'type' | 'chainId'>,
  account: string,
): Promise<bigint | 'reverted-with-data' | undefined> {
  const answer = await oracle.returned(rule.contractAddress, callOf(rule, account));
  if (answer === 'reverted-with-data') return answer;
  if (typeof answer === 'string') return undefined;
  const { outputs } = abiOf(rule.function);
  const index = indexOf(rule);
  const digits = answer.data.slice(2);
  if (digits.length < 64 * outputs.length) return undefined;
  return valueOfWord(typeOf(rule), BigInt(`0x${digits.slice(64 * index, 64 * index + 64)}`));
}

const indexOf = ({ function: signature, returns = '0' }: Pick<ContractCondition, 'function' | 'returns'>) => {
  const named = abiOf(signature).outputs.findIndex(({ name }) => name === returns);
  return named === -1 ? Number(returns) : named;
};

/** The type of the compared output, as the ABI names it. */
export const typeOf = (rule: Pick<ContractCondition, 'function' | 'returns'>): string =>
  abiOf(rule.function).outputs[indexOf(rule)]?.type ?? '';

function valueOfWord(type: string, word: bigint): bigint | undefined {
  const [, kind = '', size = ''] = /^([a-z]+)([0-9]*)$/.exec(type) ?? [];
  const bits = Number(size);
  if (kind === 'int') {
    const value = BigInt.asIntN(256, word);
    return BigInt.asIntN(bits, value) === value ? value : undefined;
  }
  const beyond: Record<string, bigint> = { uint: 2n ** BigInt(bits), bool: 2n, address: 2n ** 160n };
  if (kind === 'bytes') return word % 2n ** BigInt(256 - 8 * bits) === 0n ? word : undefined;
  return word < (beyond[kind] ?? 0n) ? word : undefined;
}

/** Whether the output that one wallet gets satisfies the rule. */
export async function judgeOutput(
  oracle: NodeOracle,
  rule: ContractCondition,
  account: string,
): Promise<'granted' | 'denied' | 'open'> {
  const actual = await outputOf(oracle, rule, account);
  if (actual === 'reverted-with-data') return rule.onRevert === 'deny' ? 'denied' : 'open';
  if (actual === undefined) return 'open';
  const { operator = 'eq', value = 'true' } = rule;
  const expected = numberOf(typeOf(rule), value, account);
  const holds = {
    eq: actual === expected,
    ne: actual !== expected,
    gt: actual > expected,
    gte: actual >= expected,
    lt: actual < expected,
    lte: actual <= expected,
  };
  return holds[operator] ? 'granted' : 'denied';
}

function numberOf(type: string, text: string, account: string): bigint {
  if (type === 'bool') return text === 'true' ? 1n : 0n;
  if (type.startsWith('bytes')) return BigInt(text.padEnd(66, '0'));
  return BigInt(text === '$account' ? account : text);
}
