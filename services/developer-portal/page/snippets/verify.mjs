import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.WEBHOOK_SECRET); // whsec_…

/**
 * Checks signature and age, then parses. Throws if the message is not Rolecall's.
 * `body` is the raw text of the request, `headers` its headers in lower case.
 */
export function verify(body, headers) {
  return webhook.verify(body, headers);
}

// In Express:
// const raw = express.text({ type: 'application/json', limit: '4mb' });
// app.post('/hooks', raw, (request, response) => {
//   const result = verify(request.body, request.headers);
//   response.sendStatus(204);
// });
