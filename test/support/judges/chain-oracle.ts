import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import type { SentRule } from '../builders/demo-rules.ts';
import type { Oracle } from './ledger.ts';

/** Source of the selectors: the standards ERC-20, ERC-721 and ERC-1155. */
const SELECTORS = { balanceOf: '70a08231', ownerOf: '6352211e', balanceOfId: '00fdd58e' } as const;
const NATIVE_DECIMALS = 18;

/**
 * Reads the true outcome of a rule at a block from the chain itself: plain calls, one by one, that
 * share nothing with the evaluator. Amounts are compared as whole numbers of the smallest unit.
 * Knows the rules that the tests send: `minToken` only, lists and ranges of a few ids.
 *
 * @example
 * const oracle = makeChainOracle(rpc, { erc20Decimals: 6 });
 * await oracle(erc20({ minToken: '1500.5' }), holder, 73); // true
 */
export function makeChainOracle(rpc: string, { erc20Decimals }: { erc20Decimals: number }): Oracle {
  const known = new Map<string, Promise<boolean>>();
  const judge = async (rule: SentRule, account: string, block: number): Promise<boolean> => {
    const decimals = rule.type === 'NATIVE' ? NATIVE_DECIMALS : rule.type === 'ERC20' ? erc20Decimals : 0;
    return (await readAmount(rpc, rule, account, block)) >= scale(rule.minToken ?? '1', decimals);
  };
  return (rule, account, block) => {
    const key = JSON.stringify([{ ...rule, roleId: '' }, account, block]);
    const answer = known.get(key) ?? judge(rule, account, block);
    known.set(key, answer);
    return answer;
  };
}

async function readAmount(rpc: string, rule: SentRule, account: string, block: number): Promise<bigint> {
  const at = `0x${block.toString(16)}`;
  const owner = account.slice(2).toLowerCase().padStart(64, '0');
  const call = async (data: string): Promise<bigint> =>
    BigInt(String(await callJsonRpc(rpc, 'eth_call', [{ to: rule.contractAddress, data: `0x${data}` }, at])));
  if (rule.type === 'NATIVE') return BigInt(String(await callJsonRpc(rpc, 'eth_getBalance', [account, at])));
  if (rule.tokenId === undefined) return call(SELECTORS.balanceOf + owner);
  let sum = 0n;
  for (const id of idsOf(rule.tokenId)) {
    const word = id.toString(16).padStart(64, '0');
    if (rule.type === 'ERC1155') sum += await call(SELECTORS.balanceOfId + owner + word);
    // An id that does not exist reverts: it has no owner.
    else if ((await call(SELECTORS.ownerOf + word).catch(() => 0n)) === BigInt(`0x${owner}`)) sum += 1n;
  }
  return sum;
}

function idsOf(text: string): Set<bigint> {
  const ids = new Set<bigint>();
  for (const part of text.split(',')) {
    const [first = '', last = first] = part.split('-');
    for (let id = BigInt(first); id <= BigInt(last); id++) ids.add(id);
  }
  return ids;
}

/** Whole tokens as text in the smallest unit, rounded up. */
function scale(text: string, decimals: number): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  const padded = fraction.padEnd(decimals, '0');
  const rest = /[1-9]/.test(padded.slice(decimals)) ? 1n : 0n;
  return BigInt(whole + padded.slice(0, decimals)) + rest;
}
