import type { Config } from '../config.ts';
import { embeddedDemoIds } from './catalogue.ts';

/** Link to the dashboard if no user exists yet, the output function, and whether to print JSON instead of text. */
type WelcomeOptions = { dashboardLink: string | null; isJson: boolean; write: (text: string) => void };

/**
 * Prints the welcome text of the demo: URLs, the API key, four commands to paste and, if no user exists yet, a one-time
 * link to the dashboard.
 */
export function printWelcome({ publicUrl }: Config, { dashboardLink, isJson, write }: WelcomeOptions): void {
  const { key, sdkId } = embeddedDemoIds;
  if (isJson) {
    const dashboard_url = dashboardLink ?? `${publicUrl}/dashboard`;
    write(`${JSON.stringify({ msg: 'welcome', url: publicUrl, dashboard_url, api_key: key, sdk_id: sdkId })}\n`);
    return;
  }
  const dashboard =
    dashboardLink === null
      ? `${publicUrl}/dashboard`
      : `${dashboardLink}\n            (one-time link that creates your operator account)`;
  write(`
Perkwire is ready at ${publicUrl}
  Demo shop ${publicUrl}/demo
  Dashboard ${dashboard}
  API key   ${key}      (SDK ID ${sdkId})
  API docs  ${publicUrl}/docs
  Webhooks  ${publicUrl}/demo/receiver

These commands fetch offers, fire the first offer's impression beacon, select the offer and confirm the selection:

${tryCommands(publicUrl, key).join('\n')}

`);
}

function tryCommands(publicUrl: string, key: string): string[] {
  const json = "-H 'content-type: application/json'";
  const user = '{"placement":"checkout","pub_user_id":"user-1","first_name":"Ada"}';
  const query = `api_key=${key}&pub_user_id=user-1`;
  const fieldOf = (field: string): string => `grep -o '"${field}":"[^"]*' perkwire-offers.json`;
  const pixelUrl = `$(${fieldOf('pixel')} | head -n 1 | cut -d '"' -f 4)`;
  const sessionId = `$(${fieldOf('session_id')} | cut -d '"' -f 4)`;
  const campaignId = '$(grep -o \'"campaign_id":[0-9]*\' perkwire-offers.json | head -n 1 | cut -d : -f 2)';
  return [
    `curl -s '${publicUrl}/native/v4/offers.json?api_key=${key}' ${json} -d '${user}' -o perkwire-offers.json`,
    // Set a user agent, because the service treats curl's default as a bot.
    `curl -s -A 'Shop/1.0' "${pixelUrl}" -o perkwire-pixel.png -w 'beacon: %{http_code}\\n'`,
    `curl -s -X POST "${publicUrl}/sdk/v4/usp/${sessionId}/${campaignId}/select.json?${query}"`,
    `curl -s "${publicUrl}/sdk/v4/usp/session/${sessionId}.json?api_key=${key}" ${json} -d '{"action":"wrap"}'`,
  ];
}
