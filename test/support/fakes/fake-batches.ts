import type { BatchStatus } from '#shared/contracts/batches/batch-status.ts';
import type { AcceptedBatch, StoredLines } from '#shared/stores/batches/batches.ts';

export type FakeBatchOptions = {
  /** Slots of unfinished batches that other requests hold. */
  readonly unfinished?: number;
  /** Whether an abandoned batch can be charged again when it is published again. */
  readonly isChargedAgain?: boolean;
  readonly registerBatch?: () => Promise<void>;
};

/** Batches and their slots as literals, for tests of the gateway. */
export function makeFakeBatches({ unfinished = 0, isChargedAgain = true, registerBatch }: FakeBatchOptions) {
  const registered: AcceptedBatch[] = [];
  const begun = new Map<string, AcceptedBatch>();
  const withdrawn: string[] = [];
  const slotsTaken = new Set<string>();
  const statuses = new Map<string, BatchStatus>();
  const stored = new Map<string, readonly StoredLines[]>();
  const linesOf = (requestId: string, index: number): StoredLines | undefined =>
    stored
      .get(requestId)
      ?.find(({ firstIndex, lineCount }) => firstIndex <= index && index < firstIndex + lineCount);
  return {
    registered,
    withdrawn,
    slotsTaken,
    slots: {
      async take(_set: string, member: string, countMax: number) {
        if (slotsTaken.size + unfinished >= countMax) return undefined;
        slotsTaken.add(member);
        return { release: async () => slotsTaken.delete(member) };
      },
    },
    batches: {
      async begin(batch: AcceptedBatch) {
        begun.set(batch.requestId, begun.get(batch.requestId) ?? batch);
        return isChargedAgain;
      },
      withdraw: async ({ requestId }: { requestId: string }) => {
        withdrawn.push(requestId);
        begun.delete(requestId);
        slotsTaken.delete(requestId);
      },
      async register(batch: AcceptedBatch, isAccepted: boolean) {
        await registerBatch?.();
        if (isAccepted) registered.push(batch);
      },
      countUnfinishedOf: async () => slotsTaken.size + unfinished,
      readStatus: async (requestId: string) => statuses.get(requestId),
      async readProgress(requestId: string) {
        const found = begun.get(requestId);
        return found && { ...found, storedPartCount: 0, previewDigest: found.previewDigest };
      },
      readPart: async (requestId: string, index: number) => linesOf(requestId, index),
      async countFinished(requestId: string, index: number, countMax: number) {
        let count = 0;
        while (count < countMax && linesOf(requestId, index + count)) count += 1;
        return count;
      },
    },
    store(status: BatchStatus, lines: readonly StoredLines[]) {
      statuses.set(status.requestId, status);
      stored.set(status.requestId, lines);
    },
  };
}
