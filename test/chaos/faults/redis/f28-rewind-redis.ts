import type { Fault } from '../../fault.ts';
import { atLeast, atMost } from '../../judges/measure.ts';
import { judgeAway } from '../../judges/watch-away.ts';
import { rewindRedis } from '../../system/rewind-redis.ts';

export const f28RewindRedis: Fault = {
  id: 'F28',
  title: 'Redis comes back without its last second of writes, its marker still there',
  async run({ system, ledger, seconds, rest }) {
    const { away, noticedMs, lostBytes } = await rewindRedis({ system, rest });
    await rest(Math.max(5_000, seconds * 1_000 - (away.toMs - away.fromMs)));
    return () => ({
      figures: [
        atMost('noticed, and the ends of the topics read again', noticedMs / 1_000, 10, 's'),
        atLeast('writes lost', lostBytes / 1_024, 1, 'KiB'),
      ],
      broken: [...(lostBytes > 0 ? [] : ['nothing was lost']), ...judgeAway(ledger.attempts, away)],
    });
  },
};
