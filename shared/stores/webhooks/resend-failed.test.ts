import { ServiceError } from '#shared/errors.ts';
import { makeBulkResends } from './resend-webhooks.ts';

const PERIOD = { sinceMs: 0 };
const APP = { accountId: 'acc_1', clientId: 'app_1' };

test('an account without room is not charged for webhooks that were not sent', async () => {
  let charged = 0;
  const count = (sign: 1 | -1) => async (draws: readonly { readonly count?: number }[]) => {
    for (const draw of draws) charged += sign * (draw.count ?? 1);
  };
  const { send } = makeBulkResends({
    resends: {
      async resendFailed(_clientId, _sinceMs, { charge, requireRoom } = {}) {
        await charge?.(5);
        await requireRoom?.();
        return { count: 5 };
      },
    },
    throttle: { take: count(1), refund: count(-1) },
    requireRoom: () => Promise.reject(new ServiceError('bytes-exceeded', 'the bytes are used up')),
  });
  await expect(send(APP, PERIOD)).rejects.toMatchObject({ code: 'bytes-exceeded' });
  expect(charged).toBe(0);
});

test('webhooks are charged when it is not known whether they were sent', async () => {
  const refund = jest.fn(async () => undefined);
  const { send } = makeBulkResends({
    resends: {
      async resendFailed(_clientId, _sinceMs, { charge } = {}) {
        await charge?.(5);
        throw new ServiceError('publish-unknown', 'no answer');
      },
    },
    throttle: { take: async () => undefined, refund },
    requireRoom: async () => undefined,
  });
  await expect(send(APP, PERIOD)).rejects.toMatchObject({ code: 'publish-unknown' });
  expect(refund).not.toHaveBeenCalled();
});
