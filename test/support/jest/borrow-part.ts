import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';

/** What the server of the global set-up lends: to one suite at a time, but for the client's
 * project, which suites copy. */
type Part = 'infrastructure' | 'system' | 'client';

async function ask(method: 'GET' | 'DELETE', part: Part): Promise<string> {
  const { TEST_PARTS_URL: server, JEST_WORKER_ID: worker } = process.env;
  // On a busy machine another suite may keep a part for longer than `fetch` waits.
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const url = `${server}/${part}/${worker}`;
    request(url, { method, agent: false }, resolve).on('error', reject).end();
  });
  const answer = await text(response);
  if (response.statusCode !== 200) throw new Error(`The ${part} of the tests did not start: ${answer}`);
  return answer;
}

/** Waits until a part is free; the answer is JSON. */
export const borrowPart = (part: Part): Promise<string> => ask('GET', part);

export const returnPart = (part: Part): Promise<string> => ask('DELETE', part);
