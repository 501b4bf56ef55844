export type RecordContext = {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The trace and span in which the record is processed: messages that follow from it are
   * published with this one. */
  readonly traceparent: string;
  /** The record's Kafka timestamp, epoch ms. */
  readonly timestampMs: number;
  readonly value: Buffer | null;
  /** Aborted when the process stops or has lost the partition: waiting work may end, and the
   * record's next owner processes it. */
  readonly signal: AbortSignal;
  /** Reports that the handler still waits for a broker or a store that is away: `/livez` does not
   * count that as a stall. */
  readonly alive: () => void;
  /**
   * Reports that the handler only waits from now on, for something outside of the process: the
   * record takes no running slot meanwhile. Without effect while too many are parked. The offset
   * stays uncommitted until the handler returns.
   *
   * @param leave called when the signal is aborted: the wait must end, and the handler must throw a
   *   retriable error
   */
  readonly park: (leave: () => void) => void;
};

/** Processes one message. Returning commits it; `makeProcessRecord` decides after an error. */
export type Handler<M> = (message: M, record: RecordContext) => Promise<void>;

/** Learns that a record erases the document of a key, in a compacted topic. */
export type HandleErasure = (key: string, topic: string) => Promise<void>;

/** Ends a record that cannot be processed: called once before it is dead-lettered. */
export type GiveUp<M> = (failure: {
  message: M | undefined;
  record: RecordContext;
  error: unknown;
}) => Promise<void>;

/** The position of a record in its topic, as messages carry it. */
export const positionOf = ({ partition, offset }: Pick<RecordContext, 'partition' | 'offset'>) => ({
  partition,
  offset: Number(offset),
});
