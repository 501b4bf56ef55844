import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PART_RESULT_BYTES_MAX } from '#shared/contracts/batches/batch.ts';
import { BODY_BYTES_MAX } from '#shared/http/read-json-body.ts';
import { QUEUED_BYTES_MAX } from '#shared/kafka/batching-producer.ts';
import {
  BACKLOG_BYTES,
  PARKED_BYTES_MAX,
  RUNNING_BYTES_MAX,
} from '#shared/kafka/consumer/window-consumer.ts';
import { READS_IN_PROGRESS } from '../../services/evaluator/lanes/read-budget.ts';
import { BODY_READS_MAX, IN_FLIGHT_BYTES } from '../../services/gateway/app.ts';
import { CACHED_APPS_BYTES_MAX } from '../../services/gateway/auth/authenticate.ts';
import { BODIES_BYTES_MAX } from '../../services/gateway/batches/batch-bodies.ts';
import { STREAMS_MAX } from '../../services/gateway/batches/stream-results.ts';
import { CACHED_BYTES_MAX } from '../../services/gateway/rule-sets/cache-rule-sets.ts';
import { REMEMBERED_BYTES_MAX } from '../../services/watcher/sweeps/remember-rule-sets.ts';
import { ANSWER_BYTES_MAX } from '../../services/webhook-dispatcher/delivery/attempt-delivery.ts';
import { SLOTS, WAITING_BYTES_MAX } from '../../services/webhook-dispatcher/delivery/delivery-slots.ts';
import { DEPLOY } from '../support/judges/monitoring-files.ts';

// Each bound alone is small; what a process may hold is their sum.

const ROOT = join(DEPLOY, '..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const MIB = 1024 * 1024;
/** The code, and what no bound describes: about twice what an idle process holds. */
const BASE_BYTES = 100 * MIB;
/** A waiting request, measured: its connection, its wait, and no part of its body. */
const WAITING_REQUEST_BYTES = 10 * 1024;
const IN_FLIGHT_MAX = 10_000;
/** A planned read of a delegation; others are smaller. */
const READ_BYTES = 1_500;
/** Of the topics of one group, where it is not named here. */
const PARTITIONS = 24;
const RETRY_PARTITIONS = 72;
/** The results beside the webhooks; the compacted topics and the audit trail. */
const RESULT_PARTITIONS = 48;
const DOCUMENT_PARTITIONS = 84;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
/** What the consumers of a process hold. */
const consumersOf = (service: string): number => {
  const count = read(`services/${service}/main.ts`).match(/kafka\.consume\(/g)?.length ?? 0;
  return count * (RUNNING_BYTES_MAX + PARKED_BYTES_MAX + BACKLOG_BYTES.all);
};

const BOUNDS: Readonly<Record<string, readonly number[]>> = {
  gateway: [
    IN_FLIGHT_BYTES.max,
    IN_FLIGHT_MAX * WAITING_REQUEST_BYTES,
    BODY_READS_MAX * BODY_BYTES_MAX,
    BODIES_BYTES_MAX,
    STREAMS_MAX * PART_RESULT_BYTES_MAX,
    CACHED_BYTES_MAX,
    CACHED_APPS_BYTES_MAX,
  ],
  evaluator: [
    consumersOf('evaluator'),
    (READS_IN_PROGRESS.sync.max + READS_IN_PROGRESS.others.max) * READ_BYTES,
  ],
  'result-store': [
    consumersOf('result-store'),
    (RESULT_PARTITIONS + DOCUMENT_PARTITIONS - 2 * PARTITIONS) * BACKLOG_BYTES.ofPartitionMin,
  ],
  'webhook-dispatcher': [
    consumersOf('webhook-dispatcher'),
    (RETRY_PARTITIONS - PARTITIONS) * BACKLOG_BYTES.ofPartitionMin,
    WAITING_BYTES_MAX,
    SLOTS * ANSWER_BYTES_MAX,
  ],
  watcher: [consumersOf('watcher'), REMEMBERED_BYTES_MAX],
};

const heapOf = (file: string): number => Number(/max-old-space-size=(\d+)/.exec(read(file))?.[1]) * MIB;
const HEAP_BYTES = heapOf('deploy/docker/Dockerfile');
const CONTAINER_BYTES = (4 / 3) * HEAP_BYTES;

test.each(Object.entries(BOUNDS))('what a %s may hold fits into 80 % of its container', (_, bounds) => {
  const held = BASE_BYTES + QUEUED_BYTES_MAX + sum(bounds);
  expect(held).toBeLessThanOrEqual(0.8 * CONTAINER_BYTES);
});

test('image, compose, manifests and local start have the same heap limit, 75 % of the container', () => {
  const files = ['docker-compose.yml', 'deploy/k8s/process.yaml', 'deploy/local/system/start-service.ts'];
  expect(files.map(heapOf)).toEqual(files.map(() => HEAP_BYTES));
  expect(read('docker-compose.yml')).toContain(`memory: ${CONTAINER_BYTES / MIB / 1024}g, pids`);
  expect(read('deploy/k8s/process.yaml')).toContain(`limits: { memory: ${CONTAINER_BYTES / MIB / 1024}Gi }`);
});
