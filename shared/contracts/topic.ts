import { z } from 'zod';
import { ServiceError } from '../errors.ts';
import { DAY_MS, HOUR_MS } from './durations.ts';
import { RETENTION_DAYS, type RetentionClass, SUPERSEDED_HOURS } from './retention.ts';

const MIB = 1024 * 1024;

export type Cleanup = 'delete' | 'compact' | 'compact,delete';

/** The declaration of a topic: `admin topics apply` creates it so, every process verifies it at its
 * start. */
export type TopicSpec = {
  readonly name: string;
  readonly partitionCount: number;
  readonly cleanup: Cleanup;
  /** Absent: for ever. */
  readonly retentionMs?: number;
  /** Absent: its retention is no setting. */
  readonly retentionClass?: RetentionClass;
  /** Of a compacted topic: how long it may keep a record that is superseded or erased. */
  readonly supersededMs?: number;
  readonly messageBytesMax: number;
};

/** The members of every message about a request of a client app. */
export const ofRequest = {
  requestId: z.string().min(1).max(64),
  clientId: z.string(),
  /** The account that owns the client app: resources are shared by account first. */
  accountId: z.string(),
  /** Instant of acceptance, Redis's clock; of an event, when it was made. */
  acceptedAt: z.iso.datetime(),
  /** What is stored of it is kept until then. */
  retainUntil: z.iso.datetime(),
};

/** What a record takes beside its key and value, in Kafka and in the views: headers, framing, keys,
 * entries of lists. */
export const RECORD_OVERHEAD_BYTES = 512;

/** A topic and the one message schema that travels on it. */
export type Topic<M> = TopicSpec & {
  readonly schema: z.ZodType<M>;
  readonly keyOf: (message: M) => string;
  /** Whether a client waits for the record: it goes to the broker before all others that wait in the
   * same process. */
  readonly isUrgent?: boolean;
  /** Where the partition is not that of the key's hash. */
  readonly partitionOf?: (message: M) => number;
  /** Whether its records are the system's own: their bytes count towards no account's day, though
   * they name a client app. */
  readonly isOfSystem?: boolean;
};

type TopicOptions<M> = Pick<
  Topic<M>,
  'name' | 'schema' | 'keyOf' | 'isUrgent' | 'partitionOf' | 'isOfSystem' | 'partitionCount'
> & {
  readonly cleanup?: Cleanup;
  /** Absent: for ever. */
  readonly retention?: RetentionClass;
  readonly messageMibMax?: number;
};

/** Declares a topic. A breaking change of its schema makes a new topic. */
export function defineTopic<M>({
  cleanup = 'delete',
  retention,
  messageMibMax = 1,
  ...topic
}: TopicOptions<M>): Topic<M> {
  return {
    ...topic,
    cleanup,
    ...retentionOf(retention),
    ...(cleanup === 'delete' ? {} : { supersededMs: SUPERSEDED_HOURS.default * HOUR_MS }),
    messageBytesMax: messageMibMax * MIB,
  };
}

const retentionOf = (retention: RetentionClass | undefined) =>
  retention === undefined
    ? {}
    : { retentionMs: RETENTION_DAYS[retention].default * DAY_MS, retentionClass: retention };

/** The dead-letter topic of a topic: room for twice its largest message. */
export function deadLetterSpecOf(topic: TopicSpec): TopicSpec {
  return {
    name: `${topic.name}.dead-letter`,
    partitionCount: 3,
    cleanup: 'delete',
    ...retentionOf('deadLetters'),
    messageBytesMax: 2 * topic.messageBytesMax,
  };
}

export const erasesDocument = ({ cleanup }: TopicSpec, value: Buffer | string | null): boolean =>
  value === null && cleanup !== 'delete';

/**
 * Parses the bytes of a record as the topic's message.
 *
 * @throws ServiceError `message-unreadable`, naming where the value differs from the schema but not
 *   the value.
 */
export function parseMessage<M>(topic: Topic<M>, value: Buffer | string | null): M {
  if (value === null) throw new ServiceError('message-unreadable', 'the record has no value');
  let json: unknown;
  try {
    json = JSON.parse(value.toString());
  } catch {
    throw new ServiceError('message-unreadable', 'the record is not JSON');
  }
  const parsed = topic.schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const paths = parsed.error.issues.slice(0, 5).map((issue) => `/${issue.path.join('/')}: ${issue.code}`);
  throw new ServiceError(
    'message-unreadable',
    `the record does not match ${topic.name}: ${paths.join(', ')}`,
  );
}
