import { ask } from '../../lib/api.js';
import { useSession } from '../../lib/session.js';
import { toast } from '../../ui/toasts.js';

/** Returns the function that ends the session, on the server and on the page. */
export function useSignOut() {
  const { leave } = useSession();
  return async () => {
    try {
      await ask('POST', '/api/sign-out');
    } catch (error) {
      if (error.code !== 'session-missing') return toast(error.message, 'bad');
    }
    leave();
  };
}
