import type { Command } from 'commander';
import type { Watch } from '#shared/contracts/watches/watch.ts';
import { ServiceError } from '#shared/errors.ts';
import { adderTo, type Run } from '../command-line.ts';
import type { OpenSystem } from '../open-system.ts';

/** More than an app of any tier has. */
const LISTED_MAX = 10_000;

async function listWatches({ watches, watchWrites, clientApps }: OpenSystem, clientId: string) {
  if (!(await clientApps.read(clientId)))
    throw new ServiceError('not-found', `there is no client app ${clientId}`);
  const found = await watches.list(clientId, { countMax: LISTED_MAX });
  return watchWrites.presentMany(found);
}

async function readWatch({ watches }: OpenSystem, clientId: string, watchId: string): Promise<Watch> {
  const watch = await watches.read(clientId, watchId);
  if (!watch) throw new ServiceError('not-found', `the client app ${clientId} has no watch ${watchId}`);
  return watch;
}

/** The subcommands of `admin watch`. */
export function addWatches(program: Command, run: Run): void {
  const add = adderTo(program.command('watch').description('watches of client apps'), run);
  add('list <id>', "a client app's watches", listWatches);
  add(
    'show <id> <watchId>',
    'one watch: its state, held revocations, and how its contracts are followed',
    async (system, id: string, watchId: string) =>
      system.watchWrites.present(await readWatch(system, id, watchId)),
  );
  const act = (action: 'pause' | 'resume' | 'release', description: string) =>
    add(`${action} <id> <watchId>`, description, async (system, id: string, watchId: string) => {
      const { accountId } = await readWatch(system, id, watchId);
      const request = { clientId: id, accountId, watchId, actor: system.actor };
      return system.watchWrites.present(await system.watchWrites[action](request));
    });
  act('pause', 'check no members and send nothing until it is resumed');
  act('resume', 'check all members now, and continue');
  act('release', 'send the revocations that are held');
}
