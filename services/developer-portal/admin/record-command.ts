import type { Command } from 'commander';
import { OPERATORS } from '#shared/contracts/apps/audit.ts';
import { accountIdOf } from '../features/apps/credentials.ts';
import type { OpenSystem } from './open-system.ts';

/** Groups of commands that show and change the system's parts, and no customer's data. */
const OF_THE_SYSTEM: ReadonlySet<string> = new Set(['status', 'topics', 'store', 'chains', 'audit']);
const ADDRESS = /^[^\s@]+@[^\s@]+$/;

/** The words of a command, such as `key list`, and what it was about: addresses as account ids. */
function describeCommand(command: Command): { words: string[]; about: string[] } {
  const words: string[] = [];
  for (let one: Command | null = command; one?.parent; one = one.parent) words.unshift(one.name());
  const { account } = command.opts<{ account?: string }>();
  const given = [...command.args, ...(account === undefined ? [] : [account])];
  return { words, about: given.map((text) => (ADDRESS.test(text) ? accountIdOf(text) : text)) };
}

/**
 * Records a command that recorded nothing itself: it read customers' data, or changed what has no
 * entry of its own.
 */
export async function recordCommand(
  { clientApps, writes, actor, hasRecorded }: OpenSystem,
  command: Command,
): Promise<void> {
  const { words, about } = describeCommand(command);
  if (hasRecorded() || OF_THE_SYSTEM.has(words[0] ?? '')) return;
  const clientId = about.find((text) => text.startsWith('app_'));
  const app = clientId === undefined ? undefined : await clientApps.read(clientId);
  const accountId = app?.accountId ?? about.find((text) => text.startsWith('acc_')) ?? OPERATORS;
  await writes.record({
    accountId,
    ...(app && { clientId: app.clientId }),
    actor,
    action: 'command-run',
    subject: [...words, ...about].join(' '),
    kind: 'read',
  });
}
