/** Tells the other tabs of this browser who is signed in; a browser without channels looks when a tab is shown again. */
const channel =
  typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('rolecall-session');

/** `accountId` of the signed-in account, or null. */
export const tellOtherTabs = (accountId) => channel?.postMessage({ accountId });

/**
 * Calls `onAccountChange` with the account id that another tab announces, and `onShown` when this tab is shown again, also
 * when the browser brings it back as it was left. Returns the function that stops it.
 */
export function watchOtherTabs({ onAccountChange, onShown }) {
  const accountChanged = ({ data }) => onAccountChange(data.accountId);
  const shown = () => document.visibilityState === 'visible' && onShown();
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
