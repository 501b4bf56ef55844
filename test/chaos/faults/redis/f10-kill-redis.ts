import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';
import { backAfter, judgeAway } from '../../judges/watch-away.ts';

const AWAY_MS = 3_000;

export const f10KillRedis: Fault = {
  id: 'F10',
  title: 'Redis kill -9 + restart with its data',
  signsIn: true,
  async run({ system, ledger, seconds, rest }) {
    system.gates.hold('redis');
    system.signal('redis', 'SIGKILL');
    const away = await rest(AWAY_MS);
    system.gates.release('redis');
    await waitUntil('Redis', async () => (await system.open.redis.ping().catch(() => '')) === 'PONG');
    const upAt = Date.now();
    await rest(Math.max(5_000, seconds * 1_000 - AWAY_MS));
    return () => ({
      figures: [
        atMost('reconnected', backAfter(ledger.attempts, upAt) / 1_000, 5, 's'),
        atMost('lines of a process', system.lines.mostPerSecond(away.fromMs, upAt + 5_000), 5, '/s'),
      ],
      broken: judgeAway(ledger.attempts, away),
    });
  },
};
