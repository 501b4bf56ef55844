import { Account } from '../accounts/account.js';
import { App } from '../apps/app.js';
import { Apps } from '../apps/apps.js';
import { Operator } from '../operator/operator.js';
import { Invitation } from '../team/invitation.js';
import { Missing } from './frame.js';
import { partsOf } from './path-parts.js';

/** The pages without parts, by path. @type {Record<string, object>} */
const PAGES = {
  '/apps': Apps,
  '/account': Account,
  '/invitation': Invitation,
};
/**
 * The component of a path, and the path's named parts.
 * @returns {[page: object, parts: { id?: string, section?: string, item?: string }]}
 */
export function findPage(path, { operator }) {
  // Operators see the waiting scope requests first; all others see their apps.
  if (path === '/') return [operator ? Operator : Apps, {}];
  const page = Object.hasOwn(PAGES, path) ? PAGES[path] : undefined;
  if (page) return [page, {}];
  const parts = partsOf(path);
  return parts ? [parts.id === undefined ? Operator : App, parts] : [Missing, {}];
}
