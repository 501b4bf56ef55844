import type { PublishChanges } from './members/publish-changes.ts';
import type { RequestChecks } from './members/request-checks.ts';
import type { Stores } from './stores.ts';
import type { AnnounceHeld } from './sweeps/announce-held.ts';
import type { ChangeWatch } from './sweeps/change-watch.ts';
import type { SweepSoon } from './sweeps/sweep-followers.ts';

/** The parts of the watcher, made once at its start; tests replace some of them. */
export type Dependencies = Stores &
  PublishChanges &
  ChangeWatch &
  AnnounceHeld & { readonly requestChecks: RequestChecks; readonly sweepSoon: SweepSoon };
