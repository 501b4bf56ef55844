import { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';

/** Each read is a consumer of its own, with the memory of one record. */
const READS_AT_ONCE_MAX = 2;
const READS_WAITING_MAX = 16;
/** For one read, from its turn on. */
export const READ_TIMEOUT_MS = 10_000;

export type RecordReads = Pick<FairTaskQueue, 'run'>;

/** The queue of a person's reads of single records from Kafka: a bounded number at a time, owners
 * in turn. */
export const makeRecordReads = (): RecordReads =>
  new FairTaskQueue({
    atOnceMax: READS_AT_ONCE_MAX,
    waitingMax: READS_WAITING_MAX,
    refusal: 'too many records are being read from the broker',
  });
