import { isTracing, withSpan } from '#shared/telemetry/tracing.ts';
import type { ReadChain } from '../read-chain.ts';
import type { PerformBatch } from './read-queue.ts';

/** A call may serve a thousand checks: its span links only to some of them. */
const LINKS_MAX = 32;

/** Wraps a check's reads of one chain in a span of the check's trace. */
export function traceReads(chainId: number, readChain: ReadChain): ReadChain {
  return (reads, context) => {
    if (!isTracing()) return readChain(reads, context);
    const attributes = { 'rolecall.chain_id': chainId, 'rolecall.read_count': reads.length };
    return withSpan('read chain', { parent: context.traceparent, attributes }, async (traceparent, note) => {
      const observed = await readChain(reads, { ...context, traceparent });
      note(
        observed.block
          ? { 'rolecall.block_number': observed.block.number }
          : { 'error.type': 'nothing-read' },
      );
      return observed;
    });
  };
}

/**
 * Wraps each batch in a span. A batch serves many checks, but a span has one parent: the first
 * check that waits for it. The span links to the others.
 */
export function traceBatches(chainId: number, perform: PerformBatch): PerformBatch {
  return (batch) => {
    if (!isTracing()) return perform(batch);
    const [parent, ...links] = [...new Set(batch.entries.map(({ traceparent }) => traceparent))];
    const attributes = {
      'rolecall.chain_id': chainId,
      'rolecall.read_count': batch.entries.length,
      'rolecall.block_number': batch.block.number,
      'rolecall.check_count': links.length + 1,
    };
    const span = { kind: 'client', parent, links: links.slice(0, LINKS_MAX), attributes } as const;
    return withSpan('chain batch', span, () => perform(batch));
  };
}
