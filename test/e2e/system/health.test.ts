/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// Broker and Redis are frozen and come back. Every process reports itself not ready, and none asks
// for a restart.

import { sharedSystem } from '../../support/systems/shared-system.ts';
import { waitUntil } from '../../support/wait-until.ts';

const system = sharedSystem();

type Process = { readonly pid: number; readonly ops: string | null };
/** Of the services alone. */
const pidsOf = (processes: readonly Process[]): number[] =>
  processes.flatMap(({ pid, ops }) => (ops === null ? [] : [pid])).sort();

type Answer = { readonly service: string; readonly status: number; readonly text: string };

const ask = (path: string): Promise<Answer[]> =>
  Promise.all(
    system.ready.processes.flatMap(({ service, ops }) =>
      ops === null
        ? []
        : fetch(`${ops}${path}`).then(async (answer) => ({
            service,
            status: answer.status,
            text: await answer.text(),
          })),
    ),
  );

async function whileFrozen(service: 'kafka' | 'redis', work: () => Promise<void>): Promise<void> {
  const [pid] = system.pidsOf(service);
  if (pid === undefined) throw new Error(`no ${service} runs`);
  process.kill(pid, 'SIGSTOP');
  try {
    await work();
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}

test.each([
  ['kafka', 'broker'],
  ['redis', 'redis'],
] as const)(
  'every process is live and not ready while %s does not answer, and ready again afterwards',
  async (service, check) => {
    const before = pidsOf(system.ready.processes);
    // A busy machine may have cost a member its Kafka session since the start.
    await waitUntil('every process to be ready', async () =>
      (await ask('/readyz')).every(({ status }) => status === 200),
    );
    await whileFrozen(service, async () => {
      await waitUntil('every process to be unready', async () =>
        (await ask('/readyz')).every(({ status, text }) => status === 503 && text.includes(`"${check}":"`)),
      );
      expect((await ask('/livez')).filter(({ status }) => status !== 200)).toEqual([]);
    });
    await waitUntil('every process to be ready', async () =>
      (await ask('/readyz')).every(({ status }) => status === 200),
    );
    // The request may fail for a moment while a group's coordinator is not back yet.
    const after = await waitUntil(
      'the status',
      async () => (await system.admin('status')).value as { processes: Process[] } | undefined,
    );
    expect(pidsOf(after.processes)).toEqual(before);
  },
);
