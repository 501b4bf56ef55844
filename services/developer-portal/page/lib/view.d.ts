/** What the page uses of `htm/preact/standalone`, whose own declarations lack half of it. */
export type VNode = { readonly type: unknown; readonly props: object };
/** Something that a template takes: content, an attribute, or a handler. */
export type Value =
  | string
  | number
  | boolean
  | null
  | undefined
  | object
  // biome-ignore lint/suspicious/noExplicitAny: a handler takes the event of its element, or what its component passes.
  | ((...taken: any[]) => unknown);

type Context<T> = { readonly Provider: (props: { value: T }) => VNode };
type Effect = (() => undefined | (() => void)) | (() => void);
type Setter<S> = (next: S | ((last: S) => S)) => void;

export declare function html(strings: TemplateStringsArray, ...values: Value[]): VNode;
export declare function render(tree: VNode, parent: Element): void;
export declare function createContext<T>(initial: T): Context<T>;
export declare function useContext<T>(context: Context<T>): T;
export declare function useState<S>(): [S | undefined, Setter<S | undefined>];
export declare function useState<S>(initial: S | (() => S)): [S, Setter<S>];
export declare function useRef<T>(initial: T): { current: T };
export declare function useRef<T>(initial: null): { current: T };
export declare function useMemo<T>(make: () => T, inputs: readonly unknown[]): T;
export declare function useEffect(effect: Effect, inputs: readonly unknown[]): void;
export declare function useLayoutEffect(effect: Effect, inputs: readonly unknown[]): void;
export declare function useErrorBoundary(): [unknown, () => void];
