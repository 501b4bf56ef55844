import { makeInstruments, type Registry } from '#shared/telemetry/metrics.ts';
import { PUBLISH_FAILURES, type PublishFailure } from './batching-producer.ts';
import { RECORD_OUTCOMES, type RecordOutcome } from './consumer/process-record.ts';
import type { WindowConsumer } from './consumer/window-consumer.ts';

/** The state of a consumer that a scrape reads. */
type ConsumerGauges = Pick<
  WindowConsumer<unknown>,
  'runningCount' | 'parkedCount' | 'isJoined' | 'partitionCount'
>;

const CONSUMER_GAUGES: readonly (readonly [
  name: string,
  help: string,
  read: (state: ConsumerGauges) => number,
])[] = [
  ['rolecall_records_in_work', 'Records running now.', (state) => state.runningCount],
  [
    'rolecall_records_parked',
    'Records that wait for something outside of the process, in addition to the running ones.',
    (state) => state.parkedCount,
  ],
  [
    'rolecall_consumer_joined',
    '1 while the process is a member of the group.',
    ({ isJoined }) => (isJoined ? 1 : 0),
  ],
  ['rolecall_consumer_partitions', 'Partitions assigned to the process.', (state) => state.partitionCount],
];

export type KafkaInstruments = ReturnType<typeof makeKafkaInstruments>;

/** All metrics of a process's connection to Kafka. Labels are the names of groups and topics, which
 * are few. */
export function makeKafkaInstruments(registry: Registry) {
  const { counter, watched } = makeInstruments(registry);
  const records = counter('rolecall_records_total', 'Records processed, by outcome.', [
    'group',
    'topic',
    'outcome',
  ]);
  const rebalances = counter(
    'rolecall_consumer_rebalances_total',
    'Assignments of partitions to this process: the first one, and one per rebalance.',
    ['group'],
  );
  const crashes = counter(
    'rolecall_consumer_crashes_total',
    'Crashes of consumers; each restarts by itself.',
    ['group'],
  );
  const failedPublishes = counter(
    'rolecall_publish_failures_total',
    'Messages that the broker did not acknowledge in time.',
    { code: PUBLISH_FAILURES },
  );
  const consumers = new Map<string, ConsumerGauges>();
  for (const [name, help, read] of CONSUMER_GAUGES)
    watched(name, help, ['group'])(() => [...consumers].map(([group, state]) => [{ group }, read(state)]));
  return {
    ofGroup(group: string, topics: readonly string[]) {
      // Present from the first scrape on: `rate` does not count the event with which a series
      // appears.
      for (const topic of topics)
        for (const outcome of RECORD_OUTCOMES) records.inc({ group, topic, outcome }, 0);
      rebalances.inc({ group }, 0);
      crashes.inc({ group }, 0);
      return {
        countOutcome: (topic: string, outcome: RecordOutcome) => records.inc({ group, topic, outcome }),
        onAssignment: () => rebalances.inc({ group }),
        onCrash: () => crashes.inc({ group }),
        watch: (state: ConsumerGauges) => void consumers.set(group, state),
      };
    },
    countFailedPublish: (code: PublishFailure) => failedPublishes.inc({ code }),
    watchPending: watched(
      'rolecall_publish_pending_messages',
      'Messages that wait for the acknowledgement of the broker.',
    ),
  };
}
