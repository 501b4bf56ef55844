import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';
import { backAfter, duringAway, judgeAway } from '../../judges/watch-away.ts';

const FROZEN_MS_MAX = 10_000;

export const f12FreezeRedis: Fault = {
  id: 'F12',
  title: 'Redis frozen (SIGSTOP 10 s)',
  async run({ system, ledger, seconds, rest }) {
    system.signal('redis', 'SIGSTOP');
    const away = await rest(Math.min(FROZEN_MS_MAX, seconds * 500));
    system.signal('redis', 'SIGCONT');
    await rest(Math.max(3_000, seconds * 500));
    return () => {
      const hung = duringAway(ledger.attempts, away).map(({ tookMs = 0 }) => tookMs);
      return {
        figures: [
          atMost('a request hangs', Math.max(...hung), 500, 'ms'),
          atMost('back', backAfter(ledger.attempts, away.toMs) / 1_000, 5, 's'),
        ],
        broken: judgeAway(ledger.attempts, away),
      };
    };
  },
};
