import { type AdmitResult, makeAttemptGate } from './admit-attempt.ts';

const HOOK = 'https://hooks.example/a';

/** A gate whose slots are either always or never free. */
function setUp({ areFree = true, isTaking = true } = {}) {
  const state = { nowMs: 0, held: 0, releasedAs: [] as (boolean | undefined)[] };
  const gate = makeAttemptGate({
    monotonicMs: () => state.nowMs,
    scale: 1,
    slots: {
      msPerMessage: () => (isTaking ? 25 : undefined),
      acquire: async () => {
        if (!areFree) return undefined;
        state.held += 1;
        return {
          release: (isHealthy) => {
            state.held -= 1;
            state.releasedAs.push(isHealthy);
          },
        };
      },
    },
  });
  return { state, gate };
}

const appOf = (clientId: string) => ({ accountId: 'acc_1', clientId });

async function fail(gate: ReturnType<typeof makeAttemptGate>, times: number, url = HOOK, client = 'app_1') {
  const admissions: AdmitResult[] = [];
  for (let i = 0; i < times; i += 1) admissions.push(await gate.admit(appOf(client), url, 1));
  for (const admission of admissions) admission.end?.(false);
}

test('frees the slot with the health that the attempt showed', async () => {
  const { state, gate } = setUp();
  (await gate.admit(appOf('app_1'), HOOK, 1)).end?.(true);
  (await gate.admit(appOf('app_1'), HOOK, 1)).end?.(false);
  (await gate.admit(appOf('app_1'), HOOK, 1)).end?.(undefined);
  expect(state).toMatchObject({ held: 0, releasedAs: [true, false, undefined] });
});

test('refuses without a slot, and names the reason', async () => {
  const { gate } = setUp({ areFree: false });
  expect(await gate.admit(appOf('app_1'), HOOK, 1)).toEqual({ reason: 'slots', tier: '5s' });
  const hanging = setUp({ areFree: false, isTaking: false });
  expect(await hanging.gate.admit(appOf('app_1'), HOOK, 1)).toEqual({ reason: 'hanging' });
});

test('refuses behind an open breaker without taking a slot, for that client app and origin only', async () => {
  const { state, gate } = setUp();
  await fail(gate, 10);
  expect(await gate.admit(appOf('app_1'), 'https://hooks.example/b', 1)).toEqual({ reason: 'breaker' });
  expect(state.held).toBe(0);
  expect((await gate.admit(appOf('app_2'), HOOK, 1)).end).toBeDefined();
  expect((await gate.admit(appOf('app_1'), 'https://hooks.example:8443/a', 1)).end).toBeDefined();
  expect(gate.breakerCounts()).toEqual({ closed: 2, open: 1, 'half-open': 0 });
});

test('admits one probe once the breaker is half-open, and refuses the others without holding a slot', async () => {
  const { state, gate } = setUp();
  await fail(gate, 10);
  state.nowMs = 30_000;
  const probe = await gate.admit(appOf('app_1'), HOOK, 1);
  expect(await gate.admit(appOf('app_1'), HOOK, 1)).toEqual({ reason: 'breaker' });
  expect(state.held).toBe(1);
  probe.end?.(true);
  expect((await gate.admit(appOf('app_1'), HOOK, 1)).end).toBeDefined();
});
