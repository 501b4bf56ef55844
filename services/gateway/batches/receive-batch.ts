import { faultAt } from '#shared/contracts/fault.ts';
import type { GiveWay } from '#shared/fairness/fair-ticks.ts';
import { Problem } from '#shared/http/problem.ts';
import { isObject } from '#shared/rules/validate-rules.ts';
import type { BatchCollector } from './collect-batch.ts';
import {
  type Arriving,
  type BodyFormat,
  JSON_BYTES_MAX,
  LINE_BYTES_MAX,
  receiveJson,
  receiveLines,
  takeEach,
} from './receive-values.ts';

/**
 * Receives a batch: parses its body as it arrives and hands head and entries to the collector.
 * Other requests have their turn every few milliseconds.
 *
 * @throws Problem `malformed-json`, `body-too-large`, `media-type-unsupported`, and the errors of
 *   the collector and the chunks
 */
export async function receiveBatch(
  format: BodyFormat,
  body: Arriving,
  collector: BatchCollector,
): Promise<ReturnType<BatchCollector['end']>> {
  if (format === 'json') await collectJson(await receiveJson(body), collector, body.giveWay);
  else
    await receiveLines(
      body,
      // The first line has the rules: they may be written as in JSON, and are refused as there.
      (index) => (index === 0 ? JSON_BYTES_MAX : LINE_BYTES_MAX),
      (value, index) => (index > 0 ? collector.add(value) : beginWithLine(value, collector)),
    );
  return collector.end();
}

async function collectJson(body: unknown, collector: BatchCollector, giveWay: GiveWay): Promise<void> {
  if (!isObject(body)) return collector.begin(body);
  const { entries, watch, ...head } = body;
  await collector.begin(head);
  if ('watch' in body) {
    if ('entries' in body) collector.refuse(BOTH);
    return collector.addMembers(watch);
  }
  if (Array.isArray(entries)) return takeEach(entries, collector.add, giveWay);
  collector.refuse(
    entries === undefined
      ? faultAt('/entries', 'required', 'is required unless watch is sent')
      : faultAt('/entries', 'wrong-type', 'must be a list of entries'),
  );
}

const BOTH = faultAt(
  '/entries',
  'not-allowed',
  'is not allowed beside watch, whose members are the entries; send one of the two',
);

async function beginWithLine(head: unknown, collector: BatchCollector): Promise<void> {
  if (isObject(head) && 'watch' in head)
    throw new Problem('media-type-unsupported', 'Send a preview of a watch as application/json.');
  await collector.begin(head);
  if (isObject(head) && 'entries' in head)
    collector.refuse(
      faultAt(
        '/entries',
        'not-allowed',
        'is not allowed in the first line of NDJSON: every further line is an entry',
      ),
    );
}
