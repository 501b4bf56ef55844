/** Asks the server of the global set-up for a part that the suites of this jest worker share; its
 * answer is JSON. */
export async function askForPart(part: 'infrastructure' | 'system'): Promise<string> {
  const { TEST_PARTS_URL: server, JEST_WORKER_ID: worker } = process.env;
  const response = await fetch(`${server}/${part}/${worker}`);
  const text = await response.text();
  if (!response.ok) throw new Error(`The ${part} of the tests did not start: ${text}`);
  return text;
}
