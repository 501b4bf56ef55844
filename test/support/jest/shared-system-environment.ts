import { SHARED_SYSTEM } from '../systems/shared-system.ts';
import { borrowPart, returnPart } from './borrow-part.ts';
import Environment from './environment.ts';

/** Tells a suite where the system is that it shares with others, one suite after the other. */
export default class SharedSystemEnvironment extends Environment {
  override async setup(): Promise<void> {
    // First, since where jest runs in one process the system is a resource of it.
    const facts = await borrowPart('system');
    await super.setup();
    this.global.process.env[SHARED_SYSTEM] = facts;
  }

  override async teardown(): Promise<void> {
    await super.teardown();
    await returnPart('system');
  }
}
