import { type FakeGateway, type FakeOptions, startFakeGateway } from './fake-gateway.ts';

/** Starts fake gateways for the tests of a file; each is stopped after its test. */
export function fakeGateways(): (options?: FakeOptions) => Promise<FakeGateway> {
  let gateways: FakeGateway[] = [];
  afterEach(async () => {
    for (const gateway of gateways) await gateway[Symbol.asyncDispose]();
    gateways = [];
  });
  return async function start(options = {}) {
    const gateway = await startFakeGateway(options);
    gateways.push(gateway);
    return gateway;
  };
}

/** The problem document of an answer; checks the members that every problem has. */
export async function problemOf(response: Response): Promise<Record<string, unknown>> {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(response.headers.get('rolecall-version')).toBe('1');
  const problem = (await response.json()) as Record<string, unknown>;
  expect(problem).toMatchObject({
    status: response.status,
    title: expect.any(String),
    detail: expect.any(String),
  });
  expect(problem['instance']).toMatch(/^\/requests\/[A-Za-z0-9_-]+$/);
  return problem;
}
