import { request as httpRequest } from 'node:http';
import { appLimitsOf } from '#shared/contracts/apps/tiers.ts';
import { API_KEY, anAppWithKey, type FakeGateway } from './fake-gateway.ts';

// Bodies of batches, for unit tests of the gateway.

export const ACCOUNT = '0x52908400098527886e0f7030069857d2e4169ee7';
export const RULES = [{ type: 'NATIVE', chainId: 1, roleId: 'holder' }];
export const NDJSON = { 'content-type': 'application/x-ndjson' };
/** An app whose batches may have more entries than a part. */
export const ENTERPRISE_APP = anAppWithKey({ limits: appLimitsOf({ tier: 'enterprise' }) });

export const accountOf = (index: number): string => `0x${(index + 1).toString(16).padStart(40, '0')}`;
export const accountsOf = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => accountOf(index));
/** A batch as NDJSON: the head, then a line per entry. */
export const linesOf = (head: unknown, entries: readonly unknown[]): string =>
  [head, ...entries].map((line) => `${JSON.stringify(line)}\n`).join('');

/** Begins the request of a batch in NDJSON; the caller writes its body. */
export const openBatchRequest = (gateway: FakeGateway, headers: Record<string, string> = {}) =>
  httpRequest(`${gateway.url}/access-control/check-roles/batch`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, ...NDJSON, ...headers },
  });

/** Sends a body in chunks, and ends it unless `isEnded` is false. */
export async function sendSlowly(
  gateway: FakeGateway,
  chunks: readonly string[],
  { isEnded = true, headers = {} }: { isEnded?: boolean; headers?: Record<string, string> } = {},
): Promise<{ status: number; body: Record<string, unknown>; headers: NodeJS.Dict<string | string[]> }> {
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof sendSlowly>>>();
  const outgoing = openBatchRequest(gateway, headers);
  outgoing.on('error', reject);
  outgoing.on('response', (response) => {
    let text = '';
    response.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    response.on('end', () => {
      resolve({ status: response.statusCode ?? 0, body: JSON.parse(text), headers: response.headers });
      outgoing.destroy();
    });
  });
  for (const chunk of chunks) {
    outgoing.write(chunk);
    await new Promise((next) => setImmediate(next));
  }
  if (isEnded) outgoing.end();
  return promise;
}
