import type { Publisher } from '../../../catalog/types.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { type MessageKey, t, tHtml } from '../../../platform/i18n/messages.ts';
import { readProblem, wordProblem } from '../../../platform/problem.ts';
import { link } from '../../../shell/components.ts';
import { publisherPath } from '../../../shell/context.ts';
import type { LiveCall } from '../../request-log/store.ts';

/** Renders a link to one of the publisher's pages. `page` is the end of its path. */
export type LinkTo = (page: string, text: string | Html) => Html;

export const dashboardLinks =
  ({ id }: Publisher): LinkTo =>
  (page, text) =>
    link(publisherPath(id, page), text);

/** Renders only the text of a link. Portals do not contain the pages that live calls link to. */
export const withoutLinks: LinkTo = (_page, text) => html`${text}`;

type Advice = (linkTo: LinkTo) => Html;

const send =
  (key: MessageKey): Advice =>
  () =>
    html`${t(key)}`;
/** Creates a piece of advice that links to one of the publisher's pages. */
const go =
  (key: MessageKey, page: string): Advice =>
  (linkTo) =>
    tHtml(key, { a: (text) => linkTo(page, text) });
const session = send('live.useSession');

/** Advice on a rejected call, by error code. */
const byCode: Readonly<Record<string, Advice>> = {
  missing_placement: go('live.sendPlacement', '/settings'),
  pub_user_id_is_pii: send('live.sendOwnId'),
  pub_user_id_required: send('live.sendUserId'),
  malformed_json: send('live.sendJson'),
  unsupported_media_type: send('live.sendContentType'),
  body_too_large: send('live.sendLess'),
  permission_denied: go('live.givePermission', '/settings/keys'),
  usp_not_enabled: go('live.enableUsp', '/settings'),
  wallet_not_enabled: go('live.enableWallet', '/settings'),
  offerwall_not_enabled: go('live.enableOfferwall', '/settings'),
  session_not_found: session,
  session_expired: session,
  session_wrapped: send('live.fetchAgain'),
  campaign_not_in_session: send('live.useCampaign'),
  too_many_requests: go('live.waitOrRaise', '/settings/keys'),
  unavailable: send('live.callAgain'),
  internal: send('live.tellOperator'),
};

/** Advice on an ignored or dropped value, by field. */
const byField: Readonly<Record<string, Advice>> = {
  '/country': send('live.sendCountry'),
  '/themeId': go('live.useTheme', '/settings/themes'),
};

/** Returns advice for each reason why a call was rejected, and for each of its fields that was ignored or dropped. */
export function adviceOf({ error, notes }: LiveCall, linkTo: LinkTo): Html[] {
  const noted = notes.map((note) => html`${fieldText(note)} ${byField[note.path]?.(linkTo)}`);
  if (error === null) return noted;
  const fields = (error.details ?? []).map(fieldText);
  const what = byCode[error.code]?.(linkTo);
  return [...fields, ...(what === undefined ? [] : [what]), ...noted];
}

/** Returns advice for an error code, or null for codes without advice. */
export const adviceOnCode = (code: string, publisher: Publisher): Html | null =>
  Object.hasOwn(byCode, code) ? (byCode[code]?.(dashboardLinks(publisher)) ?? null) : null;

function fieldText({ path, message }: { path: string; message: string }): Html {
  const field = path.replace(/^\/(?:querystring\/)?/, '');
  return html`${field !== '' && html`<code>${field}</code>`} ${wordProblem(readProblem(message))}`;
}
