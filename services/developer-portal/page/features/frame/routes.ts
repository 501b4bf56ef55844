import { Missing } from '../../ui/page.ts';
import { Account } from '../accounts/account.ts';
import { App } from '../apps/app.ts';
import { Apps } from '../apps/apps.ts';
import { Operator } from '../operator/operator.ts';
import { Invitation } from '../team/team.ts';
import { partsOf } from './path-parts.ts';

const PAGES = new Map<string, object>([
  ['/apps', Apps],
  ['/account', Account],
  ['/invitation', Invitation],
]);

export function findPage(path: string, { operator }) {
  // Operators see the waiting scope requests first; all others see their apps.
  const page = path === '/' ? (operator ? Operator : Apps) : PAGES.get(path);
  const parts = partsOf(path);
  return { page: page ?? (parts ? (parts.id === undefined ? Operator : App) : Missing), parts: parts ?? {} };
}
