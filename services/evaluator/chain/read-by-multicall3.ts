import { keccak_256 } from '@noble/hashes/sha3';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils';
import { failed, type Read, type Reading } from '../domain/read.ts';
import { type Block, blockParameter } from './block.ts';
import { calldataOf, erc721Proofs } from './calldata.ts';
import type { Callable } from './endpoint.ts';
import {
  type Aggregated,
  type AggregatedAnswer,
  decodeAggregate3,
  encodeAggregate3,
} from './multicall3-codec.ts';
import { readByPlainCalls } from './read-by-plain-calls.ts';
import type { BatchReadings } from './read-by-reader.ts';
import { isPerhapsContracts, RpcFailure, toRpcFailure } from './rpc-failure.ts';

/** The same on every chain that has it: github.com/mds1/multicall3. */
export const MULTICALL3_ADDRESS = '0xca11bde05977b3631167028862be2a173976ca11';
/** keccak-256 of its runtime code: whatever else is at the address is not trusted with balances. */
const MULTICALL3_CODE_HASH = 'd5c15df687b16f2ff992fc8d767b4216323184a2bbc6ee2f9c398c318e770891';

/** `getBlockNumber()`, `getLastBlockHash()`, `getEthBalance(address)`. */
const BLOCK_NUMBER = '42cbb15c';
const LAST_BLOCK_HASH = '27e86d6e';
const NATIVE_BALANCE = '4d2301cc';

const WORD_DIGITS = 64;

/** Whether an answer of `eth_getCode` is the code of Multicall3. */
export function isMulticall3(code: unknown): boolean {
  if (typeof code !== 'string' || !/^0x([0-9a-fA-F]{2})+$/.test(code)) return false;
  return bytesToHex(keccak_256(hexToBytes(code.slice(2)))) === MULTICALL3_CODE_HASH;
}

type Options = { readonly pin: 'hash' | 'number'; readonly isAlone: boolean };

/**
 * Reads through Multicall3, for endpoints that allow no state override: one `eth_call`, and the block proved by
 * the same call. Multicall3 tells neither missing code from an empty answer nor a revert from used-up gas, and
 * has no stipend: whatever is not a plain 32-byte answer is a suspect, and read by a call of its own once alone.
 *
 * @throws RpcFailure `block-mismatch` where another block answered; else as the endpoint fails
 */
export async function readByMulticall3(
  endpoint: Callable,
  block: Block,
  reads: readonly Read[],
  { pin, isAlone }: Options,
  signal: AbortSignal,
): Promise<BatchReadings> {
  if (isAlone) return Promise.all(reads.map((read) => readAlone(endpoint, block, read, pin, signal)));
  const answers = await aggregate(endpoint, block, reads.map(aggregatedOf), pin, signal);
  return answers.map((answer) => wordOf(answer) ?? 'suspect');
}

/**
 * One read by a call of its own; why it failed is then asked by a plain call. That one never decides alone: it tells
 * a revert from used-up gas, and only a revert, of a contract that is shown to be an ERC721, is "not owned".
 */
async function readAlone(
  endpoint: Callable,
  block: Block,
  read: Read,
  pin: 'hash' | 'number',
  signal: AbortSignal,
): Promise<Reading> {
  const proofs = read.kind === 'owner' ? erc721Proofs(read) : [];
  const calls = [aggregatedOf(read), ...proofs.map((calldata) => ({ target: read.contract, calldata }))];
  let isErc721 = false;
  try {
    const [own, supports, balance] = await aggregate(endpoint, block, calls, pin, signal);
    const reading = own && wordOf(own);
    if (reading !== undefined) return reading;
    isErc721 = own?.success === false && (isTrue(supports) || (balance && wordOf(balance)) !== undefined);
  } catch (error) {
    if (!isPerhapsContracts(toRpcFailure(error).kind)) throw error;
  }
  const [explained] = await readByPlainCalls(endpoint, block, [read], pin, signal);
  if (explained?.ok !== true) return explained ?? failed('call-reverted');
  return isErc721 && explained.value === 0n ? explained : failed('call-reverted');
}

async function aggregate(
  endpoint: Callable,
  block: Block,
  calls: readonly Aggregated[],
  pin: 'hash' | 'number',
  signal: AbortSignal,
): Promise<AggregatedAnswer[]> {
  const proofs = [BLOCK_NUMBER, LAST_BLOCK_HASH].map((calldata) => ({
    target: MULTICALL3_ADDRESS,
    calldata,
  }));
  const data = encodeAggregate3([...proofs, ...calls]);
  const params = `[{"to":"${MULTICALL3_ADDRESS}","data":"${data}"},${blockParameter(block, pin)}]`;
  return endpoint.use(signal, async (rpc) => {
    const answers = decodeAggregate3(
      await rpc.call({ method: 'eth_call', params }, signal),
      calls.length + 2,
    );
    if (answers === undefined) throw new RpcFailure('malformed');
    verifyBlock(answers, block);
    return answers.slice(2);
  });
}

function aggregatedOf(read: Read): Aggregated {
  const calldata = calldataOf(read);
  if (calldata !== undefined) return { target: read.contract, calldata };
  return {
    target: MULTICALL3_ADDRESS,
    calldata: NATIVE_BALANCE + read.account.slice(2).padStart(WORD_DIGITS, '0'),
  };
}

function verifyBlock([number, parentHash]: readonly AggregatedAnswer[], block: Block): void {
  const isSameNumber =
    number?.data.length === WORD_DIGITS && BigInt(`0x${number.data}`) === BigInt(block.number);
  if (!isSameNumber || `0x${parentHash?.data.toLowerCase()}` !== block.parentHash)
    throw new RpcFailure('block-mismatch');
}

/** The answer of a call that went well, or nothing where it must be looked at alone. */
const wordOf = ({ success, data }: AggregatedAnswer): Reading | undefined =>
  success && data.length === WORD_DIGITS ? { ok: true, value: BigInt(`0x${data}`) } : undefined;

function isTrue(answer: AggregatedAnswer | undefined): boolean {
  const reading = answer && wordOf(answer);
  return reading?.ok === true && reading.value === 1n;
}
