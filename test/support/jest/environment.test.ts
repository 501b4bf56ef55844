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
