// A system is ended in the middle of its work and started again with the same data: every accepted
// check is answered.
import { rmSync } from 'node:fs';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { makeDataDir } from '../../support/infrastructure/make-data-dir.ts';
import { findSecrets } from '../../support/judges/find-secrets.ts';
import { NO_FAULTS } from '../../support/judges/ledger.ts';
import { reconcileUnderLoad } from '../../support/judges/reconcile-under-load.ts';
import { type StartedSystem, startSystem } from '../../support/systems/start-system.ts';
import { waitUntil } from '../../support/wait-until.ts';

const dataDir = makeDataDir('restart');
let system: StartedSystem;
beforeAll(async () => {
  system = await startSystem({ dataDir, env });
});
afterAll(async () => {
  await system?.[Symbol.asyncDispose]();
  rmSync(dataDir, { recursive: true, force: true });
});

/** On a busy machine an answer to a webhook may be late: it is waited for instead of sent again,
 * also by a stop. */
const env = {
  LOG_LEVEL: 'debug',
  WEBHOOK_ATTEMPT_TIMEOUT_MS: '60000',
  SHUTDOWN_TIMEOUT_MS: '90000',
};
const check = () => ({ account: system.chain.holder, rules: [demoRules(system.chain).erc20()] });
/** Another start on the same data and ports has the same ready line but for the process ids. */
async function restart(): Promise<void> {
  const facts = ({ processes: _, ...rest }: StartedSystem['ready']) => rest;
  const { ready, portBase } = system;
  system = await startSystem({ dataDir, portBase, env });
  expect(facts(system.ready)).toEqual(facts(ready));
}
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Ends the system in the middle of its work and starts it again with the same data. */
const restartUnderLoad = (end: () => Promise<void>) =>
  reconcileUnderLoad(system, async (load) => {
    await end();
    await load.stop();
    await restart();
  });

const allPids = (): number[] => [
  ...system.ready.processes.map(({ pid }) => pid),
  ...['kafka', 'redis', 'chain'].flatMap((service) => system.pidsOf(service)),
  system.starterPid,
];

test('SIGTERM under load loses nothing, exits 0 and leaves no process behind', async () => {
  const earlier = await system.client.check(check());
  const { faults, counts } = await restartUnderLoad(async () => {
    const pids = allPids();
    expect(await system.stop()).toBe(0);
    expect(pids.filter(isAlive)).toEqual([]);
  });
  expect(faults).toEqual(NO_FAULTS);
  expect(counts.undetermined).toBe(0);
  // A clean stop repeats nothing.
  expect(counts.duplicates).toBe(0);
  const again = await system.client.poll(earlier.body.requestId ?? '');
  expect(again.text).toBe(earlier.text);
});

test('kill -9 of every process at once under load loses nothing that was acknowledged', async () => {
  const { faults } = await restartUnderLoad(async () => {
    const pids = allPids();
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    await waitUntil('all of them to be gone', () => !pids.some(isAlive));
  });
  expect(faults).toEqual(NO_FAULTS);
});

test('the logs of the whole run contain none of the used secrets', () => {
  expect(findSecrets(system)).toEqual([]);
});
