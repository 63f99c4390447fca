import type { Publisher } from '../../../catalog/snapshot/types.ts';
import type { LiveCall } from '../../../offers/live-calls/live-calls.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { link } from '../../shell/components.ts';
import { publisherPath } from '../../shell/context.ts';

type Advice = (path: (rest: string) => string) => Html;

const keys: Advice = (path) =>
  html`Give the key this permission, or use another one: ${link(path('/settings/keys'), 'API keys')}.`;
const enable =
  (what: string): Advice =>
  (path) =>
    html`Switch ${what} on in the ${link(path('/settings'), 'settings')}, or do not make this call.`;
const send =
  (text: string): Advice =>
  () =>
    html`${text}`;
const session = send('Use the session_id of the last answer of fetch-offers, with the same key or account.');

/** What to do about a refusal, by the code of its error. */
const byCode: Readonly<Record<string, Advice>> = {
  missing_placement: send(
    'Send "placement", the name of the page or screen where the unit stands, such as "checkout".',
  ),
  pub_user_id_is_pii: send(
    'Send an id of your own for the user, such as its row’s number; never an address or a phone number.',
  ),
  pub_user_id_required: send('Send the "pub_user_id" that the fetch was made with.'),
  malformed_json: send('Send valid JSON; strings that are put together by hand often lack a quote.'),
  unsupported_media_type: send('Send the header “content-type: application/json”.'),
  body_too_large: send('Send fewer or shorter attributes.'),
  permission_denied: keys,
  usp_not_enabled: enable('User Selected Perks'),
  wallet_not_enabled: enable('the wallet'),
  offerwall_not_enabled: enable('the offerwall'),
  session_not_found: session,
  session_expired: session,
  session_wrapped: send('The perks of this session are confirmed; a new choice needs a new fetch.'),
  campaign_not_in_session: send('Use a campaign_id of the offers that this session’s answer had.'),
  too_many_requests: (path) =>
    html`Wait as long as “retry-after” says, or raise the key’s limit: ${link(path('/settings/keys'), 'API keys')}.`,
  unavailable: send('Nothing to change: call again after “retry-after”.'),
  internal: send('Nothing to change here: tell the operator the request_id of the answer.'),
};

/** What to do about what was ignored or dropped, by its field. */
const byField: Readonly<Record<string, Advice>> = {
  '/country': send('Send the country as two or three letters, such as “DE”.'),
  '/themeId': (path) => html`Use the id or the key of a theme: ${link(path('/settings/themes'), 'Themes')}.`,
};

/** Each field or reason that a call was refused or changed for, with what to do about it. */
export function adviceOf({ error, notes }: LiveCall, { id }: Publisher): Html[] {
  const path = (rest: string): string => publisherPath(id, rest);
  const noted = notes.map((note) => html`${fieldText(note)} ${byField[note.path]?.(path)}`);
  if (error === null) return noted;
  const fields = (error.details ?? []).map(fieldText);
  const what = byCode[error.code]?.(path);
  return [...fields, ...(what === undefined ? [] : [what]), ...noted];
}

const fieldText = ({ path, message }: { path: string; message: string }): Html =>
  html`${path !== '' && html`<code>${path.replace(/^\//, '')}</code>`} ${message}.`;
