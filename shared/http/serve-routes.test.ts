import { ServiceError } from '#shared/errors.ts';
import { makeLogger } from '#shared/telemetry/log.ts';
import { serveOnLoopback } from '../../test/support/fakes/serve-on-loopback.ts';
import { instanceOf, setClient } from './exchange-trace.ts';
import { Problem, problemBody } from './problem.ts';
import { type Route, type ServeOptions, serveRoutes } from './serve-routes.ts';

let servers = new AsyncDisposableStack();
afterEach(async () => {
  await servers.disposeAsync();
  servers = new AsyncDisposableStack();
});

async function start(routes: readonly Route[], options: Partial<ServeOptions> = {}) {
  const timed: string[] = [];
  const lines: string[] = [];
  const listener = serveRoutes({
    routes,
    routeNotFound: 'The path does not exist.',
    enter: () => undefined,
    startTimer: (route) => (_response, status) => void timed.push(`${route} ${status}`),
    sendProblem: (response, problem) =>
      response.status(problem.status).set(problem.headers).send(problemBody(problem, '/requests/x')),
    trustedProxies: [],
    forwardedForIgnored: { inc: () => undefined },
    logsAccess: false,
    log: makeLogger('test', 'info', { write: (line: string) => void lines.push(line) }),
    ...options,
  });
  const { url } = servers.use(await serveOnLoopback(listener));
  const ask = (method: string, path: string) => fetch(url + path, { method });
  return { ask, timed, lines };
}

const answering = (method: Route['method'], path: Route['path'], name: string): Route => ({
  method,
  path,
  name,
  handle: async (_request, response) => void response.send(name),
});

const THING = '/things/:id';
const THINGS = [
  answering('get', THING, 'read'),
  answering('put', THING, 'write'),
  answering('delete', THING, 'drop'),
];

test('one path serves several methods, each by its own handler and under its own name', async () => {
  const { ask, timed } = await start(THINGS);
  expect(await (await ask('GET', '/things/1')).text()).toBe('read');
  expect(await (await ask('PUT', '/things/1')).text()).toBe('write');
  expect(await (await ask('DELETE', '/things/1')).text()).toBe('drop');
  expect(timed).toEqual(['read 200', 'write 200', 'drop 200']);
});

test.each(['HEAD', 'OPTIONS', 'POST'])(
  '%s on such a path is 405 and allows all of its methods',
  async (method) => {
    const { ask } = await start(THINGS);
    const response = await ask(method, '/things/1');
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, PUT, DELETE');
  },
);

test('a path that also matches the pattern of an earlier route keeps its own methods', async () => {
  const { ask } = await start([answering('get', THING, 'read'), answering('post', '/things/all', 'all')]);
  expect(await (await ask('POST', '/things/all')).text()).toBe('all');
});

test('an unknown path is 404', async () => {
  const { ask, timed } = await start([answering('get', '/named/:name', 'named')]);
  for (const path of ['/nothing', '/named/a/b', '/named/', '/named/a/'])
    expect([path, (await ask('GET', path)).status]).toEqual([path, 404]);
  expect(timed).toEqual(Array(4).fill('none 404'));
});

test('a handler gets the decoded segments of its path, and an empty text for an invalid percent escape', async () => {
  const { ask } = await start([
    {
      ...answering('get', '/a.b/:first/of/:second', 'two'),
      handle: async (_request, response, param) => void response.send([param('first'), param('second')]),
    },
  ]);
  expect(await (await ask('GET', '/a.b/x%2Fy/of/%ff')).json()).toEqual(['x/y', '']);
  expect((await ask('GET', '/a-b/x/of/y')).status).toBe(404);
});

test('a request that is refused at the entry reaches no handler', async () => {
  const { ask, timed } = await start(THINGS, {
    enter() {
      throw new Problem('overloaded', 'full');
    },
  });
  expect((await ask('GET', '/things/1')).status).toBe(503);
  expect(timed).toEqual([]);
});

test('an unexpected error is logged as a bug, and its message is not shown', async () => {
  const { ask, lines } = await start([
    {
      ...answering('get', '/bug', 'bug'),
      async handle() {
        throw new Error('a secret');
      },
    },
  ]);
  const response = await ask('GET', '/bug');
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain('secret');
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['bug']);
});

test('the instance of a failed answer is in the log, with the client app, the code and the cause', async () => {
  const failing: Route = {
    method: 'get',
    path: '/fails',
    name: 'fails',
    async handle(_request, response) {
      setClient(response, 'app_1');
      throw new ServiceError('store-unavailable', 'Redis did not answer in time');
    },
  };
  const { ask, lines } = await start([failing], {
    sendProblem: (response, problem) =>
      response.status(problem.status).send(problemBody(problem, instanceOf(response))),
  });
  const answer = await ask('GET', '/fails');
  expect(answer.status).toBe(503);
  const { instance } = (await answer.json()) as { instance: string };
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({
      msg: 'request failed',
      instance: instance.replace('/requests/', ''),
      clientId: 'app_1',
      code: 'dependency-unavailable',
      cause: { code: 'store-unavailable', message: 'Redis did not answer in time' },
    }),
  ]);
  expect((await ask('GET', '/absent')).status).toBe(404);
  expect(lines).toHaveLength(1);
});

test('with the access log on each request has a line, without its query', async () => {
  const { ask, lines } = await start(THINGS, { logsAccess: true });
  await (await ask('GET', '/things/1?token=secret')).text();
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    msg: 'request',
    method: 'GET',
    route: 'read',
    path: '/things/1',
    status: '200',
  });
  expect(lines[0]).not.toContain('secret');
});
