import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';
import { backAfter, duringAway } from '../../judges/watch-away.ts';

const FULL_MS_MAX = 10_000;
/** Started pages can still be written; after that the broker notices. */
const NOTICE_MS = 3_000;

/** Checks that were accepted until the broker noticed are written, and must not be lost either. */
export const f23FullDisk: Fault = {
  id: 'F23',
  title: 'disk full under the broker',
  needs: { smallDisk: true },
  isDestructive: true,
  async run({ system, ledger, rest, seconds }) {
    system.disk?.fill();
    const full = await rest(Math.min(FULL_MS_MAX, seconds * 1_000));
    system.disk?.free();
    await waitUntil('a check to be accepted', () => Number.isFinite(backAfter(ledger.attempts, full.toMs)));
    await rest((seconds * 1_000) / 2);
    return () => {
      const noticed = { ...full, fromMs: full.fromMs + NOTICE_MS };
      const accepted = duringAway(ledger.attempts, noticed).filter(({ status = 0 }) => status < 300);
      return {
        figures: [
          atMost('back', backAfter(ledger.attempts, full.toMs) / 1_000, 30, 's'),
          atMost('accepted while full', accepted.length, 0),
        ],
      };
    };
  },
};
