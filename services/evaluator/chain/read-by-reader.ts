import { failed, type Read, type Reading } from '../domain/read.ts';
import { type Block, blockParameter } from './block.ts';
import type { Endpoint } from './endpoint.ts';
import { READER_CODE } from './reader/reader-code.ts';
import {
  type BlockSource,
  decodeAnswer,
  encodeReads,
  READER_STATUS,
  type ReaderAnswer,
  type ReaderStatus,
} from './reader/reader-codec.ts';
import { RpcFailure } from './rpc-failure.ts';

/** Nobody's address: its preimage is unknown, so nothing can ever be there. */
const READER_ADDRESS = `0x${'00'.repeat(11)}726f6c6563616c6c21`;
/** Enough for every token seen, little enough that hundreds of burners fit in one call. */
const STIPEND = 250_000;
/** What a read gets that failed in a way that too little gas could explain. */
const SECOND_STIPEND = 5_000_000;
/** A block's worth of burners needs about five calls; more are left as the first look saw them. */
const SECOND_LOOKS_MAX = 16;

export type ReadOptions = {
  readonly pin: 'hash' | 'number';
  readonly source: BlockSource;
  /** Whether a read that ran out of gas is tried again with more. */
  readonly isSecondLookAllowed: boolean;
};

/** The readings of a call in the order of its reads; `undefined`: not tried for lack of gas. */
export type BatchReadings = readonly (Reading | undefined)[];

/**
 * Reads through the reader in a state override: one `eth_call`, and the block proved by the same call.
 *
 * @throws RpcFailure `block-mismatch` where another block answered; else as the endpoint fails
 */
export async function readByReader(
  endpoint: Endpoint,
  block: Block,
  reads: readonly Read[],
  options: ReadOptions,
  signal: AbortSignal,
): Promise<BatchReadings> {
  const statuses = await look(endpoint, block, reads, STIPEND, options, signal);
  const readings: (Reading | undefined)[] = statuses.map((answer) => toReading(answer));
  if (!options.isSecondLookAllowed) return readings;
  let suspects = [...statuses.keys()].filter((index) => isSuspect(statuses[index]));
  for (let looks = 0; suspects.length > 0 && looks < SECOND_LOOKS_MAX; looks++) {
    const again = suspects.flatMap((index) => reads[index] ?? []);
    const answers = await look(endpoint, block, again, SECOND_STIPEND, options, signal);
    const isUntried = (at: number) => answers[at]?.status === READER_STATUS.notTried;
    for (const [at, index] of suspects.entries())
      if (!isUntried(at)) readings[index] = toReading(answers[at]);
    const untried = suspects.filter((_, at) => isUntried(at));
    if (untried.length === suspects.length) break;
    suspects = untried;
  }
  return readings;
}

type Look = { readonly status: ReaderStatus; readonly value: bigint };

async function look(
  endpoint: Endpoint,
  block: Block,
  reads: readonly Read[],
  stipend: number,
  { pin, source }: ReadOptions,
  signal: AbortSignal,
): Promise<Look[]> {
  const params = readerParams(encodeReads(reads, stipend, source), blockParameter(block, pin));
  const answer = await endpoint.use(signal, async (rpc) => {
    const decoded = decodeAnswer(await rpc.call({ method: 'eth_call', params }, signal), reads.length);
    if (decoded === undefined) throw new RpcFailure('malformed');
    verifyBlock(decoded, block);
    return decoded;
  });
  return answer.statuses.map((status, index) => ({ status, value: answer.values[index] ?? 0n }));
}

/** The JSON of the parameters of an `eth_call` to the reader. */
export const readerParams = (data: string, block: string): string =>
  `[{"to":"${READER_ADDRESS}","data":"${data}"},${block},{"${READER_ADDRESS}":{"code":"${READER_CODE}"}}]`;

/** The block is proved from within: its number and its parent's hash came back with the balances. */
function verifyBlock(answer: ReaderAnswer, block: Block): void {
  if (answer.blockNumber !== BigInt(block.number) || answer.parentHash !== block.parentHash)
    throw new RpcFailure('block-mismatch');
}

/** Failures that may be the stipend's doing. */
const isSuspect = (answer: Look | undefined): boolean =>
  answer?.status === READER_STATUS.gasExhausted || answer?.status === READER_STATUS.failedEmpty;

function toReading(answer: Look | undefined): Reading | undefined {
  switch (answer?.status) {
    case READER_STATUS.ok:
      return { ok: true, value: answer.value };
    case READER_STATUS.ownedByNobody:
      return { ok: true, value: 0n };
    case READER_STATUS.noCode:
      return failed('contract-not-found');
    case READER_STATUS.reverted:
    case READER_STATUS.failedEmpty:
      return failed('call-reverted');
    case READER_STATUS.gasExhausted:
      return failed('gas-exhausted');
    case READER_STATUS.malformed:
      return failed('return-malformed');
    default:
      return undefined;
  }
}
