import { matchPath } from '../core/match-path.js';
import { Account } from './account.js';
import { App } from './app.js';
import { Apps } from './apps.js';
import { Missing } from './missing.js';
import { Operator } from './operator.js';

const ROUTES = [
  ['/apps', Apps],
  ['/account', Account],
  ['/operator', Operator],
  ['/operator/:section', Operator],
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
