import { ABSENT, DECIDING_REVERT, failed, type Read } from '../../domain/read.ts';
import { type Block, blockParameter, verifyBlock } from '../blocks/block.ts';
import type { Callable, Capabilities } from '../endpoints/endpoint.ts';
import { RpcFailure } from '../rpc/rpc-failure.ts';
import { READER_CODE } from './reader-code.ts';
import { decodeAnswer, encodeReads, READER_STATUS, type ReaderStatus } from './reader-codec.ts';
import {
  type Answered,
  type BatchReadings,
  NOT_OWNED,
  NOTHING,
  PERHAPS_NOT_OWNED,
  PERHAPS_OUT_OF_GAS,
  PERHAPS_REVERTED,
} from './readings.ts';
import type { IdentifyState } from './state-identity.ts';

/** An unused address: no key or deployment for it is known, so no code can be deployed there. */
const READER_ADDRESS = `0x${'00'.repeat(11)}726f6c6563616c6c21`;
type ReaderOptions = Pick<Capabilities, 'pin' | 'source'> & {
  /** Gas for each call of a contract. */
  readonly stipend: number;
  /** Whether these reads are isolated already: then their failure is final. */
  readonly isIsolated: boolean;
  readonly identify: IdentifyState;
};

/**
 * Reads through the reader in a state override: one `eth_call`, and the block proved by the same
 * call.
 *
 * @throws RpcFailure `block-mismatch` if another block answered, `block-hash-mismatch` if only the
 *   hash of its parent is another one; else the endpoint's own failure
 */
export async function readByReader(
  endpoint: Callable,
  block: Block,
  reads: readonly Read[],
  { pin, source, stipend, isIsolated, identify }: ReaderOptions,
  signal: AbortSignal,
): Promise<Answered> {
  const params = readerParams(encodeReads(reads, stipend, source), blockParameter(block, pin));
  const { statuses, values, hasState } = await endpoint.use(signal, async (rpc) => {
    const answer = await rpc.call({ method: 'eth_call', params }, signal);
    // An empty answer: the reader's address had no code, so the endpoint ignored the override.
    if (answer === '0x') throw new RpcFailure('override-refused');
    const decoded = decodeAnswer(answer, reads.length);
    if (decoded === undefined) throw new RpcFailure('malformed');
    verifyBlock(decoded, block);
    return { ...decoded, hasState: identify(block, decoded.kept) };
  });
  const readings = statuses.map(
    (status, index) =>
      decidingReading(status, reads[index] as Read) ?? toReading(status, values[index] ?? 0n, isIsolated),
  );
  return { readings, hasState };
}

/** The JSON of the parameters of an `eth_call` to the reader. */
const readerParams = (data: string, block: string): string =>
  `[{"to":"${READER_ADDRESS}","data":"${data}"},${block},{"${READER_ADDRESS}":{"code":"${READER_CODE}"}}]`;

/** The reading of a revert that may decide a rule. */
function decidingReading(status: ReaderStatus, { kind }: Read): BatchReadings[number] {
  if (status === READER_STATUS.reverted && (kind === 'call' || kind === 'owner')) return DECIDING_REVERT;
  return status === READER_STATUS.failedEmpty && kind === 'owner' ? PERHAPS_NOT_OWNED : undefined;
}

function toReading(status: ReaderStatus, value: bigint, isIsolated: boolean): BatchReadings[number] {
  switch (status) {
    case READER_STATUS.ok:
      return value === 0n ? NOTHING : { ok: true, value };
    case READER_STATUS.ownedByNobody:
      return NOT_OWNED;
    case READER_STATUS.noCode:
      return ABSENT;
    case READER_STATUS.reverted:
      return failed('call-reverted');
    case READER_STATUS.failedEmpty:
      return isIsolated ? failed('call-reverted') : PERHAPS_REVERTED;
    // A contract whose own call ran out of gas may answer with 0, or with a part of a sum.
    case READER_STATUS.okWithoutGasLeft:
    case READER_STATUS.gasExhausted:
      return isIsolated ? failed('gas-exhausted') : PERHAPS_OUT_OF_GAS;
    case READER_STATUS.malformed:
      return failed('return-malformed');
    case READER_STATUS.notTried:
      return undefined;
  }
}
