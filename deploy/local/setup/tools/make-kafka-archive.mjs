import { createHash } from 'node:crypto';
import { existsSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { report, run } from '../run.mjs';

/**
 * A class-data archive halves the broker's start. It fits one Java and one class path only, so its
 * name holds a hash of both. Null if it could not be made: Kafka starts without it, only later.
 */
export async function makeKafkaArchive(places, java, { jars }) {
  const real = realpathSync(java);
  const { mtimeMs, size } = statSync(real);
  const key = createHash('sha256')
    .update(JSON.stringify([real, mtimeMs, size, jars]))
    .digest('hex')
    .slice(0, 12);
  const archive = join(places.kafka, `classes-${key}.jsa`);
  if (existsSync(archive)) return archive;
  report('preparing a fast start of Kafka (once)');
  const draft = `${archive}.${process.pid}`;
  try {
    const node = join(places.modules, 'node', 'bin', 'node');
    const script = join(places.root, 'deploy', 'local', 'setup', 'tools', 'record-kafka-classes.ts');
    const facts = JSON.stringify({ java, jars, archive: draft });
    await run(node, [script, facts], { cwd: places.root });
    renameSync(draft, archive);
    return archive;
  } catch (error) {
    report(`Kafka will start more slowly: ${error.message}`);
    return null;
  } finally {
    rmSync(draft, { force: true });
  }
}
