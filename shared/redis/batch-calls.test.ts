import { ServiceError } from '#shared/errors.ts';
import { batchCalls } from './batch-calls.ts';

/** A Redis that answers when the test says so. */
function makeHeldAsk() {
  const calls: { questions: readonly number[]; answer: (answers: (number | ServiceError)[]) => void }[] = [];
  const ask = (questions: readonly number[]) =>
    new Promise<(number | ServiceError)[]>((answer) => calls.push({ questions, answer }));
  return { calls, ask };
}

const aTurn = () => new Promise((resolve) => setImmediate(resolve));

describe('batched calls', () => {
  it('are sent together with all calls of the same event-loop tick', async () => {
    const { calls, ask } = makeHeldAsk();
    const call = batchCalls(10, ask);
    const both = Promise.all([call(1), call(2)]);
    await aTurn();
    expect(calls.map(({ questions }) => questions)).toEqual([[1, 2]]);
    calls[0]?.answer([10, 20]);
    await expect(both).resolves.toEqual([10, 20]);
  });

  it('wait while one is unanswered, then go in order and no more than the bound at once', async () => {
    const { calls, ask } = makeHeldAsk();
    const call = batchCalls(2, ask);
    const first = call(1);
    await aTurn();
    const others = Promise.all([call(2), call(3), call(4)]);
    await aTurn();
    expect(calls).toHaveLength(1);
    calls[0]?.answer([10]);
    await first;
    await aTurn();
    calls[1]?.answer([20, 30]);
    await aTurn();
    await aTurn();
    calls[2]?.answer([40]);
    await expect(others).resolves.toEqual([20, 30, 40]);
    expect(calls.map(({ questions }) => questions)).toEqual([[1], [2, 3], [4]]);
  });

  it('are no larger together than the bound, and a larger one goes alone', async () => {
    const sent: (readonly number[])[] = [];
    const ask = async (sizes: readonly number[]) => {
      sent.push(sizes);
      return sizes;
    };
    const call = batchCalls(10, ask, { sizeOf: (size: number) => size, sizeMax: 10 });
    const sizes = [4, 6, 1, 11, 3, 7];
    await expect(Promise.all(sizes.map(call))).resolves.toEqual(sizes);
    expect(sent).toEqual([[4, 6], [1], [11], [3, 7]]);
  });

  it('fail alone if their answer is an error, and together if the call fails', async () => {
    const broken = new ServiceError('store-unavailable', 'a broken key');
    const call = batchCalls(10, async (questions: readonly number[]) => {
      if (questions.includes(0)) throw new ServiceError('view-rebuilding', 'no view');
      return questions.map((question) => (question === 1 ? broken : question));
    });
    await expect(Promise.allSettled([call(1), call(2)])).resolves.toMatchObject([
      { reason: { code: 'store-unavailable' } },
      { value: 2 },
    ]);
    await expect(Promise.allSettled([call(0), call(2)])).resolves.toMatchObject([
      { reason: { code: 'view-rebuilding' } },
      { reason: { code: 'view-rebuilding' } },
    ]);
  });

  it('end within the time of a command although an earlier one is never answered', async () => {
    const call = batchCalls(1, () => new Promise<number[]>(() => undefined));
    const ends = await Promise.allSettled([call(1), call(2), call(3)]);
    expect(ends).toMatchObject(Array.from({ length: 3 }, () => ({ reason: { code: 'store-unavailable' } })));
  });
});
