import { serveInfrastructure } from './serve-infrastructure.ts';

/** Before any worker starts: each inherits the address of the server that gives it its infrastructure. */
export default async function setUp(): Promise<void> {
  const server = await serveInfrastructure();
  Reflect.set(globalThis, '__rolecallInfrastructure', server);
  process.env['TEST_INFRASTRUCTURE_URL'] = server.url;
}
