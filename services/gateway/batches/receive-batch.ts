import { faultAt } from '#shared/contracts/fault.ts';
import type { GiveWay } from '#shared/fairness/fair-ticks.ts';
import { Problem } from '#shared/http/problem.ts';
import { isObject } from '#shared/rules/validate-rules.ts';
import { type BatchCollector, bytesOfRules, RULES_BYTES_MAX } from './collect-batch.ts';
import {
  type Arriving,
  type BodyFormat,
  JSON_BYTES_MAX,
  LINE_BYTES_MAX,
  type ReceivedJson,
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
  if (format === 'json')
    await collectJson(await receiveJson(body, ['rules', 'entries']), collector, body.giveWay);
  else
    await receiveLines(
      body,
      // The first line has the rules: they may be written as in JSON, and are refused as there.
      (index) => (index === 0 ? JSON_BYTES_MAX : LINE_BYTES_MAX),
      (value, index) => (index > 0 ? collector.add(value) : beginWithLine(value, collector)),
    );
  return collector.end();
}

async function collectJson(
  { body, valuesOf }: ReceivedJson,
  collector: BatchCollector,
  giveWay: GiveWay,
): Promise<void> {
  if (!isObject(body)) return collector.begin(body);
  const { entries, watch, ...head } = body;
  if (Array.isArray(head['rules'])) {
    const { rules, bytes } = await takeRules(valuesOf('rules', head['rules'], JSON_BYTES_MAX), giveWay);
    await collector.begin({ ...head, rules }, bytes);
  } else await collector.begin(head);
  if ('watch' in body) {
    if ('entries' in body) collector.refuse(BOTH);
    return collector.addMembers(watch);
  }
  if (Array.isArray(entries)) return takeEach(valuesOf('entries', entries), collector.add, giveWay);
  collector.refuse(
    entries === undefined
      ? faultAt('/entries', 'required', 'is required unless watch is sent')
      : faultAt('/entries', 'wrong-type', 'must be a list of entries'),
  );
}

/** Takes the rules, and their bytes as JSON: too many of them are not kept. */
async function takeRules(values: Iterable<unknown>, giveWay: GiveWay) {
  const rules: unknown[] = [];
  let bytes = 1;
  const take = (rule: unknown): void => {
    bytes += bytesOfRules(rule) + 1;
    if (bytes <= RULES_BYTES_MAX) rules.push(rule);
  };
  await takeEach(values, take, giveWay);
  return { rules, bytes };
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
