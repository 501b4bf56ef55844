import { Counter, Gauge } from 'prom-client';
import type { Registry } from '#shared/telemetry/metrics.ts';
import { PUBLISH_FAILURES, type PublishFailure } from './batching-producer.ts';
import { RECORD_OUTCOMES, type RecordOutcome } from './work-record.ts';

/** What a consumer shows of itself at a scrape. */
export type ConsumerState = {
  readonly workingCount: number;
  readonly parkedCount: number;
  readonly isJoined: boolean;
  readonly partitionCount: number;
};

/** What one group's consumer tells. */
export type GroupInstruments = {
  readonly observe: (topic: string, outcome: RecordOutcome) => void;
  readonly onAssignment: () => void;
  readonly onCrash: () => void;
  readonly watch: (state: ConsumerState) => void;
};

export type KafkaInstruments = {
  readonly ofGroup: (groupId: string, topics: readonly string[]) => GroupInstruments;
  readonly countFailedPublish: (code: PublishFailure) => void;
  readonly watchPending: (count: () => number) => void;
};

/** All metrics of a process's connection to Kafka. Labels are the names of groups and topics, which are few. */
export function makeKafkaInstruments(registry: Registry): KafkaInstruments {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter<L>({ name, help, labelNames: [...labelNames], registers });
  const records = counter('rolecall_records_total', 'Records worked, by what became of them.', [
    'group',
    'topic',
    'outcome',
  ]);
  const rebalances = counter(
    'rolecall_consumer_rebalances_total',
    'Assignments of partitions that this process was given: its first one, and one per rebalance.',
    ['group'],
  );
  const crashes = counter('rolecall_consumer_crashes_total', 'Consumers that broke off and began anew.', [
    'group',
  ]);
  const failedPublishes = counter(
    'rolecall_publish_failures_total',
    'Messages that the broker did not acknowledge in time.',
    ['code'],
  );
  for (const code of PUBLISH_FAILURES) failedPublishes.inc({ code }, 0);
  const consumers = new Map<string, ConsumerState>();
  const gauge = (name: string, help: string, read: (state: ConsumerState) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['group'],
      registers,
      collect() {
        for (const [group, state] of consumers) this.set({ group }, read(state));
      },
    });
  gauge('rolecall_records_in_work', 'Records being worked now.', (state) => state.workingCount);
  gauge(
    'rolecall_records_parked',
    'Records whose work waits for something outside of the process, beside those in work.',
    (state) => state.parkedCount,
  );
  gauge('rolecall_consumer_joined', '1 while the process is a member of the group.', ({ isJoined }) =>
    isJoined ? 1 : 0,
  );
  gauge('rolecall_consumer_partitions', 'Partitions that the process has.', (state) => state.partitionCount);
  let countPending = () => 0;
  new Gauge({
    name: 'rolecall_publish_pending_messages',
    help: 'Messages that wait for the broker.',
    registers,
    collect() {
      this.set(countPending());
    },
  });
  return {
    ofGroup(group, topics) {
      // From the first scrape on: a rate over a series that appears with its first event does not see that event.
      for (const topic of topics)
        for (const outcome of RECORD_OUTCOMES) records.inc({ group, topic, outcome }, 0);
      rebalances.inc({ group }, 0);
      crashes.inc({ group }, 0);
      return {
        observe: (topic, outcome) => records.inc({ group, topic, outcome }),
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
