import { toast } from '../ui/toasts.js';
import { ask } from './api.js';
import { createContext, useContext } from './html.js';

/** @import { Account, App } from './types.ts' */

/**
 * The signed-in account. `signIns` counts how often they have signed in on this page: resources
 * refused in between are read again.
 * @typedef {{ account: Account, signIns: number, reload: () => Promise<void>, leave: () => void }}
 *   SignedIn
 */
export const Session = createContext(/** @type {SignedIn | undefined} */ (undefined));
/** Of a page that only a signed-in account sees. */
export const useSession = () => /** @type {SignedIn} */ (useContext(Session));

/** Whether the signed-in operator may change something; the server decides. */
export const useMayChange = () => useSession().account.operatorRights === 'change';

/**
 * The client app that the current page is about, and the path of its pages. `may('createKey')`
 * tells whether the server allows an operation to the account; it decides, and the pages show only
 * allowed operations.
 * @typedef {{ app: App, clientId: string, base: string, reload: () => void }} ReadApp
 * @typedef {ReadApp & { may: (operation: string) => boolean }} OpenApp
 */
export const CurrentApp = createContext(/** @type {OpenApp | undefined} */ (undefined));
/** Of a page of an app. */
export const useApp = () => /** @type {OpenApp} */ (useContext(CurrentApp));

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

/**
 * API keys that were made since the page was loaded, so that they can be tried without pasting
 * them. In memory only: they are gone with the tab.
 * @type {Map<string, string>}
 */
export const keptKeys = new Map();

/**
 * Tells the other tabs of this browser who is signed in; a browser without channels looks when a
 * tab is shown again.
 */
const channel =
  typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('rolecall-session');

/** @param {string | null} accountId of the signed-in account */
export const tellOtherTabs = (accountId) => channel?.postMessage({ accountId });

/**
 * Watches what else changes the session. Returns the function that stops it.
 * @param {object} listeners
 * @param {(accountId: string | null) => void} listeners.onAccountChange gets what another tab
 *   announces
 * @param {() => void} listeners.onShown called when this tab is shown again, also when the browser
 *   brings it back as it was left
 */
export function watchOtherTabs({ onAccountChange, onShown }) {
  /** @param {MessageEvent} event */
  const accountChanged = ({ data }) => onAccountChange(data.accountId);
  const shown = () => document.visibilityState === 'visible' && onShown();
  /** @param {PageTransitionEvent} event */
  const restored = ({ persisted }) => persisted && onShown();
  channel?.addEventListener('message', accountChanged);
  document.addEventListener('visibilitychange', shown);
  addEventListener('pageshow', restored);
  return () => {
    channel?.removeEventListener('message', accountChanged);
    document.removeEventListener('visibilitychange', shown);
    removeEventListener('pageshow', restored);
  };
}
