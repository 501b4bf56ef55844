import { matchPath } from '../../lib/match-path.js';
import { Account } from '../accounts/account.js';
import { App } from '../apps/app.js';
import { Apps } from '../apps/apps.js';
import { Operator } from '../operator/operator.js';
import { Invitation } from '../team/invitation.js';
import { Missing } from './missing.js';
import { WhatsNew } from './whats-new.js';

const ROUTES = [
  ['/apps', Apps],
  ['/account', Account],
  ['/whats-new', WhatsNew],
  ['/invitation', Invitation],
  ['/operator', Operator],
  ['/operator/:section', Operator],
  ['/operator/:section/:item', Operator],
  ['/apps/:id', App],
  ['/apps/:id/:section', App],
  ['/apps/:id/:section/:item', App],
];

/** The component of a path, and the path's named parts. */
export function findPage(path, { operator }) {
  // Operators see the waiting scope requests first; all others see their apps.
  if (path === '/') return [operator ? Operator : Apps, {}];
  for (const [pattern, Page] of ROUTES) {
    const parts = matchPath(pattern, path);
    if (parts) return [Page, parts];
  }
  return [Missing, {}];
}
