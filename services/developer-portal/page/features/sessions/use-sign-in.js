import { ask } from '../../lib/api.js';
import { useState } from '../../lib/html.js';
import { useSubmit } from '../../lib/use-submit.js';

/**
 * A form that signs in. For an account with a second factor, a second step asks for its code.
 *
 * @param makeCredentials `(values) => { email, password }`, and may do something first
 * @returns the form, and `needsCode` once the password was right and the code is missing
 */
export function useSignIn(makeCredentials, onSignedIn) {
  const [needsCode, setNeedsCode] = useState(false);
  const send = async (values) => {
    const { code } = values;
    const body = { ...(await makeCredentials(values)), ...(code && { code }) };
    return ask('POST', '/api/sign-in', { body }).catch((error) => {
      if (error.code === 'code-required') return undefined;
      throw error;
    });
  };
  const form = useSubmit(send, (answer) => (answer ? onSignedIn(answer.account) : setNeedsCode(true)));
  return { form, needsCode };
}
