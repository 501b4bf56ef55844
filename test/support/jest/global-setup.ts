import { serveParts } from './serve-parts.ts';

/** Before any worker starts: each inherits the address of the server for the parts that its suites
 * share. */
export default async function setUp(): Promise<void> {
  const server = await serveParts(JSON.parse(process.env['TEST_PARTS'] ?? ''));
  Reflect.set(globalThis, '__rolecallParts', server);
  process.env['TEST_PARTS_URL'] = server.url;
}
