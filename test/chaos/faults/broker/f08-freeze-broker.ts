import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';
import { backAfter, duringAway, judgeAway } from '../../judges/watch-away.ts';
import { rssMibOf } from '../../system/process-facts.ts';

const FROZEN_MS_MAX = 30_000;

export const f08FreezeBroker: Fault = {
  id: 'F8',
  title: 'broker frozen (SIGSTOP 30 s)',
  async run({ system, ledger, seconds, rest }) {
    const memory = () => system.running('gateway').map(({ pid }) => rssMibOf(pid));
    const before = memory();
    system.signal('kafka', 'SIGSTOP');
    const away = await rest(Math.min(FROZEN_MS_MAX, seconds * 1_000));
    const growth = memory().map((mib, i) => mib / (before[i] ?? mib));
    system.signal('kafka', 'SIGCONT');
    await waitUntil('a check to be accepted', () => Number.isFinite(backAfter(ledger.attempts, away.toMs)));
    await rest((seconds * 1_000) / 4);
    return () => {
      const refusals = duringAway(ledger.attempts, away).map(({ tookMs = 0 }) => tookMs);
      return {
        figures: [
          atMost('503 after', Math.max(...refusals) / 1_000, 5, 's'),
          atMost("gateways' memory", Math.max(...growth), 1.25, '×'),
          atMost('back', backAfter(ledger.attempts, away.toMs) / 1_000, 10, 's'),
        ],
        broken: judgeAway(ledger.attempts, away),
      };
    };
  },
};
