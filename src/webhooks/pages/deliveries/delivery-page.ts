import type { PublisherContext } from '../../../catalog/pages.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { type MessageKey, t } from '../../../platform/i18n/messages.ts';
import {
  actionButton,
  badge,
  type Cell,
  card,
  codeBlock,
  copyable,
  descriptionList,
  link,
} from '../../../shell/components.ts';
import { hasRole } from '../../../shell/context.ts';
import { moment } from '../../../shell/format.ts';
import { moreFields } from '../../../shell/forms.ts';
import type { Page } from '../../../shell/layout.ts';
import type { viewOfWholeDelivery } from '../../deliveries/view.ts';
import { kindOf } from '../../destinations/kinds.ts';
import type { EndpointLabel } from '../../endpoint-store.ts';
import { classifiedError } from '../../last-failure.ts';
import { answerBlock, statusBadge, timeline } from './timeline.ts';

type WholeDelivery = ReturnType<typeof viewOfWholeDelivery> & { endpoint: EndpointLabel };

/**
 * Renders the page of a delivery with its payload and attempts. The page refreshes itself while the delivery is
 * pending.
 */
export function deliveryPage(context: PublisherContext, delivery: WholeDelivery): Page {
  const { publisher, path } = context;
  const at = path(`/deliveries/${delivery.id}`);
  const refresh = html` hx-get="${at}" hx-select="#delivery" hx-select-oob="#answer,#attempts" hx-swap="outerHTML"
    hx-trigger="every 2s"`;
  const attempts =
    delivery.attempts.length === 0
      ? html`<p class="hint">${t('deliveries.noAttempts')}</p>`
      : timeline(delivery.attempts, publisher);
  return {
    title: t('deliveries.delivery'),
    lead: html`<code>${delivery.webhook_id}</code>`,
    nav: 'deliveries',
    trail: [{ text: t('deliveries.title'), href: path('/deliveries') }],
    body: html`
      <div id="delivery"${delivery.status === 'pending' && refresh}>${detailsCard(context, delivery, at)}</div>
      <div class="columns wide">
        ${card(t('deliveries.payload'), payloadBlock(delivery))}
        <div id="answer">${answerCard(delivery)}</div>
      </div>
      <div id="attempts">
        ${card(t('deliveries.attempts'), attempts, { lead: t('deliveries.attemptsLead') })}
      </div>`,
  };
}

function detailsCard(context: PublisherContext, delivery: WholeDelivery, at: string): Html {
  const { publisher, viewer } = context;
  const isWaiting = delivery.status === 'pending' && delivery.endpoint.isPulled;
  const canRedeliver = hasRole(viewer.user.role, 'manager') && delivery.erased_at === null && !isWaiting;
  const text = delivery.status === 'pending' ? t('deliveries.retryNow') : t('deliveries.redeliver');
  const timeEntry = (label: MessageKey, at: string | null): [string, Cell][] =>
    at === null ? [] : [[t(label), moment(publisher, at, 'second')]];
  const redeliver = () => actionButton(context, { to: `${at}/replay`, text, kind: 'main', once: true });
  return card(
    t('deliveries.details'),
    descriptionList([
      [t('deliveries.status'), statusBadge(delivery.status)],
      [t('deliveries.event'), delivery.event],
      [t('deliveries.endpoint'), endpointCell(context, delivery)],
      [t('deliveries.created'), moment(publisher, delivery.created_at, 'second')],
      ...timeEntry('deliveries.finished', delivery.finished_at),
      ...timeEntry('deliveries.nextAttempt', isWaiting ? null : delivery.next_try_at),
      [t('deliveries.userId'), delivery.pub_user_id ?? '–'],
      [t('deliveries.sessionId'), sessionCell(context, delivery)],
    ]),
    { actions: canRedeliver ? redeliver() : nothing },
  );
}

/** Renders the endpoint name as a link, or as plain text if the endpoint was removed. */
function endpointCell({ path }: PublisherContext, { endpoint, endpoint_id: id }: WholeDelivery): Html {
  const { name, status } = endpoint;
  if (status === 'removed') return html`${name} ${badge(t('endpointStatus.removed'), 'bad')}`;
  return html`
    ${link(path(`/settings/webhooks/${id}`), name)}
    ${status !== 'active' && badge(t(`endpointStatus.${status}`), 'warn')}`;
}

/** Renders the session ID as a link to everything that happened in the session. Portals do not contain that page. */
function sessionCell({ path, request }: PublisherContext, { session_id: id }: WholeDelivery): Html | string {
  if (id === null) return '–';
  const text = html`<code>${id}</code>`;
  return request.portal === null ? link(path(`/story/${id}`), text) : text;
}

function payloadBlock({ payload, attempts }: WholeDelivery): Html {
  const request = attempts.findLast((attempt) => attempt.request !== null)?.request ?? null;
  const block =
    payload === null
      ? html`<p class="hint">${t('deliveries.erased')}</p>`
      : codeBlock(t('deliveries.payload'), formatJson(payload));
  if (request === null || kindOf(request.url) !== 'http') return block;
  const sent = payload === null ? null : (request.transformed_body ?? payload);
  const lead = html`<p class="hint">${t('deliveries.curlLead')}</p>`;
  return html`
    ${block}
    ${request.transformed_body !== undefined && sentBlock(request.transformed_body, request)}
    ${moreFields(
      t('deliveries.copyAsCurl'),
      html`${lead}${copyable(asCurl(request, sent), t('deliveries.curlCommand'))}`,
    )}`;
}

/** Renders the body that the transformation of the endpoint made. Large ones are stored in part. */
function sentBlock(
  body: string,
  { body_bytes: bytes, body_sha256: hash }: { body_bytes: number; body_sha256?: string },
) {
  return html`
    <h3>${t('deliveries.transformedBody')}</h3>
    ${codeBlock(t('deliveries.transformedBody'), formatJson(body))}
    <p class="hint">${t('deliveries.transformedBytes', { bytes })} SHA-256: <code>${hash}</code></p>`;
}

/** Renders the card with the newest response. */
function answerCard({ attempts, endpoint }: WholeDelivery): Html {
  const newest = attempts.findLast(({ outcome }) => outcome !== null);
  const { response = null, error = null } = newest ?? {};
  if (response !== null) return card(t('deliveries.answer'), answerBlock(response));
  const waiting = endpoint.isPulled ? t('deliveries.notPulled') : t('deliveries.noAnswer');
  const none = newest?.outcome === 'delivered' ? t('deliveries.acknowledged') : waiting;
  const text = error === null ? none : classifiedError(error, null);
  return card(t('deliveries.answer'), html`<p class="hint">${text}</p>`);
}

function formatJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Request as shown in the attempt log, which hides the values of custom headers. */
type LoggedRequest = { method: string; url: string; headers: Readonly<Record<string, string>> };

/** Quotes an argument for the shell. Within single quotes, a POSIX shell treats only the single quote as special. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Returns a curl command that repeats the request byte for byte. `payload` is null if the payload was erased. */
export function asCurl({ method, url, headers }: LoggedRequest, payload: string | null): string {
  const isPost = method === 'POST';
  return [
    `curl ${isPost ? '-X POST ' : ''}${quoted(url)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(isPost && payload !== null ? [`--data-raw ${quoted(payload)}`] : []),
  ].join(' \\\n  ');
}
