import { TestEnvironment } from 'jest-environment-node';
import { waitUntil } from '../wait-until.ts';

/** How long what a suite has closed may take to be gone. */
const CLOSING_TIMEOUT_MS = 30_000;

/** A suite fails, by name, where it leaves anything behind that would keep its process from ending. */
export default class Environment extends TestEnvironment {
  #before: readonly string[] = [];

  override async setup(): Promise<void> {
    await super.setup();
    this.#before = process.getActiveResourcesInfo();
  }

  /** After the last `afterAll`, where what is reported stands beside the results of the tests. */
  async handleTestEvent(
    { name }: { readonly name: string },
    state: { readonly unhandledErrors: unknown[] },
  ): Promise<void> {
    if (name !== 'run_finish') return;
    const before = this.#before;
    await waitUntil('the end', () => leftOpen(before).length === 0, CLOSING_TIMEOUT_MS).catch(() => {
      state.unhandledErrors.push(new Error(`The suite leaves open: ${leftOpen(before).join(', ')}`));
    });
  }
}

/** Of each kind of resource, those beyond what was there before. */
function leftOpen(before: readonly string[]): string[] {
  const known = [...before];
  return process.getActiveResourcesInfo().filter((kind) => {
    const place = known.indexOf(kind);
    if (place >= 0) known.splice(place, 1);
    return place < 0;
  });
}
