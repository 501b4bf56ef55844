import { SHARED_SYSTEM } from '../systems/shared-system.ts';
import { askForPart } from './ask-for-part.ts';
import Environment from './environment.ts';

/** Tells a suite where the system is that it shares with the others of its worker. */
export default class SharedSystemEnvironment extends Environment {
  override async setup(): Promise<void> {
    // First, since where jest runs in one process the system is a resource of it.
    const facts = await askForPart('system');
    await super.setup();
    this.global.process.env[SHARED_SYSTEM] = facts;
  }
}
