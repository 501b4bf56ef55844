import assert from 'node:assert/strict';
import type { CheckResult } from '#shared/contracts/checks/result.ts';
import type { OpenSystem } from '../../services/developer-portal/admin/open-system.ts';
import type { RunningSystem } from '../support/systems/running-system.ts';
import { waitUntil } from '../support/wait-until.ts';
import type { Apps, UpgradedApp } from './fill-apps.ts';
import { type AcceptedCheck, type Checks, pollCheck, type Receivers } from './fill-checks.ts';
import type { Tally } from './tally.ts';

/** A system of this version with the data of the earlier version. */
export type Scene = {
  readonly apps: Apps;
  readonly checks: Checks;
  /** Accepted by the earlier version and not evaluated by it. */
  readonly backlog: readonly AcceptedCheck[];
  readonly system: RunningSystem;
  readonly open: OpenSystem;
  readonly receivers: Receivers;
  readonly tally: Tally;
};

/** Of a failure: it is named, and the rest is examined too. */
export const WAIT_MS_MAX = 30_000;

/** The apps whose checks are accepted. */
export const activeApps = (apps: Apps): readonly UpgradedApp[] => {
  const { main, free, paid, limited, rotated, developed } = apps;
  return [main, free, paid, limited, rotated, developed];
};

/** The result of a check, waited for. */
export const untilPolled = (app: UpgradedApp, requestId: string): Promise<string> =>
  waitUntil(
    `the result of ${requestId}`,
    async () => {
      const { status, text } = await pollCheck(app, requestId);
      return status === 200 && text;
    },
    WAIT_MS_MAX,
  );

/** @throws AssertionError unless every role of a result is granted */
export function assertGranted(text = ''): void {
  const { roles, errors } = JSON.parse(text) as CheckResult;
  assert.deepEqual(errors, []);
  assert.equal(roles.length > 0 && roles.every(({ granted }) => granted), true);
}
