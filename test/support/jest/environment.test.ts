import Environment from './environment.ts';

test('a failure is shown beside the failure of what was closed after it', async () => {
  const failing = async () => {
    await using stack = new AsyncDisposableStack();
    stack.defer(() => {
      throw new Error('while closing');
    });
    throw new Error('of the test');
  };
  const errors = await failing().catch((error: SuppressedError) => [error.error, error.suppressed]);
  expect(errors).toEqual(expect.arrayContaining([new Error('of the test'), new Error('while closing')]));
});

test('a suite leaves no spy, global or variable of the environment to the next one', async () => {
  const config = { testEnvironmentOptions: {}, fakeTimers: {}, globals: {} };
  const suite = new Environment({ projectConfig: config, globalConfig: {} } as never, {} as never);
  const { global, moduleMocker } = suite;
  const { random } = global.Math;
  moduleMocker?.spyOn(global.Math, 'random').mockReturnValue(0);
  Object.assign(global, { left: 1 });
  Object.assign(global.process.env, { LEFT: '1' });
  await suite.teardown();
  expect([global.Math.random, 'left' in global, global.process.env['LEFT']]).toEqual([
    random,
    false,
    undefined,
  ]);
});
