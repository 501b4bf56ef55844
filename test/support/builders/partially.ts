type Partially<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends readonly unknown[]
    ? T
    : T extends object
      ? { readonly [Name in keyof T]?: Partially<T[Name]> }
      : T;

/**
 * An object of which only some members are there: those that the subject of a test uses. The others
 * are undefined.
 *
 * @example
 * makeHandlers(partially<Dependencies>({ accounts: { read: async () => account } }));
 */
export const partially = <T>(members: Partially<T>): T => members as T;
