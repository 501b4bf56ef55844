import { probeBroker } from '#shared/kafka/client.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';
import { backAfter, judgeAway } from '../../judges/watch-away.ts';

const AWAY_MS = 10_000;
const SERVICES = ['gateway', 'evaluator', 'result-store', 'webhook-dispatcher'] as const;

export const f07KillBroker: Fault = {
  id: 'F7',
  title: 'broker kill -9, restart after 10 s',
  signsIn: true,
  async run({ system, ledger, seconds, rest }) {
    const pids = () => SERVICES.flatMap((service) => system.running(service).map(({ pid }) => pid));
    const before = pids();
    system.gates.hold('kafka');
    system.signal('kafka', 'SIGKILL');
    const away = await rest(AWAY_MS);
    system.gates.release('kafka');
    await waitUntil('the broker', () => isUp(system.ready.kafka));
    const upAt = Date.now();
    await waitUntil('a check to be accepted', () => Number.isFinite(backAfter(ledger.attempts, upAt)));
    await rest((seconds * 1_000) / 4);
    const isSame = pids().join() === before.join();
    return () => ({
      figures: [atMost('producers back', backAfter(ledger.attempts, upAt) / 1_000, 10, 's')],
      broken: [...judgeAway(ledger.attempts, away), ...(isSame ? [] : ['a service had to be restarted'])],
    });
  },
};

async function isUp(broker: string): Promise<boolean> {
  const config = {
    brokers: [broker],
    prefix: '',
    sessionTimeoutMs: 0,
    heartbeatIntervalMs: 0,
    requestTimeoutMs: 1_000,
  };
  return probeBroker(config).then(
    () => true,
    () => false,
  );
}
