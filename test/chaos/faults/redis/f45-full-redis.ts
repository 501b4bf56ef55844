import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';
import { backAfter, judgeAway } from '../../judges/watch-away.ts';

const FULL_MS_MAX = 10_000;

export const f45FullRedis: Fault = {
  id: 'F45',
  title: 'Redis at its bound (maxmemory)',
  async run({ system, ledger, seconds, rest }) {
    const { redis } = system.open;
    const readGateway = async (path: string) => (await fetch(`${system.gateways[0]?.ops}${path}`)).text();
    const beganMs = Date.now();
    // Less than it uses: there is no room for one write more.
    await redis.config('SET', 'maxmemory', '1mb');
    await waitUntil('readiness to say that it is full', async () =>
      (await readGateway('/readyz')).includes('"redis":"full"'),
    );
    const noticedMs = Date.now() - beganMs;
    const full = await rest(Math.min(FULL_MS_MAX, seconds * 500));
    const metrics = await readGateway('/metrics');
    await redis.config('SET', 'maxmemory', '0');
    await waitUntil('a check to be accepted', () => Number.isFinite(backAfter(ledger.attempts, full.toMs)));
    await system.waitUntilReady();
    await rest(seconds * 500);
    const max = Number(/^rolecall_redis_max_bytes\S* (\d+)/m.exec(metrics)?.[1]);
    const used = Number(/^rolecall_redis_used_bytes\S* (\d+)/m.exec(metrics)?.[1]);
    return () => ({
      figures: [
        atMost('noticed', noticedMs / 1_000, 5, 's'),
        atMost('back', backAfter(ledger.attempts, full.toMs) / 1_000, 5, 's'),
      ],
      broken: [
        ...judgeAway(ledger.attempts, full),
        ...(max === 1024 * 1024 && used > max ? [] : [`the metrics say ${used} of ${max} bytes`]),
      ],
    });
  },
};
