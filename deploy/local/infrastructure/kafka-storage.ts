import { randomUUID } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { spawnChild } from '../processes/child.ts';
import { logTail } from '../processes/log-tail.ts';
import { javaFlags } from './java-flags.ts';
import { formatProperties, type KafkaPlace, kafkaProperties } from './kafka-properties.ts';
import type { Toolchain } from './toolchain.ts';

const MARKER = 'rolecall-kafka.json';
const FORMAT_TIMEOUT_MS = 60_000;

type KafkaStorage = KafkaPlace & {
  /** Settings beyond or instead of the usual ones. */
  readonly properties?: Readonly<Record<string, string>>;
  /** Id of the cluster that a new directory belongs to; by default a new one. */
  readonly clusterId?: string;
};

/**
 * Makes sure that the directory holds a formatted log of this Kafka.
 *
 * A new one is formatted beside its place and renamed into it, so that a start that was interrupted
 * leaves nothing behind that looks like data.
 *
 * @returns the id of the cluster that the data belongs to.
 * @throws Error if the directory holds something else, or data of another version.
 */
export async function prepareKafkaStorage(
  place: KafkaStorage,
  toolchain: Toolchain,
  signal?: AbortSignal,
): Promise<string> {
  if (isEmptyOrAbsent(place.dir)) await format(place, toolchain, signal);
  else judgeExisting(place.dir, toolchain.kafka.version);
  return readClusterId(place.dir);
}

function judgeExisting(dir: string, version: string): void {
  const advice = 'choose another data directory or remove this one';
  const marker = join(dir, MARKER);
  if (!existsSync(marker) || !existsSync(join(dir, 'data', 'meta.properties')))
    throw new Error(`${dir} is not empty and holds no Kafka data of this system: ${advice}`);
  const found = readVersion(marker);
  if (found === undefined) throw new Error(`${marker} cannot be read: ${advice}`);
  // Kafka reads the data of an older version of itself, never that of a newer one.
  if (found.localeCompare(version, 'en', { numeric: true }) > 0)
    throw new Error(`${dir} was written by Kafka ${found}, and this is ${version}: ${advice}`);
}

function readClusterId(dir: string): string {
  const text = readFileSync(join(dir, 'data', 'meta.properties'), 'utf8');
  const id = /^cluster\.id=(.+)$/m.exec(text)?.[1];
  if (id === undefined) throw new Error(`${dir} is incomplete (no cluster id): remove it or choose another`);
  return id;
}

function readVersion(marker: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(marker, 'utf8'));
    if (typeof parsed !== 'object' || parsed === null || !('kafka' in parsed)) return undefined;
    return typeof parsed.kafka === 'string' ? parsed.kafka : undefined;
  } catch {
    return undefined;
  }
}

/** A new log of this version begins with the same records, whichever cluster it is of. */
const FIRST_RECORDS = 'bootstrap.checkpoint';

/**
 * The first time Kafka's own tool does it. What it writes differs in the ids of the cluster, the
 * node and the directory alone, so its records are kept beside Kafka's jars: the tool takes as long
 * as half of a broker's start.
 */
async function format(place: KafkaStorage, toolchain: Toolchain, signal?: AbortSignal): Promise<void> {
  const draft = `${place.dir}.formatting`;
  rmSync(draft, { recursive: true, force: true });
  const data = join(draft, 'data');
  mkdirSync(data, { recursive: true });
  const properties = { ...kafkaProperties({ ...place, dir: draft }), ...place.properties };
  const clusterId = place.clusterId ?? newClusterId();
  const kept = join(dirname(toolchain.kafka.jars[0] ?? ''), '..', FIRST_RECORDS);
  if (existsSync(kept)) {
    copyFileSync(kept, join(data, FIRST_RECORDS));
    const ids = {
      'cluster.id': clusterId,
      'node.id': properties['node.id'] ?? '',
      'directory.id': newClusterId(),
    };
    writeFileSync(join(data, 'meta.properties'), formatProperties({ version: '1', ...ids }));
  } else {
    const config = join(draft, 'format.properties');
    writeFileSync(config, formatProperties(properties));
    await runStorageTool(draft, ['format', '-t', clusterId, '-c', config], toolchain, signal);
    rmSync(config);
    // Another start may copy it meanwhile.
    copyFileSync(join(data, FIRST_RECORDS), `${kept}.${process.pid}`);
    renameSync(`${kept}.${process.pid}`, kept);
  }
  writeFileSync(join(draft, MARKER), `${JSON.stringify({ kafka: toolchain.kafka.version })}\n`);
  mkdirSync(dirname(place.dir), { recursive: true });
  rmSync(place.dir, { recursive: true, force: true });
  renameSync(draft, place.dir);
}

async function runStorageTool(
  draft: string,
  args: readonly string[],
  { java, kafka }: Toolchain,
  signal?: AbortSignal,
): Promise<void> {
  const log = join(draft, 'format.log');
  const output = openSync(log, 'a');
  const program = [...javaFlags(kafka), 'kafka.tools.StorageTool', ...args];
  const child = await spawnChild(java, program, {
    stdio: ['ignore', output, output],
    timeout: FORMAT_TIMEOUT_MS,
    ...(signal && { signal }),
  }).finally(() => closeSync(output));
  const { code } = await child.exited;
  signal?.throwIfAborted();
  if (code !== 0) throw new Error(`Kafka's storage could not be formatted:\n${logTail(log).trim()}`);
}

/** Kafka's own form of an id: a UUID in URL-safe base64 without padding. */
export const newClusterId = (): string =>
  Buffer.from(randomUUID().replaceAll('-', ''), 'hex').toString('base64url').replace(/^-/, 'A');

const isEmptyOrAbsent = (dir: string): boolean => !existsSync(dir) || readdirSync(dir).length === 0;
