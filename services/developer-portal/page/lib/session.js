import { createContext, useContext } from './html.js';

/**
 * `{ account, signIns, reload, leave }` of the signed-in account. `signIns` counts how often they have signed in on this
 * page: resources refused in between are read again.
 */
export const Session = createContext(undefined);
export const useSession = () => useContext(Session);

/**
 * The client app that the current page is about: `{ app, base, api, reload, may }`. `may('createKey')` tells whether the
 * server allows an operation to the account; it decides, and the pages show only allowed operations.
 */
export const CurrentApp = createContext(undefined);
export const useApp = () => useContext(CurrentApp);
