import { Rolecall } from '@rolecall/client';

const rolecall = new Rolecall({ baseUrl: process.env.ROLECALL_URL, apiKey: process.env.ROLECALL_API_KEY });

/** Which roles a wallet holds. A role that could not be read is in `unread`: take nothing away
 * because of it. */
export async function rolesOf(account, rules) {
  const { roles, errors } = await rolecall.check({ account, rules });
  const held = roles.filter(({ granted }) => granted).map(({ id }) => id);
  return { held, unread: errors.map(({ roleId }) => roleId).filter((role) => !held.includes(role)) };
}
