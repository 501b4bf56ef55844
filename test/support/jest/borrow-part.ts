/** What the server of the global set-up lends to one suite at a time. */
type Part = 'infrastructure' | 'system';

async function ask(method: 'GET' | 'DELETE', part: Part): Promise<string> {
  const { TEST_PARTS_URL: server, JEST_WORKER_ID: worker } = process.env;
  const response = await fetch(`${server}/${part}/${worker}`, { method });
  const text = await response.text();
  if (!response.ok) throw new Error(`The ${part} of the tests did not start: ${text}`);
  return text;
}

/** Waits until a part is free; the answer is JSON. */
export const borrowPart = (part: Part): Promise<string> => ask('GET', part);

export const returnPart = (part: Part): Promise<string> => ask('DELETE', part);
