import { Counter, Gauge } from 'prom-client';
import type { Registry } from '#shared/telemetry/metrics.ts';
import { PUBLISH_FAILURES, type PublishFailure } from './batching-producer.ts';
import { RECORD_OUTCOMES, type RecordOutcome } from './consumer/process-record.ts';
import type { WindowConsumer } from './consumer/window-consumer.ts';

/** The state of a consumer that a scrape reads. */
type ConsumerGauges = Pick<
  WindowConsumer<unknown>,
  'runningCount' | 'parkedCount' | 'isJoined' | 'partitionCount'
>;

/** The metrics of one group's consumer. */
export type GroupInstruments = {
  readonly countOutcome: (topic: string, outcome: RecordOutcome) => void;
  readonly onAssignment: () => void;
  readonly onCrash: () => void;
  readonly watch: (state: ConsumerGauges) => void;
};

export type KafkaInstruments = {
  readonly ofGroup: (groupId: string, topics: readonly string[]) => GroupInstruments;
  readonly countFailedPublish: (code: PublishFailure) => void;
  readonly watchPending: (count: () => number) => void;
};

/** All metrics of a process's connection to Kafka. Labels are the names of groups and topics, which
 * are few. */
export function makeKafkaInstruments(registry: Registry): KafkaInstruments {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter<L>({ name, help, labelNames: [...labelNames], registers });
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
    ['code'],
  );
  for (const code of PUBLISH_FAILURES) failedPublishes.inc({ code }, 0);
  const consumers = new Map<string, ConsumerGauges>();
  const gauge = (name: string, help: string, read: (state: ConsumerGauges) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['group'],
      registers,
      collect() {
        for (const [group, state] of consumers) this.set({ group }, read(state));
      },
    });
  gauge('rolecall_records_in_work', 'Records running now.', (state) => state.runningCount);
  gauge(
    'rolecall_records_parked',
    'Records that wait for something outside of the process, in addition to the running ones.',
    (state) => state.parkedCount,
  );
  gauge('rolecall_consumer_joined', '1 while the process is a member of the group.', ({ isJoined }) =>
    isJoined ? 1 : 0,
  );
  gauge(
    'rolecall_consumer_partitions',
    'Partitions assigned to the process.',
    (state) => state.partitionCount,
  );
  let countPending = () => 0;
  new Gauge({
    name: 'rolecall_publish_pending_messages',
    help: 'Messages that wait for the acknowledgement of the broker.',
    registers,
    collect() {
      this.set(countPending());
    },
  });
  return {
    ofGroup(group, topics) {
      // Present from the first scrape on: `rate` does not count the event with which a series
      // appears.
      for (const topic of topics)
        for (const outcome of RECORD_OUTCOMES) records.inc({ group, topic, outcome }, 0);
      rebalances.inc({ group }, 0);
      crashes.inc({ group }, 0);
      return {
        countOutcome: (topic, outcome) => records.inc({ group, topic, outcome }),
        onAssignment: () => rebalances.inc({ group }),
        onCrash: () => crashes.inc({ group }),
        watch: (state) => void consumers.set(group, state),
      };
    },
    countFailedPublish: (code) => failedPublishes.inc({ code }),
    watchPending(count) {
      countPending = count;
    },
  };
}
