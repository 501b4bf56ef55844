import type { LogPosition, LogPositionChange } from '#shared/stores/watches/log-positions.ts';
import type { LogWindow, WindowBlock } from './log-window.ts';

export type SavedWindowOptions = {
  readonly load: () => Promise<LogPosition | undefined>;
  /** `false` if another process follows the chain now. */
  readonly save: (change: LogPositionChange) => Promise<boolean>;
};

/** The window in Redis; each save writes only the changes. */
export class SavedWindow {
  readonly #options: SavedWindowOptions;
  /** The text of each block as it was saved. */
  readonly #blocks = new Map<number, string>();
  #window: LogWindow | undefined;

  constructor(options: SavedWindowOptions) {
    this.#options = options;
  }

  /** The window that was saved last, by this process or the one before; `undefined`: none. */
  async load(): Promise<{ window: LogWindow; gaps: readonly string[] } | undefined> {
    if (this.#window !== undefined) return { window: this.#window, gaps: [] };
    const saved = await this.#options.load();
    if (saved === undefined) return undefined;
    for (const [number, text] of saved.blocks) this.#blocks.set(number, text);
    const blocks = new Map([...saved.blocks].map(([number, text]) => [number, parseBlock(text)]));
    const { since, settledTo, readTo } = saved;
    this.#window = { since, settledTo, readTo, blocks };
    return { window: this.#window, gaps: saved.gaps };
  }

  /** Saves a window; of its new transfers only the watched ones. */
  async save(
    window: LogWindow,
    watchedNames: ReadonlySet<string>,
    gaps: ReadonlySet<string>,
  ): Promise<boolean> {
    const changes = new Map<number, string | undefined>();
    for (const number of this.#blocks.keys()) if (!window.blocks.has(number)) changes.set(number, undefined);
    for (const [number, block] of window.blocks) {
      const saved = this.#blocks.get(number);
      if (saved !== undefined && this.#window?.blocks.get(number) === block) continue;
      const text = formatBlock(block, watchedNames, saved);
      if (text !== saved) changes.set(number, text);
    }
    const { since, settledTo, readTo } = window;
    const isMine = await this.#options.save({ since, settledTo, readTo, blocks: changes, gaps: [...gaps] });
    if (!isMine) return false;
    for (const [number, text] of changes)
      if (text === undefined) this.#blocks.delete(number);
      else this.#blocks.set(number, text);
    this.#window = window;
    return true;
  }
}

function parseBlock(text: string): WindowBlock {
  const [hash = '', ...transfers] = text.split(' ');
  return { hash, transfers: new Set(transfers) };
}

/** The block as it is saved: of the transfers those that are watched, and those that were when it
 * was saved before. */
function formatBlock(
  { hash, transfers }: WindowBlock,
  watchedNames: ReadonlySet<string>,
  saved: string | undefined,
): string {
  const [savedHash, ...savedNames] = saved?.split(' ') ?? [];
  const kept = savedHash === hash ? new Set(savedNames) : new Set();
  return [hash, ...[...transfers].filter((name) => watchedNames.has(name) || kept.has(name))].join(' ');
}
