import { type OpenSystem, openSystem } from '../../../services/developer-portal/admin/open-system.ts';
import { COMMAND_TIMEOUT_MS } from '../infrastructure/connections.ts';

/**
 * Opens the stores of a running system as `npm run admin` does, with the patience of a test.
 *
 * @example
 * await using open = await openTestSystem(system.environment());
 */
export async function openTestSystem(...given: Parameters<typeof openSystem>): Promise<OpenSystem> {
  const open = await openSystem(...given);
  open.redis.options.commandTimeout = COMMAND_TIMEOUT_MS;
  return open;
}
