import { toast } from '../ui/toasts.ts';
import { type Account, type App, ask } from './api.ts';
import { createContext, useContext } from './html.ts';

/** The signed-in account. `signIns` counts how often they have signed in on this page: resources
 * refused in between are read again. */
type SignedIn = { account: Account; signIns: number; reload: () => Promise<void>; leave: () => void };
export const Session = createContext<SignedIn | undefined>(undefined);
/** Of a page that only a signed-in account sees. */
export const useSession = () => useContext(Session) as SignedIn;

/** Whether the signed-in operator may change something; the server decides. */
export const useMayChange = () => useSession().account.operatorRights === 'change';

/** The client app that the current page is about, and the path of its pages. `may('createKey')`
 * tells whether the server allows an operation to the account; it decides, and the pages show only
 * allowed operations. */
type OpenApp = {
  app: App;
  clientId: string;
  base: string;
  reload: () => void;
  may: (operation: string) => boolean;
};
export const CurrentApp = createContext<OpenApp | undefined>(undefined);
/** Of a page of an app. */
export const useApp = () => useContext(CurrentApp) as OpenApp;

/** Returns the function that ends the session, on the server and on the page. */
export function useSignOut() {
  const { leave } = useSession();
  return async () => {
    try {
      await ask('POST /api/sign-out');
    } catch (error) {
      if (error.code !== 'session-missing') return toast(error.message, 'bad');
    }
    leave();
  };
}

/** API keys that were made since the page was loaded, so that they can be tried without pasting
 * them. In memory only: they are gone with the tab. */
export const keptKeys = new Map<string, string>();

/** Tells the other tabs of this browser who is signed in. */
const channel = new BroadcastChannel('rolecall-session');

/** @param accountId of the signed-in account */
export const tellOtherTabs = (accountId: string | null) => channel.postMessage({ accountId });

/**
 * Watches what else changes the session, as long as the tab is there.
 * @param onAccountChange gets what another tab announces
 * @param onShown called when this tab is shown again, also when the browser brings it back as it was
 *   left
 */
export function watchOtherTabs(onAccountChange: (accountId: string | null) => void, onShown: () => void) {
  channel.addEventListener('message', ({ data }) => onAccountChange(data.accountId));
  document.addEventListener('visibilitychange', () => document.hidden || onShown());
  addEventListener('pageshow', ({ persisted }) => persisted && onShown());
}
