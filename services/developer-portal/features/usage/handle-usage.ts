import { HOUR_MS } from '#shared/contracts/durations.ts';
import { dateOf, dayOf, hourOf } from '#shared/stores/usage/usage-days.ts';
import type { Dependencies } from '../../dependencies.ts';
import { addFigures, checksByKey, summariseDay, undeterminedShareOf } from '../../domain/summarise-usage.ts';
import type { Handlers } from '../../http/operations.ts';
import { presentAudit, teamOf } from '../audit/present-audit.ts';
import type { USAGE_OPERATIONS } from './usage-operations.ts';

const DAYS = 30;
const HOURS = 48;
/** Rows of the list of keys, the most used ones. */
const KEYS_SHOWN_MAX = 50;
const AUDIT_COUNT_MAX = 200;

export function makeUsageHandlers(deps: Dependencies): Handlers<keyof typeof USAGE_OPERATIONS> {
  const { accounts, clientApps, usageDays, readBytes, auditTrail, now } = deps;
  return {
    async readUsage({ app, owner }) {
      const days = lastOf(DAYS, dayOf(now()));
      const hours = lastOf(HOURS, hourOf(now()));
      const [figures, figuresOfHours, month, { bytes, bytesMax }] = await Promise.all([
        usageDays.read(app.clientId, days),
        usageDays.readHours(app.clientId, hours),
        deps.readMonth(app.clientId, owner),
        readBytes(app.clientId),
      ]);
      const total = addFigures(figures);
      const totals = summariseDay(total);
      return {
        month,
        today: { bytes, bytesMax },
        days: figures.map((day, i) => ({ date: dateOf(days[i] ?? 0), ...summariseDay(day) })),
        hours: figuresOfHours.map((hour, i) => ({
          hour: new Date((hours[i] ?? 0) * HOUR_MS).toISOString().slice(0, 13),
          ...summariseDay(hour),
        })),
        keys: checksByKey(total).slice(0, KEYS_SHOWN_MAX),
        totals: { ...totals, undeterminedShare: undeterminedShareOf(totals) },
      };
    },
    async readAppAudit({ account, app }) {
      const entries = await auditTrail.ofApp(app.clientId, AUDIT_COUNT_MAX);
      return presentAudit(accounts, entries, account, teamOf(app));
    },
    async readAccountAudit({ account }) {
      const entries = await auditTrail.ofAccount(account.accountId, AUDIT_COUNT_MAX);
      // Entries of a deleted account with the same address are not this account's.
      const teams = await clientApps.listOwned(account.accountId, (app) => [...teamOf(app)]);
      const team = new Set(teams.flat());
      const own = entries.filter(({ at }) => at >= account.createdAt);
      return presentAudit(accounts, own, account, team);
    },
  };
}

/** The numbers of so many days or hours, up to the last one. */
const lastOf = (count: number, last: number): number[] =>
  Array.from({ length: count }, (_, i) => last - count + 1 + i);
