import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import {
  type BatchEntry,
  BatchPartCompleted,
  type BatchPartRequested,
  batchCompleted,
} from '#shared/contracts/batches/batch.ts';
import { checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { isCharged } from '#shared/contracts/checks/result.ts';
import { watchEvaluated } from '#shared/contracts/watches/watch.ts';
import { firstDelivery, webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { persist } from '#shared/kafka/consumer/persist.ts';
import { positionOf, type RecordContext } from '#shared/kafka/consumer/record.ts';
import { savingOf } from '#shared/stores/checks/results.ts';
import type { Dependencies } from '../dependencies.ts';
import { PartLines } from '../domain/compose-part.ts';
import {
  type Additions,
  type ComposedCheck,
  composeResult,
  type Evaluation,
  type Outcome,
  originOf,
  type ResultHeader,
} from '../domain/compose-result.ts';
import type { ChainObservations } from '../domain/read.ts';

/** The members of a part that its result repeats, and the roles of its rules. */
type PartHeader = Pick<BatchPartRequested, Extract<keyof BatchPartRequested, keyof BatchPartCompleted>> & {
  readonly rules: readonly { readonly roleId: string }[];
};

/** How a request was evaluated; unknown of one that was given up. */
type Origin = {
  readonly startedAtMs: number;
  readonly observed: ReadonlyMap<number, ChainObservations>;
};

/** Where the outcomes of a request's entries are written. */
type Answer = {
  /** Writes the outcome of the next entry. */
  readonly add: (entry: BatchEntry, outcome: Outcome, additions?: Additions) => void;
  /**
   * Publishes the answer. The offset of the request is committed only afterwards.
   *
   * @throws ServiceError with a retriable code while the broker is unavailable
   */
  readonly publish: (record: RecordContext, origin?: Origin) => Promise<void>;
};

type Outputs = Pick<Dependencies, 'results' | 'publish'>;

/** Makes the two encodings of an answer: the JSON of a check, and the lines of a part. */
export const makeEncode =
  (outputs: Outputs) =>
  (request: ResultHeader | PartHeader, evaluation: Evaluation): Answer =>
    'part' in request
      ? encodeLines(outputs, request, evaluation)
      : encodeResult(outputs, request, evaluation);

/**
 * One JSON text, which is published in the one topic of its mode:
 *
 *   sync     save if absent, with the notice to the client ──► `check.completed.v1`, the saved bytes
 *   poll     ──► `check.completed.v1`
 *   webhook  ──► `webhook.requested.v1`: result and first delivery in one record
 *
 * A crash at any instant repeats the check. Then the save returns the bytes of the first evaluation,
 * which are what the client was told, and these are published, never those of the second.
 */
function encodeResult({ results, publish }: Outputs, check: ResultHeader, evaluation: Evaluation): Answer {
  let composed: ComposedCheck;
  return {
    add(_, outcome, additions) {
      composed = composeResult(check, outcome, evaluation, additions);
    },
    async publish(record, origin) {
      const { delivery, ...result } = composed;
      const startedAt = origin && new Date(origin.startedAtMs).toISOString();
      const completed = { ...result, ...(startedAt && { startedAt }), request: positionOf(record) };
      const { traceparent } = record;
      if (delivery.mode === 'webhook') {
        const { keyId, decided, chargedMonth, request, resultJson } = completed;
        const body = { resultJson, check: { keyId, decided, chargedMonth, startedAt, request } };
        const about = { ...completed, callbackUrl: delivery.callbackUrl };
        return publish(webhookRequested, firstDelivery(about, body), { traceparent });
      }
      const message = { ...completed, mode: delivery.mode };
      if (delivery.mode === 'poll') return publish(checkCompleted, message, { traceparent });
      const { replyChannel } = delivery;
      const resultJson = await orWait(record, () =>
        results.saveIfAbsent({ ...savingOf(message), replyChannel }),
      );
      const decided =
        resultJson === message.resultJson ? message.decided : isCharged(JSON.parse(resultJson), check);
      const saved = { ...message, resultJson, decided };
      await orWait(record, () => publish(checkCompleted, saved, { traceparent }));
    },
  };
}

/** While Redis or the broker is away this step alone is repeated, and the record is parked: once the
 * client was told the saved bytes, no others may be made. */
const orWait = <T>(record: RecordContext, step: () => Promise<T>): Promise<T> =>
  persist(async () => {
    try {
      return await step();
    } catch (error) {
      record.park(() => undefined);
      throw error;
    }
  }, record);

/**
 * One line of JSON per entry, made once and carried compressed from here on. Published to
 * `watch.evaluated.v1` for the watcher, with how the chains were read, otherwise to
 * `batch.completed.v1`.
 */
function encodeLines({ publish }: Outputs, part: PartHeader, { evaluatedAt, blocks }: Evaluation): Answer {
  const lines = new PartLines(part, blocks);
  return {
    add: (entry, outcome, additions) => lines.add(entry, outcome, additions),
    async publish({ traceparent }, origin) {
      const compressed = await compress(lines.text, { level: constants.Z_BEST_SPEED });
      const isOfWatch = part.delivery.mode === 'watch';
      const completed = BatchPartCompleted.parse({
        ...part,
        ...lines.counts,
        ...(isOfWatch && origin ? originOf(origin.observed) : {}),
        evaluatedAt,
        linesGzip: compressed.toString('base64'),
      });
      const options = { traceparent, isValidated: true };
      await (isOfWatch
        ? publish(watchEvaluated, completed, options)
        : publish(batchCompleted, completed, options));
    },
  };
}

const compress = promisify<string, { level: number }, Buffer>(gzip);
