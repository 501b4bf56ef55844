import { createContext, useContext } from './html.js';

/** `{ account, reload, leave }` of whoever is signed in. */
export const Session = createContext(undefined);
export const useSession = () => useContext(Session);

/** The client app that the current page is about: `{ app, reload }`. */
export const CurrentApp = createContext(undefined);
export const useApp = () => useContext(CurrentApp);
