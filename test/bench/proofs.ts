import { CompactSign } from 'jose';
import { kidOfSeed, privateKeyOf } from '#shared/proof-keys.ts';
import { parseKeyRing } from '#shared/secret-box.ts';
import { makeProve } from '../../services/evaluator/lanes/sign-proof.ts';
import { cpuMsSince } from './cpu-seconds.ts';
import type { Table } from './row.ts';

const PROOFS = 5_000;
const UNPROVEN = 1_000_000;
/** The last run counts; earlier ones warm up the code. */
const RUNS = 3;
const GOAL_MICROSECONDS = 100;
const SEED = Buffer.alloc(32, 7);

const REQUEST = {
  clientId: 'app_1',
  account: `0x${'ab'.repeat(20)}`,
  onUndetermined: 'omit',
  consistency: {},
} as const;
const RESULT = {
  status: 'completed' as const,
  roles: [
    { id: 'gold', granted: true },
    { id: 'silver', granted: false },
  ],
  errors: [],
  evaluatedAt: '2026-11-22T10:00:00.000Z',
  blocks: { '1': { number: 21_000_000, hash: `0x${'cd'.repeat(32)}`, timestamp: 1, proved: true } },
};

/** Measures the cost of a signed verdict beside `jose`, and of a check without a proof. */
export async function benchProofs(): Promise<Table> {
  const prove = makeProve({
    issuer: 'urn:rolecall',
    keys: parseKeyRing(`1:${SEED.toString('base64')}`),
    noteMissingKey: () => undefined,
  });
  const request = { ...REQUEST, proof: { seconds: 300, rulesDigest: 'sha-256=:x:' } };
  const [, payload = ''] = (prove(request, RESULT, 'req_1') ?? '').split('.');
  const claims = Buffer.from(payload, 'base64url');
  const header = { alg: 'EdDSA', kid: kidOfSeed(SEED), typ: 'rolecall-verdict+jwt' };
  const key = privateKeyOf(SEED);
  const signing = await cpuMicrosecondsOf(PROOFS, () => prove(request, RESULT, 'req_1'));
  const byJose = await cpuMicrosecondsOf(PROOFS, () =>
    new CompactSign(claims).setProtectedHeader(header).sign(key),
  );
  const unproven = await cpuMicrosecondsOf(UNPROVEN, () => prove(REQUEST, RESULT, 'req_1'));
  return {
    title: 'Signed verdicts',
    rows: [
      {
        what: 'signing one verdict, CPU',
        measured: signing,
        unit: 'µs',
        against: { what: 'jose over WebCrypto, the signature alone', measured: byJose },
        goal: { of: 'value', max: GOAL_MICROSECONDS },
      },
      { what: 'a check that asks for no proof, CPU', measured: unproven, unit: 'µs' },
    ],
  };
}

/** CPU of all threads, so that work in the thread pool counts. */
async function cpuMicrosecondsOf(count: number, work: () => unknown): Promise<number> {
  let microseconds = 0;
  for (let run = 0; run < RUNS; run++) {
    const before = process.cpuUsage();
    for (let i = 0; i < count; i++) await work();
    microseconds = (cpuMsSince(before) * 1_000) / count;
  }
  return microseconds;
}
