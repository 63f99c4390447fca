import type { Config } from '../../config.ts';
import { embeddedDemoIds } from './catalogue.ts';

/**
 * Printed after a start of the demo: addresses, the key, a one-time link to the dashboard while there is no user, and
 * three commands that work when pasted.
 */
export function printWelcome({ publicUrl }: Config, dashboardLink: string | null, write: (text: string) => void): void {
  const { key, sdkId } = embeddedDemoIds;
  const dashboard =
    dashboardLink === null
      ? `${publicUrl}/dashboard`
      : `${dashboardLink}\n            (this link works once: it makes you the operator)`;
  write(`
Perkwire is ready at ${publicUrl}
  Demo shop ${publicUrl}/demo
  Dashboard ${dashboard}
  API key   ${key}      (SDK id ${sdkId})
  API docs  ${publicUrl}/docs
  Webhooks  ${publicUrl}/demo/receiver

Try it. 1. Fetch offers, keep the answer; 2. fire the first offer's impression beacon; 3. confirm the perks:

${tryCommands(publicUrl, key).join('\n')}

`);
}

function tryCommands(publicUrl: string, key: string): string[] {
  const json = "-H 'content-type: application/json'";
  const user = '{"placement":"checkout","pub_user_id":"user-1","first_name":"Ada"}';
  const fieldOf = (field: string): string => `grep -o '"${field}":"[^"]*' perkwire-offers.json`;
  const pixelUrl = `$(${fieldOf('pixel')} | head -n 1 | cut -d '"' -f 4)`;
  const sessionId = `$(${fieldOf('session_id')} | cut -d '"' -f 4)`;
  return [
    `curl -s '${publicUrl}/native/v4/offers.json?api_key=${key}' ${json} -d '${user}' -o perkwire-offers.json`,
    `curl -s "${pixelUrl}" -o perkwire-pixel.png -w 'beacon: %{http_code}\\n'`,
    `curl -s "${publicUrl}/sdk/v4/usp/session/${sessionId}.json?api_key=${key}" ${json} -d '{"action":"wrap"}'`,
  ];
}
