import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';
import { waitUntil } from '../wait-until.ts';
import { awaitNewDay } from './await-new-day.ts';
import { recordTimers } from './open-timers.ts';

/**
 * How long resources may take to be gone after a suite has closed them. A busy machine may take
 * long, and kafkajs waits 30 s for an answer that does not come any more.
 */
const CLOSING_TIMEOUT_MS = 120_000;

type Options = ConstructorParameters<typeof TestEnvironment>;
type Base = InstanceType<typeof TestEnvironment>;

/** The context of all suites of this worker, which run one after the other: so packages are loaded
 * once (`shared-packages-runtime.mjs`). */
let shared: ReturnType<typeof openContext> | undefined;

function openContext(options: Options) {
  const { createContext } = vm;
  // In jest's own context every use of a global, such as `Math`, goes through a proxy. A plain
  // context saves a quarter of the CPU of the unit tests.
  vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
  try {
    const base = new TestEnvironment(...options);
    const { global } = base;
    // swc's code for `using` refers to this name and declares it under another one.
    Object.assign(global, { _SuppressedError: SuppressedError });
    return {
      base,
      names: new Set(Reflect.ownKeys(global)),
      exit: global.process.exit,
      env: { ...global.process.env },
    };
  } finally {
    vm.createContext = createContext;
  }
}

/** Fails a suite that leaves a resource open, which would keep its process from ending. */
export default class Environment {
  readonly global: Base['global'];
  readonly moduleMocker: Base['moduleMocker'];
  readonly fakeTimers: Base['fakeTimers'];
  readonly fakeTimersModern: Base['fakeTimersModern'];
  readonly #context: NonNullable<typeof shared>;
  #before: readonly string[] = [];
  readonly #isUnit: boolean;
  #timers: ReturnType<typeof recordTimers> | undefined;

  constructor(...options: Options) {
    shared ??= openContext(options);
    this.#context = shared;
    const { global, moduleMocker, fakeTimers, fakeTimersModern } = shared.base;
    this.global = global;
    this.moduleMocker = moduleMocker;
    this.fakeTimers = fakeTimers;
    this.fakeTimersModern = fakeTimersModern;
    this.#isUnit = options[0].projectConfig.displayName?.name === 'unit';
  }

  getVmContext() {
    return this.#context.base.getVmContext();
  }

  exportConditions(): string[] {
    return this.#context.base.exportConditions();
  }

  async setup(): Promise<void> {
    // Unit tests set their own clock.
    if (!this.#isUnit) await awaitNewDay();
    // Opened at their first use, which may be a warning in the middle of a suite; from then on each
    // is an open pipe.
    void [process.stdout, process.stderr];
    this.#before = process.getActiveResourcesInfo();
    // They also make so many timers that recording them takes a tenth of their CPU time.
    if (!this.#isUnit) this.#timers = recordTimers();
  }

  /** Leaves the context to the next suite as this one has found it. */
  async teardown(): Promise<void> {
    this.#timers?.stop();
    this.moduleMocker?.restoreAllMocks();
    this.fakeTimersModern?.useRealTimers();
    const { names, exit, env } = this.#context;
    for (const name of Reflect.ownKeys(this.global))
      if (!names.has(name)) Reflect.deleteProperty(this.global, name);
    // Jest wraps it for each suite.
    this.global.process.exit = exit;
    for (const name of Object.keys(this.global.process.env)) delete this.global.process.env[name];
    Object.assign(this.global.process.env, env);
  }

  /** After the last `afterAll`, so that the report is beside the results of the tests. */
  async handleTestEvent(
    { name }: { readonly name: string },
    state: { readonly unhandledErrors: unknown[] },
  ): Promise<void> {
    if (name !== 'run_finish') return;
    const before = this.#before;
    await waitUntil('the end', () => leftOpen(before).length === 0, CLOSING_TIMEOUT_MS).catch(() => {
      const left = [leftOpen(before).join(', '), ...(this.#timers?.open() ?? [])].join('\n');
      state.unhandledErrors.push(new Error(`The suite leaves open: ${left}`));
    });
  }
}

/** The kinds of resources that are open now and were not before. */
function leftOpen(before: readonly string[]): string[] {
  const known = [...before];
  return process.getActiveResourcesInfo().filter((kind) => {
    const index = known.indexOf(kind);
    if (index >= 0) known.splice(index, 1);
    return index < 0;
  });
}
