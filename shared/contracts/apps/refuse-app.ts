import type { AppAccess } from './client-app.ts';

/** The state that a use of an app needs: that it is not suspended, or that its scope is approved
 * too. */
export type AppState = 'active' | 'approved';

/** The codes of `refuseApp`. */
export const APP_REFUSALS = ['client-app-suspended', 'scope-not-approved'] as const;

/**
 * Why an app may not be used, or `undefined`. Suspension outranks the scope.
 *
 * @example
 * refuseApp({ suspended: false, scope: 'requested' }, 'approved')?.code; // 'scope-not-approved'
 */
export function refuseApp({ suspended, scope }: Pick<AppAccess, 'suspended' | 'scope'>, needs: AppState) {
  if (suspended)
    return { code: 'client-app-suspended', detail: 'The client app was suspended by the operator.' } as const;
  if (needs === 'active' || scope === 'approved') return undefined;
  return {
    code: 'scope-not-approved',
    detail: 'The app needs the token-gating scope, approved by the operator.',
  } as const;
}
