import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareKafkaStorage } from './kafka-storage.ts';

// None of these reaches Java: a directory that is not ours is refused before anything is started.
const toolchain = { java: '/nowhere/java', redis: '', kafka: { version: '4.3.1', jars: [], archive: null } };
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'rolecall-storage-'));
  mkdirSync(join(dir, 'data'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const prepare = () => prepareKafkaStorage({ dir, port: 1, controllerPort: 2 }, toolchain);
const writeData = (marker: string): void => {
  writeFileSync(join(dir, 'data', 'meta.properties'), 'version=1\ncluster.id=abc\n');
  writeFileSync(join(dir, 'rolecall-kafka.json'), marker);
};

test('data of this Kafka version is reused', async () => {
  writeData('{"kafka":"4.3.1"}');
  await expect(prepare()).resolves.toBe('abc');
});

test('data of an older Kafka version is reused', async () => {
  writeData('{"kafka":"4.3.0"}');
  await expect(prepare()).resolves.toBe('abc');
});

test('data of a newer Kafka is refused, with both versions', async () => {
  writeData('{"kafka":"4.10.0"}');
  await expect(prepare()).rejects.toThrow(/written by Kafka 4\.10\.0, and this is 4\.3\.1: choose another/);
});

test('a directory that holds something else is refused and left as it is', async () => {
  writeFileSync(join(dir, 'letter.txt'), 'mine');
  await expect(prepare()).rejects.toThrow(/is not empty and holds no Kafka data of this system/);
});

test('a marker that cannot be read is refused', async () => {
  writeData('{"kafka":');
  await expect(prepare()).rejects.toThrow(/cannot be read/);
});
