import type { Config } from '../../config.ts';
import { embeddedDemoIds } from './catalogue.ts';

/**
 * Printed after a start of the demo: addresses, the key, a one-time link to the dashboard while there is no user, and
 * three commands that work when pasted.
 */
export function printWelcome({ publicUrl }: Config, dashboardLink: string | null, write: (text: string) => void): void {
  const { key, sdkId } = embeddedDemoIds;
  write(`
Perkwire is ready at ${publicUrl}
  Demo shop ${publicUrl}/demo
  Dashboard ${dashboardLink ?? `${publicUrl}/dashboard`}${dashboardLink === null ? '' : '\n            (this link works once: it makes you the operator)'}
  API key   ${key}      (SDK id ${sdkId})
  API docs  ${publicUrl}/docs
  Webhooks  ${publicUrl}/demo/receiver

Try it. 1. Fetch offers, keep the answer; 2. fire the first offer's impression beacon; 3. confirm the perks:

curl -s '${publicUrl}/native/v4/offers.json?api_key=${key}' -H 'content-type: application/json' -d '{"placement":"checkout","pub_user_id":"user-1","first_name":"Ada"}' -o perkwire-offers.json
curl -s "$(grep -o '"pixel":"[^"]*' perkwire-offers.json | head -n 1 | cut -d '"' -f 4)" -o perkwire-pixel.png -w 'beacon: %{http_code}\\n'
curl -s "${publicUrl}/sdk/v4/usp/session/$(grep -o '"session_id":"[^"]*' perkwire-offers.json | cut -d '"' -f 4).json?api_key=${key}" -H 'content-type: application/json' -d '{"action":"wrap"}'

`);
}
