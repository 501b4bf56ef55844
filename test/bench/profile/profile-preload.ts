import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { basename, dirname, join } from 'node:path';

// Preloaded into a service by the profile benchmark. The first SIGUSR2 starts a CPU profile and an
// allocation profile, the second stops them and writes them; the done file is written last.

const SAMPLING_INTERVAL_BYTES = 32 * 1024;
const SAMPLING_INTERVAL_US = 1_000;

const dir = process.env['BENCH_PROFILE_DIR'];
const service = basename(dirname(process.argv[1] ?? ''));
let session: Session | undefined;

async function begin(): Promise<void> {
  session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLING_INTERVAL_US });
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: SAMPLING_INTERVAL_BYTES,
    // Include objects that are garbage by the end: they were allocated too.
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  await session.post('Profiler.start');
}

async function end(running: Session, into: string): Promise<void> {
  const { profile: cpu } = await running.post('Profiler.stop');
  const { profile: heap } = await running.post('HeapProfiler.stopSampling');
  const path = join(into, `${service}-${process.pid}`);
  writeFileSync(`${path}.cpu.json`, JSON.stringify(cpu));
  writeFileSync(`${path}.heap.json`, JSON.stringify(heap));
  writeFileSync(`${path}.done`, '');
}

if (dir)
  process.on('SIGUSR2', () => {
    const running = session;
    void (running ? end(running, dir) : begin());
  });
