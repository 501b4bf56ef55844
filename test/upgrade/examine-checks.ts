import assert from 'node:assert/strict';
import { checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { checkRequestedBulk } from '#shared/contracts/checks/check-requested.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type AcceptedCheck, bodyOf, showWebhook } from './fill-checks.ts';
import { assertGranted, type Scene, untilPolled, WAIT_MS_MAX } from './scene.ts';

/** A retry of the second tier is due after 72 s at the latest. */
const RETRY_WAIT_MS_MAX = 120_000;

export async function examineBacklog({ backlog, receivers, tally }: Scene): Promise<void> {
  for (const { app, mode, requestId } of backlog) {
    await tally.check(`a ${mode} check that nobody had evaluated has its result`, async () => {
      const polled = await untilPolled(app, requestId);
      assertGranted(polled);
      if (mode !== 'webhook') return;
      const { body } = await receivers.healthy.waitFor(
        (webhook) => webhook.requestId === requestId,
        WAIT_MS_MAX,
      );
      assert.equal(body, polled);
    });
  }
}

export async function examineDeadLetters({ system, checks, tally }: Scene): Promise<void> {
  const list = async (topic: string) => {
    const { value } = await system.admin('dead-letter', 'list', topic);
    return (value as { key: string; error: { code: string } }[]).map(
      ({ key, error }) => `${key} ${error.code}`,
    );
  };
  const redrive = async (topic: string) => (await system.admin('dead-letter', 'redrive', topic)).value;
  const { poisoned, failed, unstored } = checks;
  const idsOf = (records: readonly AcceptedCheck[]) => records.map(({ requestId }) => requestId);
  await tally.check('dead-lettered requests are listed', async () =>
    assert.deepEqual(
      (await list(checkRequestedBulk.name)).sort(),
      [
        ...poisoned.map((key) => `${key} message-unreadable`),
        ...idsOf(failed).map((id) => `${id} handler-failed`),
      ].sort(),
    ),
  );
  await tally.check('dead-lettered results are listed', async () =>
    assert.deepEqual(
      (await list(checkCompleted.name)).sort(),
      idsOf(unstored)
        .map((id) => `${id} handler-failed`)
        .sort(),
    ),
  );
  await tally.check('dead-lettered results are redriven', async () =>
    assert.deepEqual(await redrive(checkCompleted.name), { count: unstored.length, skipped: 0 }),
  );
  for (const { app, requestId } of unstored)
    await tally.check('a redriven result is stored', async () =>
      assertGranted(await untilPolled(app, requestId)),
    );
  await tally.check('a redrive skips checks that have their result', async () =>
    assert.deepEqual(await redrive(checkRequestedBulk.name), {
      count: poisoned.length,
      skipped: failed.length,
    }),
  );
  await tally.check('unreadable records are dead-lettered again', () =>
    waitUntil(
      'them in the list',
      async () => {
        const keys = (await list(checkRequestedBulk.name)).map((line) => line.split(' ')[0] ?? '');
        return poisoned.every((key) => keys.includes(key));
      },
      WAIT_MS_MAX,
    ),
  );
}

export async function examineRetries({ checks, receivers, open, tally }: Scene): Promise<void> {
  for (const { requestId, text, attempts = 0 } of checks.retrying)
    await tally.check('a pending retry is delivered, with the same id and bytes as before', async () => {
      const delivered = await receivers.failing.waitFor(
        (webhook) => webhook.requestId === requestId && webhook.status === 204,
        RETRY_WAIT_MS_MAX,
      );
      assert.equal(delivered.body, text);
      assert.equal(delivered.verified, true);
      assert.equal(delivered.attempt, attempts + 1);
      const before = receivers.failing.deliveries.filter((webhook) => webhook.requestId === requestId);
      assert.equal(new Set(before.map(({ id }) => id)).size, 1);
      await waitUntil(
        'its state',
        async () => (await open.deliveries.read(requestId))?.state === 'delivered',
        WAIT_MS_MAX,
      );
      assert.equal((await open.deliveries.read(requestId))?.attempts.length, attempts + 1);
    });
}

export async function examineDeliveries({ system, checks, receivers, tally }: Scene): Promise<void> {
  for (const { app, mode, requestId } of checks.finished)
    if (mode === 'webhook')
      await tally.check(`the delivery to ${app.name} is shown as delivered, and was made once`, async () => {
        const { state, attempts } = await showWebhook(system, requestId);
        assert.deepEqual([state, attempts.length], ['delivered', 1]);
        const copies = receivers.healthy.deliveries.filter((webhook) => webhook.requestId === requestId);
        assert.equal(copies.length, 1);
      });
  receivers.gone.setAnswer(204);
  for (const { requestId, text } of checks.stopped)
    await tally.check('a stopped delivery is resent, with the same bytes', async () => {
      assert.equal((await system.admin('webhook', 'resend', requestId)).exitCode, 0);
      const { body } = await receivers.gone.waitFor(
        (one) => one.requestId === requestId && one.status === 204,
      );
      assert.equal(body, text);
    });
}

export async function examineIdempotency({ system, checks: { idempotent }, tally }: Scene): Promise<void> {
  const { app, key, requestId } = idempotent;
  await tally.check('an idempotency key is answered with the check that it began', async () => {
    const answer = await app.client.check(bodyOf(system, { mode: 'poll' }), { 'idempotency-key': key });
    assert.equal(answer.body.requestId, requestId);
  });
  await tally.check('an idempotency key is refused with another body', async () => {
    const body = bodyOf(system, { mode: 'poll', roleId: 'other' });
    const answer = await app.client.check(body, { 'idempotency-key': key });
    assert.equal(answer.body.code, 'idempotency-key-reused');
  });
}
